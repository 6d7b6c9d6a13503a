"""Docker compose v2: already there, a package, a release, the next Debian's package, or built."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

from .commands import logged, say, succeeds
from .engine import apt_install, apt_policy
from .errors import StackError
from .fetch import download
from .gobuild import build_module
from .places import cache

_VERSION = "2.40.3"
# Package and how its version begins; bookworm's docker-compose is the dead version 1.
_PACKAGES = {"docker-compose-plugin": "", "docker-compose-v2": "", "docker-compose": "2"}


def ensure_compose() -> None:
    """Have `docker compose` answer with version 2."""
    began = time.monotonic()
    if _answers():
        say("docker compose: already there")
        return
    for way in (_from_package, _from_cache, _from_release, _from_trixie, _from_module):
        how = way()
        if how and _answers():
            say(f"docker compose: {how} ({time.monotonic() - began:.1f} s)")
            return
    raise StackError("docker compose v2 is missing", "install a package that makes `docker compose version` work")


def _answers() -> bool:
    return succeeds(["docker", "compose", "version"])


def _from_package() -> str:
    for package, version in _PACKAGES.items():
        if f"Candidate: {version}" in apt_policy(package):
            apt_install("docker compose", [package])
            return f"package {package}"
    return ""


def _kept() -> Path:
    return cache() / "bin" / "docker-compose-2" / "docker-compose"


def _from_cache() -> str:
    return _link(_kept(), "in the cache") if _kept().exists() else ""


def _from_release() -> str:
    arch = platform.machine()
    url = f"https://github.com/docker/compose/releases/download/v{_VERSION}/docker-compose-linux-{arch}"
    _kept().parent.mkdir(parents=True, exist_ok=True)
    if not download(url, _kept(), checksum_url=url + ".sha256"):
        return ""
    _kept().chmod(0o755)
    return _link(_kept(), "downloaded")


def _from_trixie() -> str:
    """Take the one program out of the next Debian's package, leaving the machine's apt alone."""
    work = cache() / "tmp" / "compose-apt"
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("lists/partial", "archives/partial"):
        (work / folder).mkdir(parents=True)
    (work / "sources.list").write_text("deb http://deb.debian.org/debian trixie main\n")
    (work / "status").write_text("")
    options = [
        f"-oDir::Etc::sourcelist={work}/sources.list",
        "-oDir::Etc::sourceparts=/dev/null",
        "-oDir::Etc::preferencesparts=/dev/null",
        f"-oDir::State::lists={work}/lists",
        f"-oDir::State::status={work}/status",
        f"-oDir::Cache={work}",
        "-oAPT::Sandbox::User=root",
        "-oAcquire::http::Timeout=5",
        "-oAcquire::Retries=1",
    ]
    try:
        logged("docker compose", ["apt-get", *options, "update", "-q"])
        logged("docker compose", ["apt-get", *options, "download", "docker-compose"], cwd=work)
    except (OSError, StackError):
        return ""
    package = next(work.glob("docker-compose_*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(package), str(work / "root")], check=True)
    found = next(p for p in (work / "root").rglob("docker-compose") if p.parent.name == "cli-plugins")
    _kept().parent.mkdir(parents=True, exist_ok=True)
    shutil.move(found, _kept())
    shutil.rmtree(work)
    return _link(_kept(), "taken from trixie's package docker-compose")


def _from_module() -> str:
    build_module(
        "compose",
        {"github.com/docker/compose/v2/cmd": "docker-compose"},
        _kept().parent,
        ldflags=f"-X github.com/docker/compose/v2/internal.Version=v{_VERSION}",
    )
    return _link(_kept(), "built from its Go module")


def _link(program: Path, how: str) -> str:
    # Where every docker client looks for plugins; pytest-docker calls it from there, too.
    config = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    plugins = config / "cli-plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    link = plugins / "docker-compose"
    link.unlink(missing_ok=True)
    link.symlink_to(program)
    return how
