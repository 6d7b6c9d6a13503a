"""The programs that pack."""

import os
import shutil
import subprocess

from packer.errors import PackerError

_PACKAGES = {"dpkg-deb": "dpkg", "rpmbuild": "rpm or rpm-build"}


def run(words: list[str], environment: dict[str, str]) -> None:
    """What it prints goes to stderr, since the names of the packages alone go to stdout. Raises PackerError."""
    if shutil.which(words[0]) is None:
        raise PackerError(f"{words[0]} is missing", f"install this machine's package {_PACKAGES[words[0]]}")
    done = subprocess.run(
        words,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PackerError(f"{words[0]} ended with {done.returncode}:\n{done.stdout}", "mend what it names")
