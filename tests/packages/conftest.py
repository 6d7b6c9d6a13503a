"""A deb and an rpm, each made twice, and a root of Debian to install them into."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from packer import source
from tests.packages.root import Root

_CACHE = Path(os.environ.get("SKB_CACHE", "~/.cache/slurm-k8s-bridge")).expanduser() / "packages"
# Another builder's: what it must not depend on.
_ELSEWHERE = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "HOME": "/nonexistent"}


def _made(form: str, target: str, cache: Path, out: Path, umask: int, **environment: str) -> Path:
    words = [sys.executable, "-m", "packer", form, target, "--cache", str(cache), "--out", str(out)]
    variables = {**os.environ, "PYTHONPATH": str(source.PACKAGING), **environment}
    done = subprocess.run(words, env=variables, umask=umask, check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


def _twice(form: str, target: str, folder: Path) -> tuple[Path, Path]:
    first = _made(form, target, _CACHE, folder / "first", 0o022)
    # With the wheels that the first has brought, in another place, by another builder.
    shutil.copytree(_CACHE / "wheels", folder / "cache" / "wheels")
    return first, _made(form, target, folder / "cache", folder / "second", 0o077, **_ELSEWHERE)


@pytest.fixture(scope="session")
def debs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of Debian 13, made twice."""
    return _twice("deb", "trixie", tmp_path_factory.mktemp("deb"))


@pytest.fixture(scope="session")
def rpms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of EL 9, made twice."""
    return _twice("rpm", "el9", tmp_path_factory.mktemp("rpm"))


@pytest.fixture
def root() -> Iterator[Root]:
    """A system without the package, before and after."""
    made = Root(_CACHE / "root")
    made.ensure()
    made.clear()
    yield made
    made.clear()
