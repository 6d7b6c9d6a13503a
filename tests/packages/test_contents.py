"""What lies in the packages: files, modes, owners, what is inside, and the same bytes each time."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from packer import lock, source

HOOKS = {f"/etc/slurm/{when}.d/50-slurm-k8s-bridge" for when in ("prolog", "epilog")}
PROGRAMS = HOOKS | {
    "/usr/bin/bridgectl",
    "/usr/sbin/bridged",
    "/usr/lib/slurm-k8s-bridge/setup",
    "/usr/share/slurm-k8s-bridge/rbac/namespace",
}
DOC = "usr/share/doc/slurm-k8s-bridge"


def _of_deb(package: Path) -> dict[str, tuple[str, str]]:
    """Mode and owner by path, of all that is no folder."""
    listed = subprocess.run(["dpkg-deb", "--contents", package], check=True, capture_output=True, text=True).stdout
    rows = [line.split(maxsplit=5) for line in listed.splitlines()]
    return {row[5].partition(" -> ")[0].lstrip("."): (row[0], row[1]) for row in rows if row[0][0] != "d"}


def _of_rpm(package: Path) -> dict[str, tuple[str, str]]:
    form = "[%{FILENAMES}\t%{FILEMODES:perms}\t%{FILEUSERNAME}/%{FILEGROUPNAME}\n]"
    listed = subprocess.run(
        ["rpm", "-qp", "--queryformat", form, package], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    return {path: (mode, owner) for path, mode, owner in rows if mode[0] != "d"}


@pytest.fixture(params=["deb", "rpm"])
def files(request: pytest.FixtureRequest) -> dict[str, tuple[str, str]]:
    """Of each package."""
    first: Path = request.getfixturevalue(f"{request.param}s")[0]
    return (_of_deb if request.param == "deb" else _of_rpm)(first)


@pytest.fixture(params=["deb", "rpm"])
def unpacked(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Each package's tree."""
    first: Path = request.getfixturevalue(f"{request.param}s")[0]
    if request.param == "deb":
        subprocess.run(["dpkg-deb", "--extract", first, tmp_path], check=True)
    else:
        archive = subprocess.run(["rpm2cpio", first], check=True, capture_output=True).stdout
        subprocess.run(["cpio", "-id", "--quiet"], input=archive, cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize("form", ["debs", "rpms"])
def test_made_twice_it_is_the_same_bytes(form: str, request: pytest.FixtureRequest) -> None:
    first, second = request.getfixturevalue(form)
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_all_is_roots_and_nobody_else_writes(files: dict[str, tuple[str, str]]) -> None:
    assert {owner for _, owner in files.values()} == {"root/root"}
    modes = {path: mode for path, (mode, _) in files.items() if mode[0] == "-"}
    assert {path for path, mode in modes.items() if mode == "-rwxr-xr-x"} == PROGRAMS
    assert set(modes.values()) == {"-rwxr-xr-x", "-rw-r--r--"}


def test_it_has_what_a_node_needs(files: dict[str, tuple[str, str]]) -> None:
    library = "/usr/lib/slurm-k8s-bridge"
    checkout = {f"{library}/{path.relative_to(source.CHECKOUT)}" for path in source.CHECKOUT.glob("bridge/**/*.py")}
    assert checkout <= set(files)
    units = {f"/usr/lib/systemd/system/{path.name}" for path in (source.PACKAGING / "systemd").glob("*.[st]*")}
    assert len(units) >= 4 and units <= set(files)
    others = {
        "/usr/lib/systemd/system-preset/80-slurm-k8s-bridge.preset",
        "/usr/lib/sysusers.d/slurm-k8s-bridge.conf",
        "/usr/lib/tmpfiles.d/slurm-k8s-bridge.conf",
        "/usr/share/slurm-k8s-bridge/monitoring/alerts.yaml",
        "/usr/share/slurm-k8s-bridge/rbac/kustomization.yaml",
        f"{library}/venv/bin/python",
        f"/{DOC}/LICENSE",
        f"/{DOC}/docs/reference/faults.md",
    }
    assert others <= set(files)


def test_it_has_manual_pages_and_completion(files: dict[str, tuple[str, str]]) -> None:
    pages = [path.removeprefix("/usr/share/man/") for path in files if path.startswith("/usr/share/man/")]
    made = sorted(f"man{page.suffix[1:]}/{page.name}.gz" for page in (source.PACKAGING / "man").iterdir())
    assert sorted(pages) == made
    assert {"man1/bridgectl.1.gz", "man8/bridged.8.gz"} <= set(pages)
    assert {
        "/usr/share/bash-completion/completions/bridgectl",
        "/usr/share/fish/vendor_completions.d/bridgectl.fish",
    } <= set(files)


def test_zsh_finds_its_completion_where_each_system_has_them(debs: tuple[Path, Path], rpms: tuple[Path, Path]) -> None:
    assert "/usr/share/zsh/vendor-completions/_bridgectl" in _of_deb(debs[0])
    assert "/usr/share/zsh/site-functions/_bridgectl" in _of_rpm(rpms[0])


def test_configuration_is_the_sites_alone(files: dict[str, tuple[str, str]]) -> None:
    assert {path for path in files if path.startswith("/etc/")} == HOOKS


def test_nothing_compiled_is_packed(files: dict[str, tuple[str, str]]) -> None:
    assert [path for path in files if path.endswith(".pyc") or "__pycache__" in path] == []


def test_the_lists_of_what_is_inside_are_whole(unpacked: Path) -> None:
    pins = {pin.name: pin for pin in lock.read(source.LOCK.read_text()).values()}
    components = json.loads((unpacked / DOC / "sbom.cdx.json").read_text())["components"]
    assert {part["name"]: part["version"] for part in components} == {p.name: p.version for p in pins.values()}
    assert all(part["hashes"][0]["content"] in pins[part["name"]].hashes for part in components)
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.+) \| (.+) \|$", (unpacked / DOC / "LICENCES.md").read_text(), re.M)
    said = {name: (licence, texts) for name, version, licence, texts in rows[1:]}
    assert set(said) == set(pins)
    (site,) = unpacked.glob("usr/lib/slurm-k8s-bridge/venv/lib/python3.*/site-packages")
    for name, (licence, texts) in said.items():
        assert licence != "not said", name
        assert all((site / text).is_file() for text in re.findall(r"`([^`]+)`", texts)) and "`" in texts, name
