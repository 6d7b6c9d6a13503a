"""The package of the nodes, one of a later version, and what a test does with them on a node."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .stack import Stack, eventually

NAME = "slurm-k8s-bridge"
LIBRARY = "/usr/lib/slurm-k8s-bridge"
ETC = "/etc/slurm-k8s-bridge"
STATE = "/var/lib/slurm-k8s-bridge"
UNIT = "slurm-k8s-bridge.service"
_CHECKOUT = Path(__file__).parents[2]
_KEPT = "/var/tmp/skb-kept.tar"


def own_package(stack: Stack) -> Path:
    """What the nodes have."""
    return Path(str(stack.description["package"]))


def package_of_version(stack: Stack, version: str, folder: Path) -> Path:
    """The checkout's package as it would be if this were its version."""
    checkout = folder / "checkout"
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=_CHECKOUT, check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    for name in names:
        if (_CHECKOUT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(_CHECKOUT / name, checkout / name)
    names_it = checkout / "bridge" / "__init__.py"
    now = f'__version__ = "{own_version(stack)}"'
    text = names_it.read_text()
    assert now in text
    names_it.write_text(text.replace(now, f'__version__ = "{version}"'))
    made = folder / "made"
    words = ["make", "--no-print-directory", "deb", "TARGETS=trixie", f"PACKAGES={made}"]
    subprocess.run(words, cwd=checkout, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    (package,) = made.glob("*.deb")
    return package


def own_version(stack: Stack) -> str:
    """That of bridgectl on the login node."""
    return stack.exec("login", "bridgectl", "--version").split()[-1]


def installed_version(stack: Stack, node: str) -> str:
    """What dpkg says; '' where it has no such package."""
    words = ("dpkg-query", "--showformat=${db:Status-Status} ${Version}", "--show", NAME)
    status, _, version = stack.exec(node, *words, check=False).partition(" ")
    return version if status == "installed" else ""


def install(stack: Stack, node: str, package: Path) -> str:
    """As an administrator would from a file; what was said."""
    stack.put(package, node, f"/var/tmp/{package.name}")
    return stack.sh(node, f"dpkg --force-confold --install /var/tmp/{package.name} 2>&1; rm /var/tmp/{package.name}")


def away(stack: Stack, node: str, how: str) -> str:
    """``how``: remove or purge; what was said."""
    return stack.sh(node, f"dpkg --{how} {NAME} 2>&1")


def is_there(stack: Stack, node: str, path: str) -> bool:
    """A file or directory of a node."""
    return stack.sh(node, f"test -e {path} && echo there || true") == "there\n"


def state_of(stack: Stack, node: str, unit: str = UNIT) -> str:
    """As systemd says."""
    return stack.sh(node, f"systemctl is-active {unit} || true").strip()


def await_daemon(stack: Stack, node: str) -> None:
    """Until it is ready."""
    eventually(lambda: state_of(stack, node) == "active", 60, f"bridged on {node}")


@contextmanager
def put_back(stack: Stack, node: str) -> Iterator[None]:
    """The node's package, configuration and credential are afterwards what they were."""
    stack.sh(node, f"tar -cf {_KEPT} {ETC} {STATE}/credential 2>/dev/null")
    try:
        yield
    finally:
        install(stack, node, own_package(stack))
        stack.sh(node, f"tar -xf {_KEPT} -C / --no-same-owner; rm {_KEPT}; chown -R {NAME}: {STATE}/credential")
        units = f"{UNIT} slurm-k8s-bridge-hook.socket slurm-k8s-bridge-user.socket"
        stack.sh(node, f"systemctl daemon-reload; systemctl restart {units}")
        await_daemon(stack, node)
        if "drain" in stack.node_states()[node]:
            stack.exec("slurmctld", "scontrol", "update", f"nodename={node}", "state=resume")
