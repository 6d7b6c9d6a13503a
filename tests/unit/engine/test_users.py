"""The user socket: what `bridgectl` may ask, and how it is told."""

from dataclasses import replace
from typing import Any

import pytest

from bridge.engine import attachment, shown, users, wanted
from bridge.errors import Unavailable
from bridge.job.faults.runs import ENDED_BY_SLURM
from bridge.kube.api import LAST_LOG_LIMIT
from bridge.wire.frames import encode

from .clients import OTHER, OWNER, PATIENCE, connected
from .node import eventually
from .story import batch, pulling, ready
from .world import World

ROOT = 0


def test_status_tells_the_node_to_everybody_and_runs_to_their_owner_and_root(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node.peer_uid = OTHER
    status = node.ask(verb="status")
    assert (status["kind"], status["node"], status["cluster"], status["tier"]) == ("status", "n1", "demo", "owner")
    assert status["waiting_hooks"] == 0
    assert status["runs"] == [], "a sentence may hold another user's image names and paths"
    node.peer_uid = ROOT
    runs = node.ask(verb="status")["runs"]
    assert [(run["job"], run["phase"], run["rank"]) for run in runs] == [(7, "running", 0)]
    assert node.epilog(job).exit() == 0
    assert node.ask(verb="status")["runs"] == []


@pytest.mark.parametrize(("uid", "sees"), [(OWNER, [7]), (ROOT, [7]), (OTHER, [])])
def test_ps_tells_everybody_their_own_runs(world: World, uid: int, sees: list[int]) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node.peer_uid = uid
    assert [run["job"] for run in node.ask(verb="ps")["runs"]] == sees


def test_show_tells_all_of_one_run(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.ends(job, 3)
    node.until(lambda run: run.outcome, job)
    shown = node.ask(verb="show", job=7)["run"]
    assert shown["workload"] == "slurm-demo-7-0"
    assert shown["outcome"] == {"exit": 3, "reason": "failed: rank 0 on n1 exited 3 (Error)"}
    pod: dict[str, Any] = shown["pods"]["0"]
    assert (pod["name"], pod["node"], pod["exit"], pod["suspicion"]) == (job.pod(0), "n1", 3, None)
    assert (shown["verdict"], shown["leftovers"]) == (None, [])


def test_show_of_a_requeued_job_tells_its_latest_run(world: World) -> None:
    node = world.node()
    for restart in (0, 1):
        world.running(node, world.job(restart=restart))
        assert node.epilog(world.job(restart=restart)).exit() == 0
    assert node.ask(verb="show", job=7)["run"]["restart"] == 1


@pytest.mark.parametrize("verb", ["show", "attach"])
def test_another_users_run_cannot_be_told_from_none(world: World, verb: str) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node.peer_uid = OTHER
    hidden, none = node.ask(verb=verb, job=7), node.ask(verb=verb, job=8)
    assert hidden["kind"] == none["kind"] == "error"
    assert hidden["sentence"].replace("7", "8") == none["sentence"]


def test_attach_in_a_job_that_is_not_ours_says_so_at_once(world: World) -> None:
    node = world.node()
    answer = node.ask(verb="attach", job=99)
    assert answer["sentence"].startswith("job 99 is no bridge job: no word k8s=FILE was found")


def test_attach_after_a_refusal_says_why_and_fails(world: World) -> None:
    """Where the job could not be cancelled the script starts, and attach is the one to tell."""
    node, job = world.node(), world.job()
    spec = {"path": "/home/ml/job.yaml", "error": "cannot read /home/ml/job.yaml: no such file"}
    assert node.prolog(job, spec=spec, token=None).exit() == 0
    attach = node.attach(job)
    assert attach.exit() == 1
    assert attach.end == {"kind": "end", "exit": 1, "reason": "failed: cannot read /home/ml/job.yaml: no such file"}


def test_attach_is_told_when_slurm_ends_the_job(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    attach = node.attach(job)
    world.says(job, 0, "still training")
    attach.until(lines=1)
    assert node.epilog(job).exit() == 0
    assert attach.exit() == 75
    reason = ENDED_BY_SLURM.finding("scancel, time limit or preemption").sentence
    assert attach.end is not None and attach.end["reason"] == f"ended: {reason}"


def test_two_attaches_both_get_the_end(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    first, second = node.attach(job), node.attach(job)
    world.says(job, 0, "for both")
    first.until(lines=1)
    second.until(lines=1)
    world.ends(job, 0)
    assert first.exit() == second.exit() == 0


def test_an_attach_that_went_away_holds_no_connection(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    reader = connected(node.user_socket)
    reader.send({"v": 1, "verb": "attach", "job": 7})
    assert reader.receive() == {"kind": "attached", "ranks": 1, "notices": []}
    eventually(lambda: node.connections == 1)  # a hook that was answered may not have hung up yet
    reader.close()
    eventually(lambda: node.connections == 0)


def test_last_lines_that_do_not_come_are_waited_for_and_then_told_to_be_missing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachment, "_FAILING_GRACE", 0.5)
    node, job = world.node(), world.job()
    logs = world.kube.faults.hold("pod")  # the first thing that is asked for before a log
    world.running(node, job)
    attach = node.attach(job)
    world.ends(job, 3)
    assert attach.exit() == 3
    assert attach.end is not None and attach.end["unread"] == [0]
    logs.set()


def test_the_end_does_not_wait_for_ranks_that_nobody_follows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above sixteen nodes."""
    monkeypatch.setattr(wanted, "FOLLOWED_RANKS", 1)
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    attach = first.attach(job)
    world.says(job, 0, "followed")
    world.says(job, 1, "not followed")
    world.ends(job, 0, 0)
    assert attach.exit() == 0
    assert attach.lines == [(0, "followed")]


def test_a_rank_that_is_named_is_followed_however_many_there_are(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "FOLLOWED_RANKS", 1)
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    named, all_of_them, usual = first.attach(job, ranks=[1]), first.attach(job, every=True), first.attach(job)
    assert all(attach.connected.wait(PATIENCE) for attach in (named, all_of_them, usual))
    world.says(job, 0, "zero")
    world.says(job, 1, "one")
    world.ends(job, 0, 0)
    assert named.exit() == all_of_them.exit() == usual.exit() == 0
    assert named.lines == [(1, "one")]
    assert sorted(all_of_them.lines) == [(0, "zero"), (1, "one")]


def test_a_rank_that_is_none_and_more_than_a_node_follows_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    assert node.ask(verb="attach", job=7, ranks=[0, 1])["sentence"].startswith(
        "job 7 has the ranks 0 to 0, and no rank 1"
    )
    monkeypatch.setattr(users, "_MOST_FOLLOWED", 0)
    for named in ({"every": True}, {"ranks": [0]}):
        told = node.ask(verb="attach", job=7, **named)["sentence"]
        assert told.startswith(
            "1 ranks of job 7 would have to be followed, and a node follows at most 0 of a job [too-many-ranks]; name"
        )


def test_what_several_readers_name_counts_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "_MOST_FOLLOWED", 1)
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    usual, named = first.attach(job), first.attach(job, ranks=[0])
    assert all(attach.connected.wait(PATIENCE) for attach in (usual, named))
    again = first.attach(job, ranks=[0])
    assert again.connected.wait(PATIENCE), "it is followed already"
    assert "[too-many-ranks]" in first.ask(verb="attach", job=7, ranks=[1])["sentence"]
    world.ends(job, 0, 0)
    assert usual.exit() == named.exit() == again.exit() == 0


def test_a_question_of_another_version_is_refused_with_the_cure(world: World) -> None:
    node = world.node()
    answer = node.ask(v=2, verb="ps")
    assert answer["kind"] == "error"
    assert (
        "speaks protocol 1 and none before 1, the bridgectl 2: bridged is the older one [protocol-unlike]; install"
        in answer["sentence"]
    )
    assert node.ask(v=2, verb="attach", job=7) == answer | {"kind": "mismatch"}, "a training does not end for it"


@pytest.mark.parametrize("question", [{"verb": "dance"}, {"verb": "show", "job": "seven"}, {}])
def test_a_question_that_is_none_is_refused(world: World, question: dict[str, object]) -> None:
    node = world.node()
    assert node.ask(**question)["sentence"].startswith("the question is not understood")


# -- the last lines


def test_logs_tells_the_last_lines_and_takes_none_from_attach(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.says(job, 0, "one", "two", "three")
    eventually(lambda: [len(spool.pieces) for spool in node.hub._spools.values()] == [3])
    told = node.ask(verb="logs", job=7, lines=2)
    assert told == {"kind": "log", "data": "two\nthree\n"}
    assert [spool.read for spool in node.hub._spools.values()] == [0]
    attach = node.attach(job)
    attach.until(lines=3)
    assert attach.lines == [(0, "one"), (0, "two"), (0, "three")]
    world.ends(job, 0)
    assert attach.exit() == 0


def test_logs_of_no_run_no_rank_and_no_pod(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    assert node.ask(verb="logs", job=8)["sentence"].startswith("job 8 has no run of yours on this node [no-run-here]; ")
    assert node.ask(verb="logs", job=7, rank=1)["sentence"].startswith("job 7 has the ranks 0 to 0, and no rank 1 [no")
    node.peer_uid = OTHER
    assert node.ask(verb="logs", job=7)["sentence"].startswith("job 7 has no run of yours on this node [no-run-here]; ")
    node.peer_uid = OWNER
    assert node.epilog(job).exit() == 0
    gone = node.ask(verb="logs", job=7)
    assert gone == {"kind": "gone", "sentence": "the pod of rank 0 is gone", "output": "/home/ml/slurm-7.out"}


def test_logs_of_a_cluster_that_does_not_answer_says_so(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.kube.break_down(Unavailable("no route to host"))
    told = node.ask(verb="logs", job=7)
    assert (told["kind"], "cannot be read: no route to host" in told["sentence"]) == ("error", True)
    world.kube.recover()


def test_the_worst_bytes_of_a_log_fit_into_an_answer(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.kube.write_log("slurm-jobs", job.pod(0), b"\xff" * (LAST_LOG_LIMIT + 1))
    assert len(node.ask(verb="logs", job=7)["data"]) == LAST_LOG_LIMIT


# -- what does not fit into an answer


def test_the_last_runs_are_shown_when_all_are_too_many(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node = world.node()
    for number in range(7, 12):
        world.running(node, world.job(id=number, gpus=0))
    monkeypatch.setattr(users, "_ROWS_LIMIT", 700)
    node.peer_uid = ROOT
    for verb in ("ps", "status"):
        answer = node.ask(verb=verb)
        shown = [run["job"] for run in answer["runs"]]
        assert shown == list(range(12 - len(shown), 12))
        assert 0 < len(shown) < 5
        assert answer["left_out"] == 5 - len(shown)
    monkeypatch.undo()
    answer = node.ask(verb="ps")
    assert (len(answer["runs"]), answer["left_out"]) == (5, 0)


def test_a_run_with_more_pods_than_a_frame_has_room_for_is_shown() -> None:
    """First of all those that a person would ask for."""
    count, words = 10_000, "x" * 1000
    pods = {rank: ready(rank) if rank % 100 else pulling(rank, words) for rank in range(count)}
    story = batch().created().sees(pulling(0, words))
    nodes = tuple(f"a-node-with-a-long-name-{rank}.cluster.example" for rank in range(count))
    bad = dict.fromkeys(range(0, count, 100), story.run.suspicions[0])
    run = replace(story.run, nodes=nodes, pods=pods, suspicions=bad)
    told = shown.row(run, 0.0) | shown.detail(run)
    encode({"kind": "run", "run": told})
    assert set(bad) <= set(told["pods"])
    assert (len(told["pods"]), told["pods_left_out"]) == (500, count - 500)


def test_notices_are_told_up_to_a_number_and_a_length() -> None:
    run = replace(batch().created().run, notices=("x" * 10_000,) * 10_000)
    for told in (shown.detail(run)["notices"], shown.notices(run)):
        assert (len(told), {len(notice) for notice in told}) == (100, {600})


def test_stamps_of_ranks_that_the_run_does_not_have_are_not_kept(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    reader = connected(node.user_socket)
    reader.send({"v": 1, "verb": "attach", "job": 7, "after": {str(rank): "2026" for rank in range(-5, 1000)}})
    assert reader.receive() is not None
    assert {rank for _, rank in node.hub._after} <= {0}
    reader.close()
    eventually(lambda: node.connections == 0)
