"""The package index, by pip."""

import subprocess
import sys
from pathlib import Path

from packer.errors import PackerError
from packer.targets import Architecture


def download(python: str, machine: Architecture, folder: Path, what: list[str]) -> None:
    """Wheels for a Python that need not be on this machine. ``what``: requirements, or pip's options that name them."""
    abi = "cp" + python.replace(".", "")
    words = ["--implementation", "cp", "--python-version", python]
    words += [word for tag in (abi, "abi3", "none") for word in ("--abi", tag)]
    words += [word for tag in machine.platforms for word in ("--platform", tag)]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *quiet, "--only-binary=:all:", *words, "--dest", str(folder), *what],
        check=False,
    )
    if done.returncode != 0:
        raise PackerError(
            f"pip brought no wheels for Python {python} on {machine.name}; its own words stand above",
            "see that the package index can be reached, and if a hash differs, find out why before `make lock`",
        )
