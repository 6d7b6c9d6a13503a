"""`python -m packer lock|deb|rpm`; prints the path of each package that it made."""

import argparse
import platform
import sys
from pathlib import Path

from packer import deb, lock, rpm, source
from packer.errors import PackerError
from packer.targets import architecture, targets

_MAKERS = {"deb": deb.make, "rpm": rpm.make}


def main(argv: list[str]) -> int:
    """The exit status."""
    options = _parser().parse_args(argv)
    try:
        if options.what == "lock":
            source.LOCK.write_text(lock.written(lock.resolved()))
            return 0
        machine = architecture(options.arch or platform.machine())
        for target in targets(options.what, options.targets):
            print(_MAKERS[options.what](target, machine, options.cache / "tmp", options.out, options.cache / "wheels"))
    except PackerError as error:
        print(f"packer: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="packer", description="Makes the packages of slurm-k8s-bridge.")
    parser.add_argument("what", choices=["lock", *_MAKERS])
    parser.add_argument("targets", nargs="*", help="default: all of that form")
    parser.add_argument("--arch", help="x86_64 or aarch64; default: this machine's")
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/slurm-k8s-bridge/packages").expanduser())
    parser.add_argument("--out", type=Path, default=Path("~/.cache/slurm-k8s-bridge/packages").expanduser())
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
