"""Of all failpoints that are armed on a node one strikes, and then none until somebody arms anew: a daemon that was
killed comes back, and is not to be killed by the same at once."""

import os
import threading


def is_first(struck: str, name: str) -> bool:
    """Whether this failpoint is the one: then the file `struck` says so from now on, whole as soon as it is there."""
    own = f"{struck}.{threading.get_native_id()}"
    with open(own, "w", encoding="ascii") as file:
        file.write(name)
    try:
        os.link(own, struck)
    except FileExistsError:
        return False
    finally:
        os.unlink(own)
    return True
