"""The container images: the Debian base, ours on top of it, each named by its recipe."""

from __future__ import annotations

import platform
import shutil
import time
from pathlib import Path

from .commands import logged, say, succeeds
from .engine import apt_install, image_id
from .errors import StackError
from .fetch import reachable
from .hostsettings import debian_mirror, write_host_settings
from .places import STACK, cache, digest

_SUITE = "trixie"
_DEBIAN = f"debian:{_SUITE}"


def ensure_base() -> str:
    """Have the image that all others are built on; return its tag."""
    _ensure_debian()
    context = cache() / "tmp" / "base-context"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(STACK / "base", context)
    write_host_settings(context / "host", _SUITE)
    return _build("base", context, {"DEBIAN": _DEBIAN}, image_id(_DEBIAN))


def ensure_image(name: str, folder: Path, base: str) -> str:
    """Have one image of ours; return its tag, which is another one for every recipe."""
    return _build(name, folder, {"BASE": base}, base)


def image_tag(name: str, folder: Path, base: str) -> str:
    """Return the tag under which an image of ours is kept."""
    return f"skb-{name}:{digest([folder, base])}"


def _build(name: str, folder: Path, arguments: dict[str, str], under: str) -> str:
    tag = image_tag(name, folder, under)
    if image_id(tag):
        say(f"image {name}: already there")
        return tag
    began = time.monotonic()
    options = [part for k, v in arguments.items() for part in ("--build-arg", f"{k}={v}")]
    logged(
        f"image {name}",
        ["docker", "build", "--network=host", *options, "-t", tag, str(folder)],
        env={"DOCKER_BUILDKIT": "0"},
        cure="a Debian mirror must be reachable from this machine",
    )
    say(f"image {name}: built ({time.monotonic() - began:.1f} s)")
    return tag


def _ensure_debian() -> None:
    began = time.monotonic()
    if image_id(_DEBIAN):
        say(f"image {_DEBIAN}: already there")
        return
    # The engine itself would try for half a minute where there is no way out.
    if reachable("registry-1.docker.io") and succeeds(["docker", "pull", "-q", _DEBIAN], timeout=300):
        way = "pulled"
    else:
        way = _import_debian()
    say(f"image {_DEBIAN}: {way} ({time.monotonic() - began:.1f} s)")


def _import_debian() -> str:
    """Make Debian's own minimal system, or take the one made before."""
    kept = cache() / "base" / f"{_SUITE}-{platform.machine()}.tar"
    way = "imported from the cache"
    if not kept.exists():
        _debootstrap(kept)
        way = "made with debootstrap"
    logged("image debian", ["docker", "import", str(kept), _DEBIAN])
    return way


def _debootstrap(kept: Path) -> None:
    if not shutil.which("debootstrap"):
        apt_install("debootstrap", ["debootstrap"])
    root = cache() / "tmp" / "debootstrap"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    mirror = debian_mirror()
    logged(
        "image debian",
        ["debootstrap", "--variant=minbase", _SUITE, str(root), mirror],
        cure=f"the Debian mirror {mirror} must be reachable",
    )
    part = kept.with_suffix(".part")
    logged(
        "image debian",
        [
            "tar",
            "-C",
            str(root),
            "--exclude=./var/cache/apt/archives/*.deb",
            "--exclude=./var/lib/apt/lists/*",
            "-cf",
            str(part),
            ".",
        ],
    )
    part.rename(kept)
    shutil.rmtree(root)


def need_folder(folder: Path) -> Path:
    """Return a folder of the checkout that must be there."""
    if not folder.is_dir():
        raise StackError(f"{folder} is missing", "check out the whole project")
    return folder
