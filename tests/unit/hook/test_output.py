"""The sentence in the output file: as the user, at the end, and never as root."""

import os
from pathlib import Path

import pytest

from bridge.hook import output
from bridge.hook.account import Account
from bridge.hook.job import Job
from tests.unit.hook.stage import ML, Stage, needs_root

pytestmark = needs_root


def append(stage: Stage, path: str | Path, sentence: str = "no", uid: int = ML) -> str:
    job = Job({b"SLURM_JOB_WORK_DIR": os.fsencode(stage.home)})
    return output.append(str(path), sentence, job, Account(uid, uid, [uid], "ml"), 5)


def test_it_stands_at_the_end_on_one_line(stage: Stage) -> None:
    path = stage.home / "out"
    path.write_text("earlier\n")
    os.chown(path, ML, ML)
    assert append(stage, path, "first\nsecond \x1b") == ""
    assert path.read_text() == "earlier\nslurm-k8s-bridge: first second ?\n"


def test_a_new_file_is_the_users_and_private(stage: Stage) -> None:
    assert append(stage, "out") == ""
    status = (stage.home / "out").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (ML, ML, 0o600)


def test_what_the_user_may_not_write_is_not_written(stage: Stage) -> None:
    secret = stage.root / "shadow"
    secret.write_text("x")
    (stage.home / "out").symlink_to(secret)
    assert append(stage, "out") == "EACCES writing the output file"
    assert secret.read_text() == "x"


def test_a_fifo_without_reader_and_a_device_are_left_alone(stage: Stage) -> None:
    os.mkfifo(stage.home / "fifo")
    (stage.home / "fifo").chmod(0o666)
    assert append(stage, "fifo") == "ENXIO writing the output file"
    assert append(stage, "/dev/null") == "the output file is no regular file"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        (None, "/w/slurm-7.out", True),
        (None, "slurm-3_1.out", True),
        (None, "/w/.bashrc", False),
        (None, "/w/slurm-7.out/../.bashrc", False),
        ("logs/%x-%5j.txt", "/w/logs/my job-00007.txt", True),
        ("logs/%x-%5j.txt", "/w/logs/a/../../.ssh/x-1.txt", False),
        ("/data/(out", "/data/(out", True),
        ("/data/(out", "/data/(out2", False),
        ("a%jb%Nb", "/w/a7bnode1b", True),
        ("a%jb%Nb", "/w/a7b", False),
        ("%j" + "%ja" * 1000 + "b", "/w/" + "a" * 4000, False),
    ],
)
def test_only_what_slurmd_tells_is_the_output_file(pattern: str | None, path: str, fits: bool) -> None:
    """Whatever the daemon says."""
    told = {} if pattern is None else {b"SLURM_JOB_STDOUT": pattern.encode()}
    assert output.is_of(Job({b"SLURM_JOB_WORK_DIR": b"/w", **told}), path) is fits


def test_never_as_root(stage: Stage) -> None:
    assert "not known, or is root" in append(stage, stage.root / "out", uid=0)
    assert not (stage.root / "out").exists()
