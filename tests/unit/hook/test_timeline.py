"""The time line beside the output: as the user, whole or not at all, and nothing waits for it."""

import os
import time
from pathlib import Path

import pytest

from bridge.hook import account, child, timeline
from bridge.hook.account import Account
from bridge.hook.job import Job
from bridge.hook.paths import Patience
from tests.unit.hook.stage import ML, Stage, needs_root

pytestmark = needs_root

_FLOOD = {"output": "out", "text": "x" * (timeline._LONGEST + 1)}


def leave(stage: Stage, output: str | Path, text: str = "{}", uid: int = ML) -> None:
    env = {b"SLURM_JOB_WORK_DIR": os.fsencode(stage.home), b"SLURM_JOB_UID": b"%d" % uid, b"SLURM_JOB_GID": b"%d" % uid}
    timeline.leave(str(output), text, Job(env), Patience())


def written(path: Path, text: str = "{}") -> bool:
    """The child has no parent that could wait for it."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if path.is_file() and path.read_text() == text:
            return True
        time.sleep(0.01)
    return False


def as_ml(path: Path, text: str = "", mode: int = 0o640) -> Path:
    path.write_text(text)
    os.chown(path, ML, ML)
    path.chmod(mode)
    return path


def write_as(output: Path) -> str:
    """What the child does, and why it does not, in a child that is waited for."""
    who = Account(ML, ML, [ML], "ml")
    return child.start(lambda: timeline._write_as(who, os.fsencode(output), b"{}"), 10).reply().decode()


def test_it_is_the_users_and_as_readable_as_the_output(stage: Stage) -> None:
    as_ml(stage.home / "out")
    leave(stage, "out")
    file = stage.home / "out.k8s.json"
    assert written(file)
    status = file.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (ML, ML, 0o640)
    assert sorted(path.name for path in stage.home.iterdir()) == ["out", "out.k8s.json"]


def test_without_an_output_it_is_private(stage: Stage) -> None:
    assert write_as(stage.home / "out") == ""
    assert (stage.home / "out.k8s.json").stat().st_mode & 0o7777 == 0o600


def test_the_next_runs_takes_its_place(stage: Stage) -> None:
    as_ml(stage.home / "out")
    as_ml(stage.home / "out.k8s.json", "of the first run, and longer")
    assert write_as(stage.home / "out") == ""
    assert (stage.home / "out.k8s.json").read_text() == "{}"


def test_a_link_is_replaced_and_not_followed(stage: Stage) -> None:
    as_ml(stage.home / "out")
    other = as_ml(stage.home / "precious", "x")
    (stage.home / "out.k8s.json").symlink_to(other)
    assert write_as(stage.home / "out") == ""
    assert other.read_text() == "x"
    assert not (stage.home / "out.k8s.json").is_symlink()


def test_where_the_user_may_not_write_nothing_is_written(stage: Stage) -> None:
    closed = stage.root / "closed"
    closed.mkdir()
    assert "Permission denied" in write_as(closed / "out")
    assert list(closed.iterdir()) == []


@pytest.mark.parametrize("output", ["/dev/null", "fifo"])
def test_beside_what_is_no_file_nothing_is_written(stage: Stage, output: str) -> None:
    os.mkfifo(stage.home / "fifo")
    assert write_as(stage.home / output) == "there is no regular file"
    assert not Path("/dev/null.k8s.json").exists()


def test_a_directory_in_its_place_is_left_alone(stage: Stage) -> None:
    as_ml(stage.home / "out")
    (stage.home / "out.k8s.json").mkdir()
    assert write_as(stage.home / "out") == "there is no regular file"


def test_a_full_disk_leaves_no_half_a_file(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    as_ml(stage.home / "out")
    monkeypatch.setattr(timeline.os, "write", lambda _fd, data: len(data) - 1)  # type: ignore[attr-defined]
    who = Account(os.getuid(), os.getgid(), [], "root")
    monkeypatch.setattr(account, "become", lambda _who: None)
    assert timeline._write_as(who, os.fsencode(stage.home / "out"), b"{}") == b"no room"
    assert [path.name for path in stage.home.iterdir()] == ["out"]


def test_never_as_root(stage: Stage) -> None:
    with pytest.raises(ValueError, match="no owner"):
        leave(stage, "out", uid=0)


def test_a_flood_is_not_written(stage: Stage) -> None:
    with pytest.raises(ValueError, match="too long"):
        leave(stage, "out", "x" * (timeline._LONGEST + 1))


def test_the_epilog_leaves_it_and_ends_as_it_would(stage: Stage) -> None:
    stage.markers.mkdir()
    (stage.markers / "7").write_text(f'{{"uid": {ML}}}')
    as_ml(stage.home / "out")
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2", SLURM_JOB_STDOUT="out"))
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=0, released=[7], timeline={"output": "out", "text": "{}"})
    assert hook.ends() == (0, "")
    assert written(stage.home / "out.k8s.json")


@pytest.mark.parametrize(
    "left",
    [None, 7, {}, {"output": 3}, {"output": "", "text": "x"}, {"output": "out"}, _FLOOD],
    ids=["none", "number", "empty", "no text", "no output", "no text either", "flood"],
)
def test_an_answer_that_asks_for_nothing_sensible_is_no_fault(stage: Stage, left: object) -> None:
    stage.markers.mkdir()
    (stage.markers / "7").write_text(f'{{"uid": {ML}}}')
    stage.daemon_starts()
    hook = stage.hook("epilog", stage.job(SLURMD_NODENAME="n2", SLURM_JOB_STDOUT="out"))
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=0, released=[7], timeline=left)
    assert hook.ends() == (0, "")
    assert list(stage.home.iterdir()) == []
