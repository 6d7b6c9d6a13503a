"""The product's Python dependencies, for the Python of the compute nodes' image."""

from __future__ import annotations

import configparser
import shutil
import time
from pathlib import Path

from .commands import logged, say
from .errors import StackError
from .hostsettings import pip_settings
from .places import CHECKOUT, cache, digest

_TARGET = "/usr/lib/slurm-k8s-bridge/venv"


def ensure_venv(image: str) -> Path:
    """Have a virtual environment made inside the image, kept by its requirements."""
    requirements = _requirements()
    folder = cache() / "venv-node" / digest([image, *requirements])
    if (folder / ".complete").exists():
        say("python packages of the nodes: already there, in the cache")
        return folder
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    variables = [part for k, v in pip_settings().items() for part in ("-e", f"{k}={v}")]
    config = ["-v", "/etc/pip.conf:/etc/pip.conf:ro"] if Path("/etc/pip.conf").exists() else []
    script = f'python3 -m venv {_TARGET} && {_TARGET}/bin/pip install --no-cache-dir "$@"'
    # Mounted where it will be used: a virtual environment knows its own path.
    logged(
        "python packages",
        [
            "docker",
            "run",
            "--rm",
            "--network=host",
            *variables,
            "-v",
            f"{folder}:{_TARGET}",
            "-v",
            "/etc/ssl/certs:/etc/ssl/certs:ro",
            *config,
            image,
            "sh",
            "-c",
            script,
            "sh",
            *requirements,
        ],
        cure="the Python package index must be reachable from this machine",
    )
    (folder / ".complete").touch()
    say(f"python packages of the nodes: installed with pip ({time.monotonic() - began:.1f} s)")
    return folder


def _requirements() -> list[str]:
    setup = CHECKOUT / "setup.cfg"
    parser = configparser.ConfigParser()
    parser.read(setup)
    text = parser.get("options", "install_requires", fallback="")
    if not text.strip():
        raise StackError(f"{setup} names no install_requires", "check out the whole project")
    return [line.strip() for line in text.splitlines() if line.strip()]
