"""An rpm: the spec file of packaging/rpm around the tree, packed by rpmbuild."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from packer import source, tools, tree
from packer.targets import Architecture, Target
from packer.wheels import Library

_SPEC = source.PACKAGING / "rpm" / "slurm-k8s-bridge.spec"
# Directories of other packages: whoever has them there keeps them.
_FOREIGN = frozenset(
    (
        "etc",
        "etc/slurm",
        "usr",
        "usr/bin",
        "usr/lib",
        "usr/lib/systemd",
        "usr/lib/systemd/system",
        "usr/lib/systemd/system-preset",
        "usr/lib/sysusers.d",
        "usr/lib/tmpfiles.d",
        "usr/sbin",
        "usr/share",
        "usr/share/bash-completion",
        "usr/share/bash-completion/completions",
        "usr/share/doc",
        "usr/share/fish",
        "usr/share/fish/vendor_completions.d",
        "usr/share/man",
        "usr/share/man/man1",
        "usr/share/man/man5",
        "usr/share/man/man7",
        "usr/share/man/man8",
        "usr/share/zsh",
        "usr/share/zsh/site-functions",
    )
)


def make(target: Target, machine: Architecture, work: Path, out: Path, cache: Path) -> Path:
    """The file of the package. ``work`` is a folder to build in."""
    top = tree.anew(work / f"{target.name}-{machine.name}")
    root = top / "tree"
    libraries = tree.make(root, target, machine, cache)
    tree.settle(root)
    (top / "files").write_text("\n".join(_listed(root)) + "\n")
    release = source.RELEASE + target.mark
    words = {
        "_topdir": str(top),
        "tree": str(root),
        "file_list": str(top / "files"),
        "packed_version": source.version(),
        "packed_release": release,
        "interpreter": target.interpreter,
        "changelog_date": datetime.fromtimestamp(source.epoch(), UTC).strftime("%a %b %d %Y"),
        "bundled": _bundled(libraries),
    }
    defines = [word for name, value in words.items() for word in ("--define", f"{name} {value}")]
    tools.run(
        ["rpmbuild", "-bb", "--quiet", "--target", f"{machine.name}-linux", *defines, str(_SPEC)],
        # As an English date, whatever the builder's language.
        {"SOURCE_DATE_EPOCH": str(source.epoch()), "LC_ALL": "C.UTF-8"},
    )
    name = f"{source.NAME}-{source.version()}-{release}.{machine.name}.rpm"
    out.mkdir(parents=True, exist_ok=True)
    return (top / "RPMS" / machine.name / name).rename(out / name)


def _bundled(libraries: list[Library]) -> str:
    """What scanners for vulnerable versions look for, in the words of Fedora's packages."""
    named = sorted((library.name, library.version) for library in libraries)
    return ", ".join(f"bundled(python3dist({name})) = {version}" for name, version in named)


def _listed(root: Path) -> Iterator[str]:
    """Lines of %files. The hooks and the environment's own files are code, not configuration."""
    yield "%defattr(-,root,root,-)"
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink() or not path.is_dir():
            yield f'{_mark(name)}"/{name}"'
        elif name not in _FOREIGN:
            yield f'%dir "/{name}"'


def _mark(name: str) -> str:
    if name == str(tree.DOC / "LICENSE"):
        return "%license "
    return "%doc " if name.startswith((str(tree.DOC), "usr/share/man")) else ""
