"""Build commands from Go modules, each pinned by a go.mod and go.sum in tests/stack/go."""

from __future__ import annotations

import shutil
from pathlib import Path

from .commands import logged, output
from .errors import StackError
from .places import STACK, cache

_ENV = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}


def build_module(
    module: str, commands: dict[str, str], target: Path, *, ldflags: str = "", source: Path | None = None
) -> None:
    """Build packages of a module into target; `commands` maps package to program name."""
    if not shutil.which("go"):
        raise StackError(f"{module} must be built and there is no go", "install Go 1.26 or newer into PATH")
    source = source or STACK / "go" / module
    work = cache() / "tmp" / f"build-{target.name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    logged(
        f"build {module}",
        ["go", "build", "-trimpath", "-ldflags", f"-s -w {ldflags}".strip(), "-o", f"{work}/", *commands],
        cwd=source,
        env=_ENV,
        cure="the Go module proxy must be reachable and ~5 GB of disk free",
    )
    target.mkdir(parents=True, exist_ok=True)
    for package, name in commands.items():
        (work / (name if package == "." else _built_name(package))).replace(target / name)
    shutil.rmtree(work)


def _built_name(package: str) -> str:
    # The last element of a package's path, except for a major version or this folder.
    parts = [p for p in package.split("/") if p]
    return parts[-2] if parts[-1][0] == "v" and parts[-1][1:].isdigit() else parts[-1]


def module_folder(module: str, path: str) -> Path:
    """Return where the go command keeps a dependency's sources."""
    command = ["go", "-C", str(STACK / "go" / module), "mod", "download", "-json", path]
    for line in output(command, env={"GOFLAGS": "-mod=mod"}).splitlines():
        if '"Dir":' in line:
            return Path(line.split('"')[3])
    raise StackError(f"the sources of {path} are missing", "the Go module proxy must be reachable")
