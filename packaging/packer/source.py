"""The checkout that is packed: where it lies, its version, its time."""

import configparser
import os
import re
import subprocess
from pathlib import Path

from packer.errors import PackerError

CHECKOUT = Path(__file__).parents[2]
PACKAGING = CHECKOUT / "packaging"
LOCK = PACKAGING / "requirements.lock"
NAME = "slurm-k8s-bridge"
RELEASE = "1"  # of the packages of one version


def version() -> str:
    """The one version string, that of `bridged --version`."""
    text = (CHECKOUT / "bridge" / "__init__.py").read_text()
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise PackerError("bridge/__init__.py has no line __version__", "put it back")
    return found[1]


def requirements() -> list[str]:
    """What setup.cfg says the daemon needs, as `name==version`."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg")
    return [line.strip() for line in config["options"]["install_requires"].splitlines() if line.strip()]


def epoch() -> int:
    """SOURCE_DATE_EPOCH: as given, else when the last commit was made."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        asked = subprocess.run(
            ["git", "log", "-1", "--format=%ct"], cwd=CHECKOUT, capture_output=True, text=True, check=False
        )
        given = asked.stdout.strip()
    if not given.isdigit():
        raise PackerError("nothing says of what time the packages are", "build in a checkout, or set SOURCE_DATE_EPOCH")
    return int(given)
