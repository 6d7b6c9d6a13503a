"""Entry of the hooks: ``python3 -I -S .../bridge/hook/__main__.py prolog|epilog|--version``.

Python keeps no compiled copy of the file that it is given, so this one is as small as can be.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rsplit("/", 3)[0])
    from bridge.hook.client import main

    main(sys.argv)
