"""The tree that a package brings: what packaging/install.sh lays out, the daemon's Python environment, documents."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

from packer import sbom, source, wheels
from packer.errors import PackerError
from packer.targets import Architecture, Target
from packer.wheels import Library

LIBRARY = Path("usr/lib") / source.NAME
DOC = Path("usr/share/doc") / source.NAME
_MAN = Path("usr/share/man")


def make(root: Path, target: Target, machine: Architecture, cache: Path) -> list[Library]:
    """Lay it out below ``root``, which is new; what libraries it has."""
    root.mkdir(parents=True)
    _install(root, target)
    site = _environment(root, target)
    libraries = wheels.unpack(wheels.bring(target.python, machine, cache), site)
    inside = root / DOC
    (inside / "sbom.cdx.json").write_text(sbom.cyclonedx(libraries, source.epoch()))
    (inside / "LICENCES.md").write_text(sbom.licences(libraries, f"/{site.relative_to(root)}"))
    for page in (root / _MAN).glob("man*/*.[1-8]"):
        compress(page)
    return libraries


def settle(root: Path) -> None:
    """Modes and times that do not depend on who builds: the last thing done to a tree."""
    for path in [root, *sorted(root.rglob("*"))]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or _is_program(path) else 0o644)
        os.utime(path, (source.epoch(), source.epoch()), follow_symlinks=False)


def compress(page: Path) -> None:
    """In place, as `name.gz`, without name and time."""
    page.with_name(page.name + ".gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
    page.unlink()


def _install(root: Path, target: Target) -> None:
    place = {"ZSH_FUNCTIONS": "vendor-completions" if target.form == "deb" else "site-functions"}
    done = subprocess.run([source.PACKAGING / "install.sh", str(root)], check=False, env={**os.environ, **place})
    if done.returncode != 0:
        raise PackerError("packaging/install.sh stopped", "mend what its own words above name")


def _environment(root: Path, target: Target) -> Path:
    """A virtual environment, made of files alone: the interpreter that it links to need not be on this machine."""
    venv = root / LIBRARY / "venv"
    site = venv / "lib" / f"python{target.python}" / "site-packages"
    site.mkdir(parents=True)
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(os.path.relpath(target.interpreter, f"/{LIBRARY}/venv/bin"))
    (venv / "pyvenv.cfg").write_text(
        f"home = {Path(target.interpreter).parent}\ninclude-system-site-packages = false\nversion = {target.python}\n"
    )
    return site


def _is_program(path: Path) -> bool:
    """What install.sh made one; wheels bring none."""
    return "site-packages" not in path.parts and bool(path.stat().st_mode & 0o100)


def size(root: Path) -> int:
    """KiB that it takes, as dpkg counts."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    others = sum(1 for path in root.rglob("*")) - len(files)
    return others + sum((path.stat().st_size + 1023) // 1024 for path in files)


def anew(folder: Path) -> Path:
    """The folder, with nothing in it or of it there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder
