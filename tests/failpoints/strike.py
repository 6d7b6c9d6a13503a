"""Of all failpoints that are armed on a node one strikes, and then none until somebody arms anew: a daemon that was
killed comes back, and is not to be killed by the same at once."""

import os


def is_first(struck: str, name: str) -> bool:
    """Whether this failpoint is the one: then the file `struck` says so from now on."""
    try:
        file = os.open(struck, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return False
    os.write(file, name.encode())
    os.close(file)
    return True
