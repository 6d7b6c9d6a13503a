"""The kubectl and the kubeconfig of whoever asks: bridgectl has no rights of its own in Kubernetes."""

import os
import shutil
from pathlib import Path


def program() -> str | None:
    """Where it is, None where there is none."""
    return shutil.which("kubectl")


def has_kubeconfig() -> bool:
    """Whether kubectl would find one."""
    named = [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    return any(path.is_file() for path in named or [Path.home() / ".kube" / "config"])
