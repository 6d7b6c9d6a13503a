"""The epilog's conversation: the marker goes when, and only when, the daemon says so."""

import os
import subprocess
import time

import pytest

from bridge.messages.hook import SCAN_LATE
from bridge.wire.messages import HookRequest, ScanReply
from tests.unit.hook.stage import ML, Hook, Stage, needs_root

pytestmark = needs_root


def mark(stage: Stage, job: int = 7, content: str = f'{{"uid": {ML}}}') -> None:
    stage.markers.mkdir(exist_ok=True)
    (stage.markers / str(job)).write_text(content)


def test_a_proven_epilog_removes_the_markers_that_were_released(stage: Stage) -> None:
    mark(stage, 7)
    mark(stage, 5)
    mark(stage, 9)
    stage.scontrol_says('echo "SLURM_JWT=t $3"')
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(False))
    chat = stage.accepts()
    question = chat.hears()
    assert (question["phase"], question["bridge"], question["spec"]) == ("epilog", True, None)
    assert question["token"] is None, "nothing is told to slurmctld any more"
    chat.says("hello", v=1, deadline=5)
    chat.says("scan", id=1, pods=[], devices=[], uid=ML)
    assert chat.hears()["leftovers"] == []
    chat.says("answer", exit=0, message=None, output=None, released=[7, 5, "../9", True])
    assert hook.ends() == (0, "")
    assert stage.marked() == ["9"]


def test_only_the_marker_of_the_named_run_is_removed(stage: Stage) -> None:
    """Job 5 was requeued meanwhile: its next prolog has written the marker anew."""
    mark(stage, 7, '{"restart": 0, "start": 1700000000}')
    mark(stage, 5, '{"restart": 1, "start": 1800000000}')
    mark(stage, 4, '{"restart": 0, "start": 1700000000}')
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    assert chat.hears()["marker"] == {"restart": 0, "start": 1700000000}
    runs = [[7, 0, 1700000000], [5, 0, 1700000000], [4], [], [9, 0], ["7", 0, 1], 7, None, [-1, 0, 0]]
    chat.says("answer", exit=0, released=[7, 5, 4], released_runs=runs)
    assert hook.ends() == (0, "")
    assert stage.marked() == ["5"]


def test_a_daemon_that_does_not_understand_the_hook_is_outlived(stage: Stage) -> None:
    """In the middle of an upgrade; exit 1 would drain the node."""
    mark(stage)
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"))
    for _ in range(2):
        chat = stage.accepts()
        assert HookRequest.model_validate(chat.hears()).marker is None, "this marker is an old one"
        chat.says("mismatch", v=2, oldest=2, sentence="the hook is the older one")
        chat.hangs_up()
    assert hook.process.poll() is None
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=0, released=[7])
    assert hook.ends() == (0, "")
    assert stage.marked() == []


def test_leftovers_are_reported_and_exit_1_keeps_the_marker(stage: Stage) -> None:
    mark(stage)
    stage.daemon_starts()
    lock = stage.root / "gpu.lock"
    lock.touch()
    with lock.open() as held, subprocess.Popen(["sleep", "60"], stdin=held, user=ML) as holder:
        hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"))
        chat = stage.accepts()
        chat.hears()
        chat.says("scan", id=1, pods=[], devices=[str(stage.root / "gpu.*")], uid=ML)
        scanned = chat.hears()
        holder.kill()
    assert ScanReply.model_validate(scanned).error is None
    assert scanned["leftovers"] == [
        {"pid": holder.pid, "command": "sleep", "why": f"holds {lock} as uid {ML}"},
    ]
    chat.says("answer", exit=1, message="process 1 (sleep) still holds a GPU", released=[])
    assert hook.ends() == (1, "slurm-k8s-bridge: process 1 (sleep) still holds a GPU\n")
    assert stage.marked() == ["7"]


def test_an_abort_with_nothing_but_a_number_mints_no_token_and_writes_nothing_as_root(stage: Stage) -> None:
    mark(stage)
    stage.scontrol_says("echo SLURM_JWT=mighty")
    stage.daemon_starts()
    env = stage.job(False, SLURM_JOB_UID="0", SLURM_JOB_GID="0", SLURM_JOB_USER="root")
    hook = stage.hook("epilog", env)
    chat = stage.accepts()
    question = chat.hears()
    assert question["token"] is None
    output = stage.root / "slurm-7.out"
    chat.says("answer", exit=0, message="gone", output=str(output), released=[7])
    assert hook.ends() == (0, "")
    assert not output.exists()


