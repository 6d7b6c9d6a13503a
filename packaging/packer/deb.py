"""A deb: control files of packaging/deb around the tree, packed by dpkg-deb."""

import hashlib
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from packer import source, tools, tree
from packer.targets import Architecture, Target
from packer.wheels import Library

_TEMPLATES = source.PACKAGING / "deb"
_SCRIPTS = ("postinst", "prerm", "postrm")


def make(target: Target, machine: Architecture, work: Path, out: Path, cache: Path) -> Path:
    """The file of the package. ``work`` is a folder to build in."""
    root = tree.anew(work / f"{target.name}-{machine.name}")
    libraries = tree.make(root, target, machine, cache)
    version = f"{source.version()}-{source.RELEASE}{target.mark}"
    _documents(root, version, libraries)
    tree.settle(root)
    _control(root, target, machine, version)
    out.mkdir(parents=True, exist_ok=True)
    package = out / f"{source.NAME}_{version}_{machine.debian}.deb"
    # One thread, since xz's bytes depend on their number. In its archive links come last and all else by name.
    tools.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", str(root), str(package)],
        {"SOURCE_DATE_EPOCH": str(source.epoch())},
    )
    return package


def _documents(root: Path, version: str, libraries: list[Library]) -> None:
    """What Debian wants to be there under these names."""
    doc = root / tree.DOC
    (doc / "copyright").write_text(_copyright(libraries))
    when = format_datetime(datetime.fromtimestamp(source.epoch(), UTC))
    template = (_TEMPLATES / "changelog").read_text()
    (doc / "changelog.Debian").write_text(template.format(version=version, when=when))
    tree.compress(doc / "changelog.Debian")
    overrides = root / "usr/share/lintian/overrides" / source.NAME
    overrides.parent.mkdir(parents=True)
    overrides.write_text((_TEMPLATES / "lintian-overrides").read_text())


def _copyright(libraries: list[Library]) -> str:
    """Ours, then a line for each library."""
    lines = [
        f"- {library.name} {library.version}: {library.licence}"
        for library in sorted(libraries, key=lambda library: library.name)
    ]
    return (_TEMPLATES / "copyright").read_text().format(libraries="\n".join(lines))


def _control(root: Path, target: Target, machine: Architecture, version: str) -> None:
    control = root / "DEBIAN"
    control.mkdir()
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    sums = "".join(
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(root)}\n"
        for path in files
    )
    (control / "md5sums").write_text(sums)
    words = {
        "version": version,
        "architecture": machine.debian,
        "size": tree.size(root),
        "python": f"python{target.python}",
    }
    (control / "control").write_text((_TEMPLATES / "control").read_text().format(**words))
    for name in _SCRIPTS:
        (control / name).write_text((_TEMPLATES / name).read_text())
    for path in [control, *control.iterdir()]:
        path.chmod(0o755 if path.is_dir() or path.name in _SCRIPTS else 0o644)
