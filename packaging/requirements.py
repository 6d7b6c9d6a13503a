"""Print the pinned requirements of setup.cfg: `requirements.py install [extra ...]`. Stdlib only."""

import configparser
import pathlib
import sys


def requirements(names: list[str]) -> list[str]:
    """Requirement lines of `install` (install_requires) and of the named extras."""
    config = configparser.ConfigParser()
    config.read(pathlib.Path(__file__).parent.parent / "setup.cfg")
    lines: list[str] = []
    for name in names:
        text = config["options"]["install_requires"] if name == "install" else config["options.extras_require"][name]
        lines += text.split("\n")
    return [line.strip() for line in lines if line.strip()]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