def test_where_slurmd_and_the_marker_name_different_owners_nothing_is_written_as_either(stage: Stage) -> None:
    output = stage.home / "slurm-7.out"
    stage.daemon_starts()
    for owner in (ML, ML + 1):
        output.unlink(missing_ok=True)
        mark(stage, content=f'{{"uid": {owner}}}')
        hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"))
        chat = stage.accepts()
        chat.hears()
        chat.says("answer", exit=0, message="gone", output=str(output), released=[7])
        assert hook.ends() == (0, "")
        assert output.exists() == (owner == ML)


def test_a_second_epilog_has_nothing_to_prove(stage: Stage) -> None:
    assert stage.hook("epilog", stage.job()).ends() == (0, "")


def test_without_a_daemon_the_node_is_not_given_back(stage: Stage) -> None:
    mark(stage)
    code, said = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"), epilog=0.2).ends()
    assert code == 1
    assert "bridged did not answer" in said
    assert stage.marked() == ["7"]


def test_without_a_number_nothing_is_given_back(stage: Stage) -> None:
    mark(stage)
    code, said = stage.hook("epilog", {}).ends()
    assert code == 1
    assert "slurmd gave no SLURM_JOB_ID" in said


@pytest.mark.parametrize("content", ["", "[", "[1]", '{"uid": "x"}'])
def test_a_damaged_marker_is_still_a_marker(stage: Stage, content: str) -> None:
    mark(stage, content=content)
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=0, released=[7])
    assert hook.ends() == (0, "")
    assert stage.marked() == []


def test_a_broken_proc_is_an_error_and_not_clean(stage: Stage) -> None:
    mark(stage)
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    chat.hears()
    ends_the_child = {"pods": [], "devices": [7]}
    for question in ({"pods": [""], "devices": []}, {"pods": "x", "devices": []}, {}, ends_the_child):
        chat.says("scan", id=1, **question)
        answer = chat.hears()
        assert answer["leftovers"] == []
        assert answer["error"]
    chat.says("answer", exit=1)
    assert hook.ends()[0] == 1


def test_a_look_that_hangs_is_an_error_and_not_clean(stage: Stage) -> None:
    mark(stage)
    stage.daemon_starts()
    stage.proc = stage.root / "proc"
    (stage.proc / "1").mkdir(parents=True)
    os.mkfifo(stage.proc / "1" / "cgroup")  # nobody ever writes into it
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"), scan=0.2)
    chat = stage.accepts()
    chat.hears()
    chat.says("scan", id=1, pods=["3c1f6a52-9d0e"], devices=[], uid=None)
    answer = chat.hears()
    assert (answer["leftovers"], answer["error"]) == ([], SCAN_LATE.format(seconds=0))
    chat.says("answer", exit=1)
    assert hook.ends()[0] == 1


def failed(stage: Stage, **patience: float) -> Hook:
    """The epilog was told that its run is not proven gone."""
    mark(stage, content='{"restart": 2, "start": 1700000000}')
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2"), **patience)
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=1, message="not proven gone", output=None, released=[], linger=True)
    return hook


def is_unmarked(stage: Stage) -> bool:
    """The child has no parent that could wait for it: the removal of the marker is all that it shows."""
    end = time.monotonic() + 5
    while stage.marked() and time.monotonic() < end:
        time.sleep(0.01)
    return not stage.marked()


def test_a_failed_epilog_leaves_somebody_behind_who_scans_on(stage: Stage) -> None:
    assert failed(stage).ends() == (1, "slurm-k8s-bridge: not proven gone\n")
    stays = stage.accepts()
    asked = stays.hears()
    assert (asked["phase"], asked["lingers"], asked["token"]) == ("epilog", True, None)
    assert (asked["env"]["SLURM_JOB_ID"], asked["marker"]) == ("7", {"restart": 2, "start": 1700000000})
    stays.says("hello", v=1, deadline=60)
    stays.says("scan", id=1, pods=[], devices=[], uid=None)
    assert stays.hears()["leftovers"] == []
    assert stage.marked() == ["7"]
    stays.says("answer", exit=0, message=None, output=None, released=[7])
    assert is_unmarked(stage)


def test_the_one_left_behind_asks_again_until_it_is_proven(stage: Stage) -> None:
    assert failed(stage, again=0.01).ends()[0] == 1
    for code in (1, 0):
        stays = stage.accepts()
        assert stays.hears()["lingers"] is True
        stays.says("answer", exit=code, message=None, output=None, released=[7] if code == 0 else [])
    assert is_unmarked(stage)


def test_the_one_left_behind_outlives_a_daemon_that_says_nothing_for_long(stage: Stage) -> None:
    assert failed(stage, again=0.01, epilog=0.3).ends()[0] == 1
    end = time.monotonic() + 1.0  # three times its patience, and it goes on asking
    while time.monotonic() < end:
        mute = stage.accepts()
        mute.hears()
        mute.hangs_up()
    stays = stage.accepts()
    stays.hears()
    stays.says("answer", exit=0, message=None, output=None, released=[7])
    assert is_unmarked(stage)
