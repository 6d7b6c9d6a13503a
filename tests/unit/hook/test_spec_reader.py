"""Whatever a job puts at the path of its spec, the hook ends with bytes or one plain sentence."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge import wellknown
from bridge.hook import spec_reader
from bridge.hook.account import Account
from bridge.hook.job import Job
from tests.unit.hook.stage import ML, Stage, needs_root

pytestmark = needs_root


def read(stage: Stage, spec: str = "train.yaml", seconds: float = 5) -> tuple[str, bytes]:
    env = {os.fsencode(name): os.fsencode(value) for name, value in stage.job().items()}
    env[b"SLURM_JOB_COMMENT"] = b"k8s=" + os.fsencode(spec)
    return spec_reader.read(Job(env), Account(ML, ML, [ML], "ml"), seconds)


def refused(stage: Stage, spec: str = "train.yaml") -> str:
    with pytest.raises(spec_reader.UnreadableError) as caught:
        read(stage, spec)
    start, _, cause = str(caught.value).partition(" as user ml: ")
    assert start.startswith("cannot read /")
    return cause


def test_a_private_file_in_the_working_directory(stage: Stage) -> None:
    stage.spec("a: 1\n", mode=0o600)
    assert read(stage) == (str(stage.home / "train.yaml"), b"a: 1\n")


def test_a_path_from_the_root_on_and_one_through_dots(stage: Stage) -> None:
    stage.spec("x")
    assert read(stage, str(stage.home / "train.yaml"))[1] == b"x"
    assert read(stage, "../home/./train.yaml")[1] == b"x"


def test_a_symbolic_link_leads_where_the_user_may_go(stage: Stage) -> None:
    secret = stage.root / "secret"
    secret.write_text("root's own")
    secret.chmod(0o600)
    (stage.home / "train.yaml").symlink_to(secret)
    assert refused(stage).startswith("permission denied; let ml read the file")


def test_groups_count(stage: Stage) -> None:
    path = stage.spec("x", mode=0o640)
    os.chown(path, 0, 2777)
    assert refused(stage).startswith("permission denied")
    env = {b"SLURM_JOB_WORK_DIR": os.fsencode(stage.home), b"SLURM_JOB_EXTRA": b"k8s=train.yaml"}
    assert spec_reader.read(Job(env), Account(ML, ML, [ML, 2777], "ml"), 5)[1] == b"x"


def _fifo(path: Path) -> None:
    os.mkfifo(path, 0o666)
    path.chmod(0o666)


def _device(path: Path) -> None:
    os.mknod(path, 0o20666, os.makedev(1, 3))
    path.chmod(0o666)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
    path.chmod(0o666)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 * wellknown.SPEC_LIMIT)


def _loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda _: None, "no such file; put it there"),
        (lambda path: path.mkdir(), "is a directory; k8s= must name a regular file"),
        (_fifo, "is a fifo"),
        (_device, "is a device"),
        (_socket, "No such device or address"),
        (_huge, "larger than 1 MiB"),
        (_loop, "too many symbolic links"),
    ],
)
def test_things_that_are_no_spec(stage: Stage, make: Callable[[Path], None], cause: str) -> None:
    make(stage.home / "train.yaml")
    began = time.monotonic()
    assert refused(stage).startswith(cause)
    assert time.monotonic() - began < 3


def test_exactly_the_limit_is_read(stage: Stage) -> None:
    stage.spec("x" * wellknown.SPEC_LIMIT)
    assert len(read(stage)[1]) == wellknown.SPEC_LIMIT


def test_a_file_that_says_it_is_empty_and_never_ends(stage: Stage) -> None:
    assert refused(stage, "/proc/self/pagemap") in {
        "larger than 1 MiB; k8s= must name the manifest, not data",
        "permission denied; let ml read the file and enter every directory above it",
    }


def test_words_that_name_nothing(stage: Stage) -> None:
    with pytest.raises(spec_reader.UnreadableError, match="k8s= names no file; write k8s=PATH"):
        read(stage, "")
    assert refused(stage, "~/train.yaml").startswith("~ is not expanded here")
    assert refused(stage, "x" * 300).startswith("the name is too long")
    assert refused(stage, "train.yaml/x").startswith("no such file")
    assert "\x1b" not in refused(stage, "\x1b[2J")


def test_a_hanging_file_system_costs_the_deadline_and_no_more(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.spec()
    trace = stage.root / "pid"

    def hang(_who: Account, _path: bytes) -> bytes:
        trace.write_text(str(os.getpid()))
        time.sleep(60)
        return b""

    monkeypatch.setattr(spec_reader, "_read_as", hang)
    began = time.monotonic()
    with pytest.raises(spec_reader.UnreadableError, match="took longer than 0 s on n1"):
        read(stage, seconds=0.3)
    assert time.monotonic() - began < 5
    time.sleep(0.1)
    state = Path(f"/proc/{trace.read_text()}/status")
    assert not state.exists() or "\nState:\tZ" in state.read_text(), "the child was not killed"
