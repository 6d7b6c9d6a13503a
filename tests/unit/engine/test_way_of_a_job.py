"""Jobs the whole way over real sockets: prolog, gates, output, exit code, epilog, and nothing left."""

from bridge import wellknown
from bridge.kube.api import Object

from .node import eventually
from .world import World

LET_THROUGH = {"kind": "answer", "exit": 0, "message": None, "output": None, "requeue": None} | {
    "linger": False,
    "released": [],
    "released_runs": [],
}
RELEASED = {"released": [7], "released_runs": [[7, 0, 1_700_000_000]]}


def placed_by(pod: Object) -> tuple[str, str]:
    """The node that a pod runs on, and the rank that its gate's opener wrote."""
    return pod["spec"]["nodeName"], pod["metadata"]["annotations"][wellknown.ANNOTATION_NODE_RANK]


def test_one_node(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job).answer() == LET_THROUGH
    attach = node.attach(job)
    world.says(job, 0, "one", "two")
    world.ends(job, 0)
    assert attach.exit() == 0
    assert attach.lines == [(0, "one"), (0, "two")]
    assert attach.end == {"kind": "end", "exit": 0, "reason": "finished: 1/1 ranks exited 0"}
    said = "my words, k8s=job.yaml | k8s: finished: 1/1 ranks exited 0; ready after 0 s"
    eventually(lambda: world.comment(job) == said)
    epilog = node.epilog(job)
    left = epilog.answer().pop("timeline")
    assert left["output"] == "/home/ml/slurm-7.out"
    assert epilog.answer() == LET_THROUGH | RELEASED
    (scan,) = epilog.scanned
    assert scan["devices"] == ["/dev/fakegpu*"]
    assert len(scan["pods"]) == 1
    world.left_nothing()


def test_two_nodes(world: World) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.answer() == member.answer() == LET_THROUGH
    assert [placed_by(pod) for pod in world.pods()] == [("n1", "0"), ("n2", "1")]
    eventually(lambda: "2/2 pods ready on n1,n2 after" in world.comment(job))
    attach = first.attach(job)
    world.says(job, 1, "one of one", "one of two")
    world.says(job, 0, "zero of one")
    world.ends(job, 0, 0)
    assert attach.exit() == 0
    assert attach.of(0) == ["zero of one"]
    assert attach.of(1) == ["one of one", "one of two"]
    at_first, at_second = first.epilog(job), second.epilog(job)
    assert "timeline" not in at_second.answer(), "one node knows it all, and one writes it"
    assert at_first.answer().pop("timeline")
    assert at_first.answer() == at_second.answer() == LET_THROUGH | RELEASED
    assert at_first.scanned[0]["pods"] != at_second.scanned[0]["pods"], "each node looks for its own pod"
    world.left_nothing()
    assert world.calls("create_workload") == 1


def test_rank_order_is_slurms_node_order(world: World) -> None:
    nodes = [world.node("n1"), world.node("n2")]
    job = world.job("n2", "n1")
    hooks = [node.prolog(job) for node in nodes]
    assert [hook.exit() for hook in hooks] == [0, 0]
    assert [placed_by(pod) for pod in world.pods()] == [("n2", "0"), ("n1", "1")]
    assert [hook.exit() for hook in [node.epilog(job) for node in nodes]] == [0, 0]


def test_a_gate_is_opened_by_its_own_node_alone(world: World) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch = first.prolog(job)
    run = first.until(lambda run: run.own_pod is not None and run.own_pod.ready, job)
    assert run.pods[1].gate is not None, "the node of rank 1 has not consented"
    assert batch.waits
    member = second.prolog(job)
    assert batch.exit() == member.exit() == 0
    assert [hook.exit() for hook in (first.epilog(job), second.epilog(job))] == [0, 0]


