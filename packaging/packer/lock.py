"""packaging/requirements.lock: every project that is packed, with the hashes of its wheels for all targets."""

import hashlib
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packer import pip, source, trim
from packer.errors import PackerError
from packer.targets import ARCHITECTURES, TARGETS

_HEAD = """\
# Made by `make lock` of setup.cfg's install_requires: what the packages have inside, with the hashes of the wheels of
# all targets. What packaging/packer/trim.py leaves out is not here.
"""
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Pin:
    """One project; ``hashes`` are sha256 of its wheels, in hexadecimal."""

    name: str
    version: str
    hashes: frozenset[str]


def project(name: str) -> str:
    """The name by which the index knows a project."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read(text: str) -> dict[str, Pin]:
    """By project. Raises PackerError for a line without version or hash."""
    pins = {}
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, is_pinned, rest = line.partition("==")
        hashes = frozenset(_HASH.findall(rest))
        if not is_pinned or not hashes:
            raise PackerError(f"requirements.lock pins nothing by: {line.strip()}", "make it anew: make lock")
        pins[project(name.strip())] = Pin(project(name.strip()), rest.split()[0], hashes)
    return pins


def written(pins: Iterable[Pin]) -> str:
    """The file."""
    lines = [_HEAD.rstrip()]
    for pin in sorted(pins, key=lambda pin: pin.name):
        lines.append(
            " \\\n    ".join([f"{pin.name}=={pin.version}", *(f"--hash=sha256:{h}" for h in sorted(pin.hashes))])
        )
    return "\n".join(lines) + "\n"


def resolved() -> list[Pin]:
    """As the index answers today, asked once for each Python and architecture of the targets."""
    found: dict[tuple[str, str], set[str]] = {}
    for python in sorted({target.python for target in TARGETS}):
        for machine in ARCHITECTURES:
            with tempfile.TemporaryDirectory() as folder:
                pip.download(python, machine, Path(folder), source.requirements())
                for wheel in Path(folder).glob("*.whl"):
                    name, version = wheel.name.split("-")[:2]
                    found.setdefault((project(name), version), set()).add(
                        hashlib.sha256(wheel.read_bytes()).hexdigest()
                    )
    return [Pin(name, version, frozenset(h)) for (name, version), h in found.items() if name not in trim.PROJECTS]
