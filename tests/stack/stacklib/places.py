"""Where things are: the checkout, the cache outside of it, and this stack's own folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

STACK = Path(__file__).resolve().parent.parent
CHECKOUT = STACK.parent.parent

_USUAL = 2

NODES = tuple(f"compute{number + 1}" for number in range(int(os.environ.get("SKB_NODES", _USUAL))))
NAMESPACE = "slurm-jobs"
CLUSTER = "demo"
# The images that jobs run: folder under images/ and name in the registry are the same.
JOB_IMAGES = ("pause", "small", "train")
# Those that nodes have before a job asks: the largest is 1.5 GB on each of them.
PULLED = tuple(os.environ.get("SKB_PULLED", " ".join(JOB_IMAGES)).split())


def cache() -> Path:
    """Return the folder that survives the stack and is shared by all checkouts."""
    given = os.environ.get("SKB_CACHE")
    if given:
        return Path(given).resolve()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "slurm-k8s-bridge"


def project() -> str:
    """Return the compose project's name, another one for every checkout and number of nodes, and for a stack that is
    beside the usual one (SKB_BESIDE, which names it)."""
    many = f" with {len(NODES)} nodes" if len(NODES) != _USUAL else ""
    beside = f" beside it {os.environ['SKB_BESIDE']}" if os.environ.get("SKB_BESIDE") else ""
    return "skb-" + hashlib.sha256((str(CHECKOUT) + many + beside).encode()).hexdigest()[:8]


def run_dir() -> Path:
    """Return the folder of this checkout's running stack."""
    return cache() / "stacks" / project()


def digest(parts: Iterable[str | Path]) -> str:
    """Hash strings and the contents of files and folders into a short recipe key."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            total.update(b"s" + part.encode() + b"\0")
            continue
        for file in _files(part):
            name = file.relative_to(part) if part.is_dir() else Path(file.name)
            total.update(b"f" + str(name).encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()[:12]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(f for f in path.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
