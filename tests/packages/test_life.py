"""Installed, upgraded, removed, purged in a root where no systemd runs; the stack has tests on nodes that run."""

import json
from pathlib import Path

import pytest

from packer import source
from packer.source import NAME
from tests.packages.root import Root, prefix_of
from tests.packages.test_contents import HOOKS

_CONFIG, _RUN = f"etc/{NAME}/bridge.toml", f"var/lib/{NAME}/runs/7"
_PRESET = source.PACKAGING / "systemd" / f"80-{NAME}.preset"
_ENABLED = {line.split()[1] for line in _PRESET.read_text().splitlines()}
_VERSIONS = f"bridged {source.version()}\nbridgectl {source.version()}\n"


def _install_deb(root: Root, package: Path) -> str:
    return root.run("dpkg", "--install", root.take_in(package)).stdout


def _install_rpm(root: Root, package: Path) -> str:
    """Without its requirements: the root's rpm database knows none of Debian's packages."""
    return root.rpm("--upgrade", "--force", "--nodeps", str(package)).stdout


def _check_installed(root: Root, said: str) -> None:
    assert "[no-config-yet]; nothing is started" in said
    assert root.run("sh", "-c", "bridged --version; bridgectl --version").stdout == _VERSIONS
    assert root.enabled() == _ENABLED
    owners = root.run("stat", "-c", "%U %a", f"/var/lib/{NAME}/runs", f"/var/lib/{NAME}/credential")
    assert owners.stdout == f"root 755\n{NAME} 700\n"
    assert list((root.folder / "usr/lib" / NAME / "bridge/hook/__pycache__").glob("client.*.pyc"))
    assert _not_compiled(root) == []


def _not_compiled(root: Root) -> list[Path]:
    """What of the libraries every start would compile anew."""
    sources = (root.folder / "usr/lib" / NAME / "venv/lib").rglob("*.py")
    return [path for path in sources if not list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"))]


_LEAST = """
[cluster]
name = "alps"
tag = "alps"
[kubernetes]
kubeconfig = "/var/lib/slurm-k8s-bridge/credential/kubeconfig"
[pod]
max_cpus = 2
max_memory = "4Gi"
"""


def _check_started(root: Root) -> None:
    """It serves hooks before it has ever reached a server, and ends when it is told to."""
    root.write(_CONFIG, _LEAST)
    root.run("install", "-d", f"/var/lib/{NAME}/journal")  # as systemd does for the unit
    daemon = root.started("bridged")
    assert daemon.stdout is not None
    said: list[str] = []
    try:
        for line in daemon.stdout:
            said.append(line)
            if '"ready"' in line:
                break
        assert '"ready"' in said[-1], "".join(said)
        assert json.loads(said[-1])["version"] == source.version()
        assert root.has(f"run/{NAME}/hook.sock")
    finally:
        daemon.terminate()
        daemon.communicate()
    assert daemon.returncode == 0


def _check_removed(root: Root) -> None:
    assert root.enabled() == set()
    gone = [*(hook.lstrip("/") for hook in HOOKS), f"usr/lib/{NAME}", "usr/bin/bridgectl"]
    assert [name for name in gone if root.has(name)] == []
    assert root.has(_CONFIG) and root.has(f"var/lib/{NAME}/credential")


def test_a_deb_from_its_installation_to_its_purge(root: Root, debs: tuple[Path, Path]) -> None:
    _check_installed(root, _install_deb(root, debs[0]))
    _check_started(root)
    root.run("systemctl", "--root=/", "disable", f"{NAME}.service")
    assert "no-config-yet" not in _install_deb(root, debs[1])
    assert root.enabled() == _ENABLED - {f"{NAME}.service"}  # the admin's word stays
    root.lay(_RUN)
    refused = root.run("dpkg", "--remove", NAME, check=False)
    assert refused.returncode == 1 and "7 is a job of the bridge" in refused.stdout
    assert all(root.has(hook.lstrip("/")) for hook in HOOKS)
    (root.folder / _RUN).unlink()
    root.run("dpkg", "--remove", NAME)
    _check_removed(root)
    _install_deb(root, debs[0])
    assert root.enabled() == _ENABLED  # as the first time
    root.run("dpkg", "--purge", NAME)
    left = [str(path) for path in root.folder.rglob(f"*{NAME}*") if path.parent.name != "tmp"]
    assert left == []
    assert root.run("getent", "passwd", NAME, check=False).stdout == ""


def test_an_rpm_from_its_installation_to_its_removal(root: Root, rpms: tuple[Path, Path]) -> None:
    prefix = prefix_of("3.12")
    if prefix is None:
        pytest.skip("this machine has no Python 3.12, the interpreter that the rpm requires")
    root.interpreter("3.12", prefix)
    _check_installed(root, _install_rpm(root, rpms[0]))
    assert root.rpm("--verify", "--nodeps", NAME).stdout == ""
    _check_started(root)
    root.run("systemctl", "--root=/", "disable", f"{NAME}.service")
    assert "no-config-yet" not in _install_rpm(root, rpms[1])
    assert root.enabled() == _ENABLED - {f"{NAME}.service"}
    root.lay(_RUN)
    refused = root.rpm("--erase", NAME, check=False)
    assert refused.returncode == 1 and "7 is a job of the bridge" in refused.stdout
    assert all(root.has(hook.lstrip("/")) for hook in HOOKS)
    (root.folder / _RUN).unlink()
    root.rpm("--erase", NAME)
    _check_removed(root)
