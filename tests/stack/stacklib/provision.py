"""Have everything that the stack is made of: engine, programs, images."""

from __future__ import annotations

import concurrent.futures
import time
from dataclasses import dataclass
from pathlib import Path

from . import images, programs
from .commands import say
from .composeplugin import ensure_compose
from .engine import ensure_engine
from .gobuild import build_module
from .pki import ensure_openssl
from .places import JOB_IMAGES, STACK, cache, digest
from .product import ensure_package


@dataclass(frozen=True)
class Parts:
    """What the stack is started from."""

    programs: dict[str, Path]
    images: dict[str, str]
    gpu_plugin: Path
    package: Path


def provision(*, kwok: bool) -> Parts:
    """Have all parts; what is missing is fetched or built, the slow things side by side."""
    cache().mkdir(parents=True, exist_ok=True)
    ensure_engine()
    ensure_compose()
    ensure_openssl()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        # Go compiles on every core; images mostly wait for packages. So one of each at a time.
        built = pool.submit(lambda: (_programs(kwok), _gpu_plugin()))
        made = pool.submit(lambda: (_images(), ensure_package()))
        for done in concurrent.futures.as_completed((built, made)):
            done.result()
    (binaries, gpu_plugin), (found, package) = built.result(), made.result()
    return Parts(binaries, found, gpu_plugin, package)


def _programs(kwok: bool) -> dict[str, Path]:
    names = [n for n in programs.RECIPES if kwok or n != "kwok"]
    return {name: programs.ensure(name) for name in names}


def _images() -> dict[str, str]:
    base = images.ensure_base()
    folders = {
        "slurm": STACK / "slurm" / "image",
        "compute": STACK / "compute" / "image",
        "registry": STACK / "registry",
    }
    folders |= {name: STACK / "images" / name for name in JOB_IMAGES}
    made = {name: images.ensure_image(name, folder, base) for name, folder in folders.items()}
    return {"base": base, **made}


def _gpu_plugin() -> Path:
    source = STACK / "gpu-plugin"
    folder = cache() / "bin" / f"gpu-plugin-{digest([source])}"
    if (folder / "gpu-plugin").exists():
        say("gpu-plugin: already there, in the cache")
        return folder
    began = time.monotonic()
    build_module("gpu-plugin", {".": "gpu-plugin"}, folder, source=source)
    say(f"gpu-plugin: built from this checkout ({time.monotonic() - began:.1f} s)")
    return folder
