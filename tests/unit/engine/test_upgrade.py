"""A daemon of this version takes up what an older one has written, and says no to what a newer one has."""

import sqlite3
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bridge import __version__, wellknown
from bridge.engine import events
from bridge.engine.recover import key_text, replayed
from bridge.engine.state import Phase, Run
from bridge.job.ids import RunKey
from bridge.store.journal import FILE, Journal
from bridge.wire.messages import mismatch

from .clients import Hook, Job, connected
from .node import eventually
from .story import CONFIG
from .world import World

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.sql"))


def recorded(record: Path, directory: Path) -> dict[RunKey, Run]:
    """The runs that this version makes of a recorded journal."""
    database = sqlite3.connect(directory / FILE)
    database.executescript(record.read_text(encoding="utf-8"))
    database.close()
    journal = Journal(directory)
    runs = replayed(CONFIG, journal)
    journal.close()
    return runs


def words(run: Run) -> tuple[str, int | None, str, set[str]]:
    """What may on no account be lost: where it stands, what its prolog was told, its gate, and what may be alive."""
    told = None if run.prolog_answer is None else run.prolog_answer.exit
    return run.phase.value, told, run.opened, set(run.known_uids)


def test_every_run_of_the_first_version_is_taken_up(tmp_path: Path) -> None:
    """See `record.py` for their stories."""
    runs = recorded(RECORDED[0], tmp_path)
    assert {key_text(key): words(run) for key, run in runs.items()} == {
        "demo/7/0": ("released", 0, "pod-0", {"pod-0"}),
        "demo/8/0": ("running", 0, "pod-1", {"pod-1"}),
        "demo/9/1": ("prolog", None, "pod-0", {"pod-0"}),
        "demo/10/0": ("running", 0, "", set()),
        "demo/11/0": ("running", 1, "", set()),
        "demo/12/0": ("release", None, "", {"pod-of-12"}),
        "demo/13/0": ("running", 0, "", set()),
        "demo/14/0": ("prolog", None, "", set()),  # left by its hook: the first version wrote an answer for nobody
        "demo/15/0": ("release", 0, "", set()),
    }
    assert {key.job_id for key, run in runs.items() if run.consent} == {8, 9}
    assert {key.job_id for key, run in runs.items() if run.workload_uid} == {7, 8, 9, 14}
    assert [key.job_id for key, run in runs.items() if run.epilog_answer] == [15]


@pytest.mark.parametrize("record", RECORDED, ids=lambda record: record.stem)
def test_every_recorded_journal_is_read(record: Path, tmp_path: Path) -> None:
    assert {run.phase for run in recorded(record, tmp_path).values()} == set(Phase)


@pytest.mark.parametrize("field", ["of_the_future", "note"])
def test_a_field_that_a_newer_version_added_is_left_out(field: str) -> None:
    assert events.from_json(f'{{"at": 1.0, "{field}": [1], "kind": "ticked"}}'.encode()) == events.Ticked(1.0)


# -- hook and daemon of different versions


def future(monkeypatch: pytest.MonkeyPatch, protocol: int, oldest: int) -> None:
    """From here on daemons are of a version that speaks these."""
    monkeypatch.setattr(wellknown, "PROTOCOL", protocol)
    monkeypatch.setattr(wellknown, "OLDEST_PROTOCOL", oldest)


def test_the_daemon_understands_the_protocol_before_its_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node, job = world.node(), world.job()
    asked = job.prolog("n1"), job.epilog("n1")
    future(monkeypatch, protocol=2, oldest=1)
    assert [Hook(node.hook_socket, question).exit() for question in asked] == [0, 0]


@pytest.mark.parametrize("phase", ["prolog", "epilog"])
def test_a_hook_that_is_too_old_waits_for_the_daemon_of_its_version(
    world: World, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """The package was installed back: the daemon of the newer version runs on for some seconds."""
    node, job = world.node(), world.job()
    if phase == "epilog":
        world.running(node, job)
    asked = job.prolog("n1") if phase == "prolog" else job.epilog("n1")
    future(monkeypatch, protocol=3, oldest=2)
    with capture_logs() as logs:
        hook = Hook(node.hook_socket, asked)
        eventually(lambda: [log for log in logs if log["event"] == "hook_mismatch"])
    assert hook.waits
    assert node.engine.waiting_hooks == 0
    node.stop()
    future(monkeypatch, protocol=1, oldest=1)
    world.successor(node)
    assert hook.exit() == 0


def test_a_hook_that_is_too_new_waits_for_the_daemon_of_its_version(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, job = world.node(), world.job()
    with capture_logs() as logs:
        hook = node.prolog(job, v=2)
        eventually(lambda: [log for log in logs if log["event"] == "hook_mismatch"])
    cause = next(log["cause"] for log in logs if log["event"] == "hook_mismatch")
    assert cause == (
        f"bridged {__version__} speaks protocol 1 and none before 1, the hook 2: bridged is the older one "
        "[protocol-unlike]; install the package again on this node, then systemctl restart slurm-k8s-bridge"
    )
    node.stop()
    future(monkeypatch, protocol=2, oldest=1)
    world.successor(node)
    assert hook.exit() == 0


@pytest.mark.parametrize("version", [None, "1", True, 0, -1, 1.0])
def test_what_is_no_protocol_is_none(version: object) -> None:
    assert mismatch(version, "hook") is not None


@pytest.mark.parametrize("changes", [{"env": {}}, {"env": {"SLURM_JOB_ID": "x"}}, {"phase": "dance"}])
def test_a_question_that_is_not_understood_gets_no_verdict(world: World, changes: dict[str, object]) -> None:
    node = world.node()
    channel = connected(node.hook_socket)
    channel.send(world.job().prolog("n1") | changes)
    told = channel.receive()
    assert told is not None and told["kind"] == "mismatch"
    assert "does not understand this hook's question [hook-unlike]; install the package again" in str(told["sentence"])
    assert channel.receive() is None
    channel.close()


def test_a_hook_of_the_first_version_is_served(world: World) -> None:
    """It tells neither when it began nor what its marker says."""
    node, job = world.node(), world.job()
    asked = job.prolog("n1")
    del asked["began"]
    assert Hook(node.hook_socket, asked).exit() == 0
    asked = job.epilog("n1")
    del asked["began"]
    assert Hook(node.hook_socket, asked).answer()["released"] == [7]


def test_a_node_goes_on_from_the_journal_of_the_first_version(world: World, tmp_path: Path) -> None:
    """With runs in every phase, each ends as if its daemon had never changed."""
    recorded(RECORDED[0], tmp_path)
    node = world.node_with("compute2", tmp_path / FILE)
    assert {key.job_id for key in node.engine.runs} == set(range(7, 16))
    hooks = []
    for number in (8, 11, 15):
        job = Job(("compute1", "compute2"), id=number)
        hooks.append(node.epilog(job))
        answer = hooks[-1].answer()
        assert (answer["exit"], answer["released_runs"]) == (0, [[number, 0, job.start]])
    hooks.append(node.bare_epilog(Job(("compute1", "compute2"), id=12)))
    assert hooks[-1].exit() == 0
    assert ["pod-of-12"] in [scan["pods"] for hook in hooks for scan in hook.scanned], "whoever waits does the scan"
    assert node.foreign_prolog(99).exit() == 0
