"""cgroup drivers."""

from pathlib import Path

import pytest

from bridge.doctor.checks.cgroups import CHECK, Cgroups, runtime_driver
from bridge.errors import BridgeError

from .given import DUMP, UNKNOWN, Somewhere, judged

_NEW = """version = 3
[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = 'nvidia'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
SystemdCgroup = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
"""


def test_both_have_the_same() -> None:
    assert judged(CHECK, Cgroups("systemd", "systemd")) == judged(CHECK, Cgroups("cgroupfs", "cgroupfs")) == []
    assert judged(CHECK, Cgroups("systemd", "cgroupfs")) == ["cgroups-differ"]
    assert (
        judged(CHECK, Cgroups("", "systemd")) == judged(CHECK, Cgroups("systemd", "")) == [UNKNOWN + "cgroups-unknown"]
    )


@pytest.mark.parametrize(("dump", "driver"), [(DUMP, "cgroupfs"), (_NEW, "systemd"), ("version = 2", "")])
def test_containerd_says_it_in_both_versions_of_its_file(dump: str, driver: str) -> None:
    assert runtime_driver(dump) == driver


def _place(tmp_path: Path, *words: str) -> Somewhere:
    process = tmp_path / "proc" / "42"
    process.mkdir(parents=True)
    (process / "cmdline").write_bytes("\0".join(["/usr/bin/kubelet", *words, ""]).encode())
    (tmp_path / "kubelet.yaml").write_text("cgroupDriver: systemd\n")
    place = Somewhere(tmp_path)
    place.says = {"containerd config dump": DUMP}
    return place


@pytest.mark.parametrize(
    ("words", "driver"),
    [
        ((), "cgroupfs"),
        (("--config=/kubelet.yaml",), "systemd"),
        (("--config", "/kubelet.yaml", "--v=2"), "systemd"),
        (("--config=/kubelet.yaml", "--cgroup-driver=cgroupfs"), "cgroupfs"),
        (("--config=/gone.yaml",), ""),
    ],
)
def test_the_kubelets_file_and_flags(tmp_path: Path, words: tuple[str, ...], driver: str) -> None:
    assert CHECK.look(_place(tmp_path, *words)) == Cgroups(driver, "cgroupfs")


def test_where_nobody_runs_it_is_not_known(tmp_path: Path) -> None:
    assert judged(CHECK, CHECK.look(Somewhere(tmp_path))) == [UNKNOWN + "cgroups-unknown"]
    place = _place(tmp_path)
    place.says = {"containerd config dump": BridgeError("no containerd")}
    assert judged(CHECK, CHECK.look(place)) == [UNKNOWN + "cgroups-unknown"]
