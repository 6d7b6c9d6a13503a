"""The product as a node gets it: the checkout's package, and the compute image with it installed."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from .commands import logged, output, say, succeeds
from .engine import apt_install
from .images import ensure_image
from .places import CHECKOUT, STACK, cache, digest, run_dir

_SUITE = "trixie"  # of the nodes' image
# What the package is made of; pages alone are no reason to install it anew.
_SOURCES = ("bridge", "docs", "packaging", "rbac", "slurm", "setup.cfg")
_PAGES = ("CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md")
_SITES = "tests/stack/compute/bridge.toml"
_IMAGE = "product"


def product() -> str:
    """What tells this checkout's product, with its configuration, from any other."""
    return digest([CHECKOUT / name for name in (*_SOURCES, _SITES)])


def ensure_package() -> Path:
    """Have the nodes' package of this checkout; return its file."""
    folder = cache() / "product" / digest([_SUITE, *(CHECKOUT / name for name in (*_SOURCES, *_PAGES))])
    package = folder / "package.deb"
    if package.exists():
        say("package of the nodes: already there, in the cache")
        return package
    if not shutil.which("dpkg-deb"):
        apt_install("dpkg-deb", ["dpkg"])
    began = time.monotonic()
    logged(
        "package",
        ["make", "--no-print-directory", "-C", str(CHECKOUT), "deb", f"TARGETS={_SUITE}", f"PACKAGES={folder}"],
        cure="the Python package index must be reachable from this machine",
    )
    (made,) = folder.glob("*.deb")
    made.rename(package)
    say(f"package of the nodes: made with `make deb` ({time.monotonic() - began:.1f} s)")
    return package


def hand_over(package: Path) -> None:
    """Have the package where the nodes of this stack can install it."""
    folder = run_dir() / "package"
    folder.mkdir(exist_ok=True)
    shutil.copy2(package, folder / ".new")
    (folder / ".new").rename(folder / package.name)


def ensure_product_image(package: Path, compute: str) -> str:
    """Have the compute image with the package installed; those of other checkouts that no container has are removed."""
    context = cache() / "tmp" / f"{_IMAGE}-context"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(STACK / _IMAGE, context)
    shutil.copy2(package, context / package.name)
    tag = ensure_image(_IMAGE, context, compute)
    for other in output(["docker", "images", "--format", "{{.Repository}}:{{.Tag}}", f"skb-{_IMAGE}"]).split():
        if other != tag:
            succeeds(["docker", "rmi", other])
    return tag
