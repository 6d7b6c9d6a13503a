"""`python -m tests.failpoints`: the name of each failpoint, the daemon's first."""

from . import failpoint, hooks

if __name__ == "__main__":
    for place in failpoint.PLACES:
        for possible in failpoint.possible(place):
            print(possible)
    for place in hooks.PLACES:
        for name in hooks.possible(place):
            print(name)
