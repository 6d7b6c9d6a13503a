"""The proof of release, over made-up trees for every cgroup driver and over the real /proc."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from bridge.hook import scan
from tests.unit.hook.stage import ML, needs_root

POD = "3c1f6a52-9d0e-4c59-8a6e-5b0a6d1f2e77"
UNDERSCORED = POD.replace("-", "_")


def process(
    proc: Path, pid: int, cgroup: str = "0::/\n", uid: int = 0, state: str = "S (sleeping)", acting: int | None = None
) -> Path:
    """One process of a made-up /proc; ``acting`` is its effective uid where that is another one."""
    place = proc / str(pid)
    (place / "fd").mkdir(parents=True)
    (place / "task" / str(pid)).mkdir(parents=True)
    (place / "cgroup").write_text(cgroup)
    status = f"Name:\tpython3\nState:\t{state}\nUid:\t{uid}\t{acting or uid}\t{uid}\t{uid}\n"
    (place / "status").write_text(status)
    (place / "task" / str(pid) / "status").write_text(status)
    return place


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    process(tmp_path, 1)
    (tmp_path / "self").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "cgroup",
    [
        f"0::/kubepods/besteffort/pod{POD}/0123abc\n",
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERSCORED}.slice/cri-x.scope\n",
        f"0::/../../kubepods-pod{UNDERSCORED}.slice:cri-containerd:0123abc\n",
        f"12:cpuset:/\n5:devices:/kubepods/pod{POD}/0123abc\n1:name=systemd:/\n0::/\n",
        f"9:memory:/kubepods.slice/kubepods-pod{UNDERSCORED}.slice/crio-1.scope\n0::/system.slice\n",
    ],
)
def test_every_driver_and_version(proc: Path, cgroup: str) -> None:
    process(proc, 40, cgroup)
    assert scan.leftovers([POD], [], None, str(proc)) == [{"pid": 40, "command": "python3", "why": "is in pod " + POD}]
    assert scan.leftovers(["00000000-9d0e-4c59-8a6e-5b0a6d1f2e77"], [], None, str(proc)) == []


def test_a_zombie_holds_nothing_but_its_threads_do(proc: Path) -> None:
    place = process(proc, 40, f"0::/pod{POD}\n", state="Z (zombie)")
    assert scan.leftovers([POD], [], None, str(proc)) == []
    (place / "task/41").mkdir()
    (place / "task/41/status").write_text("Name:\tx\nState:\tD (disk sleep)\nUid:\t0\t0\t0\t0\n")
    assert scan.leftovers([POD], [], None, str(proc))


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("D (disk sleep)", f"is in pod {POD}, in state D: frozen, or hung in the kernel"),
        ("T (stopped)", f"is in pod {POD}, in state T: stopped"),
        ("R (running)", f"is in pod {POD}"),
    ],
)
def test_a_process_that_no_signal_ends_is_told_as_one(proc: Path, state: str, why: str) -> None:
    process(proc, 40, f"0::/pod{POD}\n", state=state)
    assert [item["why"] for item in scan.leftovers([POD], [], None, str(proc))] == [why]


def test_a_process_that_was_forked_behind_the_walk_is_found(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parent ended when it had been listed, and it was not there yet."""
    listed = scan._pids

    def forks(place: str) -> list[str]:
        pids = listed(place)
        if not (proc / "41").exists():
            process(proc, 41, f"0::/pod{POD}\n")
        return pids

    monkeypatch.setattr(scan, "_pids", forks)
    assert [item["pid"] for item in scan.leftovers([POD], [], None, str(proc))] == [41]


def test_a_process_that_vanishes_is_gone(proc: Path) -> None:
    (proc / "40").mkdir()
    assert scan.leftovers([POD], ["/dev/null"], None, str(proc)) == []


def test_a_device_is_known_by_its_number_and_its_holder_by_the_uid(proc: Path) -> None:
    holder = process(proc, 40, uid=ML)
    (holder / "fd/0").symlink_to("/dev/zero")
    (holder / "fd/7").symlink_to("/dev/null")
    assert scan.leftovers([POD], ["/dev/nul*"], ML, str(proc))[0]["why"] == f"holds /dev/null as uid {ML}"
    assert scan.leftovers([], ["/dev/null"], ML + 1, str(proc)) == []
    assert scan.leftovers([], ["/dev/null"], None, str(proc)) != []
    assert scan.leftovers([], ["/dev/no-such-*"], ML, str(proc)) == []


