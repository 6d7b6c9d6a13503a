"""`python -m tests.failpoints`: the name of each failpoint, the daemon's first."""

from .listed import names

if __name__ == "__main__":
    print("\n".join(names()))
