"""All failpoints by their names, the daemon's first."""

from . import failpoint, hooks


def names() -> list[str]:
    """Of all failpoints, the daemon's and the hooks'."""
    of_daemon = [str(each) for place in failpoint.PLACES for each in failpoint.possible(place)]
    return of_daemon + [name for place in hooks.PLACES for name in hooks.possible(place)]


def place_of(name: str) -> str:
    """Of a failpoint: what it comes before or after."""
    return name.split("-", 2)[2]
