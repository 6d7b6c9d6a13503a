"""What the engine writes down, and how long it stays."""

import queue
from collections import Counter
from unittest.mock import create_autospec

import pytest

from bridge.engine import events, ledger
from bridge.engine.executor import Executor
from bridge.engine.inbox import Happened
from bridge.engine.loop import Engine
from bridge.engine.recover import key_of, key_text
from bridge.engine.state import Phase
from bridge.errors import ConfigError
from bridge.job.ids import RunKey
from bridge.store.journal import Journal, Line

from .clients import Job
from .node import Node, eventually
from .world import NAMESPACE, World


def whole_life(world: World, node: Node, job: Job) -> None:
    """A job from its prolog to its release."""
    world.running(node, job)
    assert node.epilog(job).exit() == 0


def kinds(node: Node, job: Job) -> Counter[str]:
    """How many lines of each kind this run has."""
    return Counter(event.kind for run, event in node.journalled() if run == key_text(job.key))


def test_released_runs_are_kept_up_to_a_number_and_the_oldest_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "KEPT_RUNS", 2)
    node = world.node()
    for number in (7, 8, 9):
        whole_life(world, node, world.job(id=number))
    eventually(lambda: [key.job_id for key in node.engine.runs] == [8, 9])
    assert {run for run, _ in node.journalled()} == {"demo/8/0", "demo/9/0"}
    assert node.replayed() == node.engine.runs


def test_a_daemon_is_ready_before_it_forgets(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks wait for it, and nobody for what it no longer needs."""
    node = world.node()
    for number in (7, 8, 9):
        whole_life(world, node, world.job(id=number, gpus=0))
    forgets, recover = create_autospec(Journal.forget, side_effect=Journal.forget), Engine.recover

    def fewer_from_now_on(engine: Engine, executor: Executor) -> None:
        monkeypatch.setattr(ledger, "KEPT_RUNS", 1)
        recover(engine, executor)

    monkeypatch.setattr(Engine, "recover", fewer_from_now_on)
    monkeypatch.setattr(Journal, "forget", forgets)
    _, recovered = node.crash()
    assert [key.job_id for key in recovered] == [7, 8, 9]
    node.engine.happened(RunKey("demo", 9, 0), events.Ticked(1.0))  # a turn of the engine
    eventually(lambda: [key.job_id for key in node.engine.runs] == [9])
    assert forgets.call_count == 1
    assert {run for run, _ in node.journalled()} == {"demo/9/0"}


def test_a_run_that_is_not_released_is_never_pruned(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "KEPT_RUNS", 0)
    node, second, waiting = world.node(), world.node("n2"), world.job("n1", "n2", id=6, gpus=0)
    hook = node.prolog(waiting)
    whole_life(world, node, world.job(id=7))
    eventually(lambda: [key.job_id for key in node.engine.runs] == [6])
    assert second.prolog(waiting).exit() == hook.exit() == 0


def test_what_counts_is_the_order_of_release(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training of a month may be released after hundreds of later jobs, and its end is asked for the next day."""
    monkeypatch.setattr(ledger, "KEPT_RUNS", 1)
    node, long = world.node(), world.job(id=6, gpus=0)
    world.running(node, long)
    whole_life(world, node, world.job(id=7, gpus=0))
    answer = node.epilog(long).answer()
    assert answer["released_runs"] == [[6, 0, long.start]]
    eventually(lambda: [key.job_id for key in node.engine.runs] == [6])
    whole_life(world, node, world.job(id=8, gpus=0))
    eventually(lambda: [key.job_id for key in node.engine.runs] == [8])
    _, recovered = node.crash()
    assert [key.job_id for key in recovered] == [8]


def test_a_run_is_not_forgotten_before_its_epilog_has_named_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "KEPT_RUNS", 0)
    node, job = world.node(), world.job()
    world.running(node, job)
    assert node.epilog(job).answer()["released_runs"] == [[7, 0, job.start]]
    assert node.foreign_prolog(8).exit() == 0
    eventually(lambda: not node.engine.runs)


def test_replay_keeps_the_order_of_release(world: World) -> None:
    node, long = world.node(), world.job(id=6, gpus=0)
    world.running(node, long)
    whole_life(world, node, world.job(id=7, gpus=0))
    assert node.epilog(long).exit() == 0
    assert [key.job_id for key in node.crash()[1]] == [7, 6]