def test_the_first_failing_rank_is_the_exit_code(world: World) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    attach = first.attach(job)
    world.says(job, 1, "about to fail")
    world.ends(job, 0, 3)
    assert attach.exit() == 3
    assert attach.lines == [(1, "about to fail")]
    eventually(lambda: "failed: rank 1 on n2 exited 3 (Error)" in world.comment(job))
    assert [hook.exit() for hook in (first.epilog(job), second.epilog(job))] == [0, 0]
    world.left_nothing()


def test_attach_works_on_a_member_node(world: World) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    attach = second.attach(job)
    world.says(job, 0, "from the other node")
    world.ends(job, 0, 0)
    assert attach.exit() == 0
    assert attach.lines == [(0, "from the other node")]
    assert [hook.exit() for hook in (first.epilog(job), second.epilog(job))] == [0, 0]


def test_two_jobs_one_after_the_other(world: World) -> None:
    node = world.node()
    for number in (7, 8):
        job = world.job(id=number)
        assert node.prolog(job).exit() == 0
        assert node.epilog(job).answer()["released"] == [number]
    world.left_nothing()
    assert world.calls("create_workload") == 2


def test_a_requeued_job_is_another_run_and_finds_its_token(world: World) -> None:
    node = world.node()
    for restart in (0, 1):
        job = world.job(start=1_700_000_000 + restart, restart=restart)
        assert node.prolog(job).exit() == 0
        assert world.workloads() == [f"slurm-demo-7-{restart}"]
        assert node.epilog(job).exit() == 0


def test_a_bad_spec_is_told_and_the_job_is_cancelled(world: World) -> None:
    node, job = world.node(), world.job()
    spec = {"path": "/home/ml/job.yaml", "error": "cannot read /home/ml/job.yaml: no such file"}
    answer = node.prolog(job, spec=spec).answer()
    assert (answer["exit"], answer["output"]) == (0, "/home/ml/slurm-7.out")
    assert "no such file" in answer["message"]
    assert "CANCELLED" in world.rest.jobs[7].states
    assert "k8s: failed: cannot read" in world.comment(job)
    assert node.epilog(job).exit() == 0
    assert world.calls("create_workload") == 0


def test_tier_none_reports_nothing_and_runs_all_the_same(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job, token=None, token_error="scontrol token is forbidden here").exit() == 0
    assert node.epilog(job, token=None).exit() == 0
    assert world.rest.faults.calls == []
    assert world.comment(job) == "my words, k8s=job.yaml"


def test_a_token_that_attach_brings_tells_what_the_prolog_could_not(world: World) -> None:
    """`scontrol token` fails while slurmctld begins anew: the job's own script has better luck a moment later."""
    node, job = world.node(), world.job()
    assert node.prolog(job, token=None, token_error="scontrol token gave no answer").exit() == 0
    assert world.comment(job) == "my words, k8s=job.yaml"
    attach = node.attach(job, token="owner's")
    eventually(lambda: "k8s: 1/1 pods ready" in world.comment(job))
    world.ends(job, 3)
    assert attach.exit() == 3
    eventually(lambda: "rank 0" in world.comment(job))
    assert node.epilog(job).exit() == 0


def test_a_token_that_attach_brings_to_another_node_has_that_node_tell_nothing(world: World) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2", gpus=0)
    hooks = [node.prolog(job, token=None, token_error="scontrol token gave no answer") for node in (first, second)]
    assert [hook.exit() for hook in hooks] == [0, 0]
    attach = second.attach(job, token="owner's")
    second.until(lambda run: run.attached, job)
    assert not second.run(job).reporting
    world.ends(job, 0, 0)
    assert attach.exit() == 0
    assert [node.epilog(job).exit() for node in (first, second)] == [0, 0]
    assert world.rest.faults.calls == []


def test_what_one_run_asks_of_the_api_server(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job).exit() == 0
    world.ends(job, 0)
    assert node.epilog(job).exit() == 0
    budgeted = [verb for verb in world.kube.faults.calls if not verb.startswith("watch_") and verb != "pod"]
    assert sorted(budgeted) == ["create_workload", "delete_workload", "list_pods", "node", "patch_pod"]