@pytest.mark.parametrize("owner", [ML, None])
def test_a_holder_is_its_users_by_any_of_its_uids(proc: Path, owner: int | None) -> None:
    """What root has started may act as the user, and the other way round."""
    (process(proc, 40, uid=0, acting=ML) / "fd/7").symlink_to("/dev/null")
    assert [item["pid"] for item in scan.leftovers([], ["/dev/null"], owner, str(proc))] == [40]


# What proc(5) shows of mounts: a place of FUSE, which may hang or refuse root, and those that may not be passed over.
MOUNTS = """\
20 1 0:5 / /dev rw,nosuid - devtmpfs devtmpfs rw
21 1 0:6 / /dev rw,nosuid,nodev shared:1 master:2 - tmpfs none rw
22 1 0:7 / /mnt/a\\040-\\040b rw,nosuid,nodev,relatime shared:9 - fuse.sshfs host:/ rw,user_id=2001
23 1 0:8 / /home rw,nodev - nfs4 server:/home rw
24 1 0:9 / /net rw - fuse.x x rw
"""


@pytest.mark.parametrize(
    ("mount", "passed"), [(20, False), (21, False), (22, True), (23, True), (24, False), (99, False)]
)
def test_what_lies_where_no_device_can_be_is_not_asked(proc: Path, mount: int, passed: bool) -> None:
    holder = process(proc, 40, uid=ML)
    (holder / "mountinfo").write_text(MOUNTS)
    (holder / "fdinfo").mkdir()
    (holder / "fdinfo/7").write_text(f"pos:\t0\nflags:\t0100000\nmnt_id:\t{mount}\nino:\t1\n")
    (holder / "fd/7").symlink_to("/dev/null")
    assert (scan.leftovers([], ["/dev/null"], ML, str(proc)) == []) is passed


def test_an_unknown_owner_means_every_account_but_the_systems(proc: Path) -> None:
    (process(proc, 40, uid=143) / "fd/7").symlink_to("/dev/null")
    assert scan.leftovers([], ["/dev/null"], None, str(proc)) == []


@pytest.mark.parametrize("uid", ["", "1", 7])
def test_a_pod_uid_that_is_none_is_an_error(proc: Path, uid: object) -> None:
    with pytest.raises(scan.ScanError):
        scan.leftovers([uid], [], None, str(proc))  # type: ignore[list-item]


def test_what_cannot_be_seen_is_not_clean(proc: Path, tmp_path: Path) -> None:
    with pytest.raises(scan.ScanError, match="cannot list"):
        scan.leftovers([POD], [], None, str(tmp_path / "none"))
    (proc / "40").mkdir()
    (proc / "40/cgroup").mkdir()
    with pytest.raises(scan.ScanError, match="cannot read"):
        scan.leftovers([POD], [], None, str(proc))
    (tmp_path / "hidden").mkdir()
    with pytest.raises(scan.ScanError, match="hidepid"):
        scan.leftovers([], [], None, str(tmp_path / "hidden"))


def test_so_many_processes_are_told_and_no_more(proc: Path) -> None:
    for pid in range(100, 400):
        process(proc, pid, cgroup=f"0::/kubepods/pod{POD}/x\n")
    assert len(scan.leftovers([POD], [], ML, str(proc))) == 50


def test_the_real_proc_is_clean_of_a_pod_that_never_was() -> None:
    began = time.monotonic()
    assert scan.leftovers([POD], [], None) == []
    assert time.monotonic() - began < 5


@needs_root
def test_a_real_holder_of_another_device_node_with_the_same_number(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "gpu0", tmp_path / "in-container"
    for node in (mine, theirs):
        os.mknod(node, 0o20666, os.makedev(1, 5))
    with theirs.open("rb") as held, subprocess.Popen(["sleep", "60"], stdin=held, user=ML, group=ML) as holder:
        found = scan.leftovers([], [str(tmp_path / "gpu*")], ML)
        holder.kill()
    assert found == [{"pid": holder.pid, "command": "sleep", "why": f"holds {mine} as uid {ML}"}]
    assert scan.leftovers([], [str(tmp_path / "gpu*")], ML) == []