def test_released_runs_are_kept_up_to_so_many_bytes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Specs of the largest size, one after the other, would else fill disk and memory."""
    node, free = world.node(), world.job(id=6, gpus=0)
    world.running(node, free)
    whole_life(world, node, world.job(id=7, gpus=0))
    assert [key.job_id for key in node.engine.runs] == [6, 7]
    monkeypatch.setattr(ledger, "KEPT_BYTES", 100)
    whole_life(world, node, world.job(id=8, gpus=0))
    eventually(lambda: [key.job_id for key in node.engine.runs] == [6])
    assert {run for run, _ in node.journalled()} == {"demo/6/0"}
    assert node.epilog(free).exit() == 0


def test_a_run_without_end_of_news_writes_what_lasts_and_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod that flaps, an API server that fails for a weekend: the journal stays as it is, and the run goes on."""
    node, job = world.node(), world.job()
    world.running(node, job)
    node.until(lambda run: run.reported and run.opened, job)
    monkeypatch.setattr(ledger, "LINES", 0)
    monkeypatch.setattr(ledger, "LINES_PER_NODE", 0)
    before = kinds(node, job)
    for number in range(50):
        world.kube.change("pod", NAMESPACE, job.pod(0), reason=f"flap {number}")
        node.engine.happened(job.key, events.Failed(1.0, "poll", f"no answer from port {number}"))
    node.until(lambda run: run.pods[0].failure == "flap 49" and run.tried("poll") == 50, job)
    assert kinds(node, job) == before
    _, recovered = node.crash()
    assert recovered[job.key].tried("poll") == 0
    node.until(lambda run: run.pods[0].failure == "flap 49", job)
    world.ends(job, 3)
    assert node.attach(job).exit() == 3
    assert node.epilog(job).exit() == 0
    _, recovered = node.crash()
    run = recovered[job.key]
    assert run.phase is Phase.RELEASED
    assert run.outcome is not None and run.outcome.exit_code == 3


def test_the_bound_of_a_run_grows_with_its_nodes_and_counts_across_restarts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "LINES", 20)
    monkeypatch.setattr(ledger, "LINES_PER_NODE", 10)
    node, job = world.node(), world.job()
    world.running(node, job)
    node.until(lambda run: run.reported, job)
    for number in range(100):
        node.engine.happened(job.key, events.Failed(1.0, "poll", f"fault {number}"))
        if number == 50:
            node.crash()
    node.engine.happened(job.key, events.Failed(1.0, "last", "the last one"))
    node.until(lambda run: run.tried("last"), job)
    assert sum(kinds(node, job).values()) == 30


def test_spec_and_manifest_are_held_until_the_prolog_is_answered(world: World) -> None:
    node, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    hook = node.prolog(job)
    assert node.until(lambda run: run.manifest, job).spec
    assert second.prolog(job).exit() == hook.exit() == 0
    spec = node.run(job).spec
    assert (spec and spec.path, spec and spec.data, node.run(job).manifest) == ("/home/ml/job.yaml", "", "")
    before, after = node.crash()
    assert before == after
    assert [each.epilog(job).exit() for each in (node, second)] == [0, 0]


def test_what_changes_nothing_is_not_written(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node.until(lambda run: run.reported and run.opened, job)
    before = kinds(node, job)
    for _ in range(5):
        world.kube.edit("pod", NAMESPACE, job.pod(0), lambda pod: pod["metadata"].update(generation=1))
        node.engine.post(Happened(job.key, events.Ticked(node.run(job).began + 1)))
        world.kube.forget_history()
    assert node.foreign_prolog(8).exit() == 0
    assert kinds(node, job) == before
    assert before["ticked"] == 0


def test_asking_twice_is_written_once(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.running(node, job)
    assert kinds(node, job)["prolog_began"] == 1
    assert world.workloads_ever() == 1


def test_events_of_a_run_that_is_not_known_are_nothing(world: World) -> None:
    node = world.node()
    node.engine.post(Happened(RunKey("demo", 99, 0), events.Attached(1.0)))
    assert node.foreign_prolog(8).exit() == 0
    assert node.journalled() == []
    assert node.engine.runs == {}


def test_the_owners_token_is_in_no_line(world: World) -> None:
    node, job = world.node(), world.job()
    whole_life(world, node, job)
    written = b"".join(path.read_bytes() for path in node.config.journal_dir.iterdir() if path.is_file())
    assert b"job_learned" in written
    assert b"owner's" not in written


def test_a_line_that_cannot_be_read_stops_the_daemon_with_the_run_it_is_of(world: World) -> None:
    node = world.node()
    node.stop()
    journal = Journal(node.config.journal_dir)
    journal.append([Line("demo/7/0", b'{"kind":"of_the_future","at":1.0}', 0.0)])
    journal.close()
    with pytest.raises(ConfigError, match=r"a line of run demo/7\.0 that this version cannot read"):
        node.replayed()


def test_a_key_comes_back_from_its_text() -> None:
    for key in (RunKey("demo", 7, 0), RunKey("a/b", 1, 12)):
        assert key_of(key_text(key)) == key


def test_a_write_that_fails_ends_the_daemon_before_anything_is_done(world: World) -> None:
    node, job = world.node(), world.job()
    node.perils.kinds = {"prolog_began"}
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()
    world.kube.on_change = lambda: calls.put("change")
    hook = node.mortal_prolog(job)
    eventually(lambda: node.lives == 1)
    hook.dies()
    assert node.engine.runs == {}
    assert world.kube.faults.calls == []
    assert calls.empty()


def test_recovery_takes_up_every_run(world: World) -> None:
    node = world.node()
    running, released = world.job(id=7), world.job(id=8, gpus=0)
    world.running(node, running)
    whole_life(world, node, released)
    _, recovered = node.crash()
    assert {key.job_id: run.phase for key, run in recovered.items()} == {7: Phase.RUNNING, 8: Phase.RELEASED}
    world.ends(running, 0)
    assert node.attach(running).exit() == 0
