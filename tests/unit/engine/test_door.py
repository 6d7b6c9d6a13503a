"""Who comes in: nobody over a run that is not proven gone."""

from bridge import clock
from bridge.engine import events
from bridge.engine.state import Phase

from .clients import Job
from .node import Node, eventually
from .world import World

LET_THROUGH = {"kind": "answer", "exit": 0, "message": None, "output": None, "requeue": None} | {
    "linger": False,
    "released": [],
    "released_runs": [],
}
RELEASED = {"released": [7], "released_runs": [[7, 0, 1_700_000_000]]}
ALIVE = (4711, "cgroup of the run's pod")
LONG = 60.0  # seconds that an epilog may wait here: none comes to it but by having begun so long ago


def unproven(world: World, node: Node, job: Job) -> None:
    """A run whose epilog came to its deadline before anything was proven."""
    world.running(node, job)
    assert node.epilog(job, began=clock.now() - LONG).exit() == 1
    assert node.run(job).phase is Phase.RELEASE


def test_a_foreign_prolog_passes_at_once(world: World) -> None:
    node = world.node()
    assert node.foreign_prolog(8).answer() == LET_THROUGH


def test_a_foreign_prolog_passes_beside_a_run_that_is_well(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    assert node.foreign_prolog(8).answer()["released"] == []
    assert node.epilog(job).exit() == 0
    assert node.foreign_prolog(9).exit() == 0


def test_a_foreign_prolog_does_the_missing_scan_itself(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG), world.job()
    unproven(world, node, job)
    hook = node.foreign_prolog(8)
    assert hook.answer() == LET_THROUGH | RELEASED
    assert len(hook.scanned) == 1
    assert node.run(job).phase is Phase.RELEASED


def test_a_marker_is_told_to_be_removed_while_it_is_there(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG), world.job()
    unproven(world, node, job)
    assert node.foreign_prolog(8).answer()["released"] == [7]
    assert node.foreign_prolog(9).answer()["released"] == []


def test_a_marker_that_the_epilog_removed_is_not_told_again(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    assert node.epilog(job).answer()["released"] == [7]
    node.engine.came(node.run(job), events.Attached(clock.now()))  # a late word about it
    node.until(lambda run: run.attached, job)
    assert node.foreign_prolog(8).answer()["released"] == []
    node.crash()
    assert node.foreign_prolog(8).answer()["released"] == []


def test_a_marker_that_nobody_removed_is_told_after_a_restart(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG), world.job()
    unproven(world, node, job)
    hook = node.mortal_foreign_prolog(8)
    number = hook.hears()["id"]
    node.perils.strike_after("scanned")
    hook.says({"v": 1, "kind": "scanned", "id": number})
    eventually(lambda: node.lives == 1)
    hook.dies()
    assert node.foreign_prolog(9).answer()["released"] == [7]


def test_a_bridge_prolog_waits_scans_and_begins(world: World) -> None:
    node, job, following = world.node(epilog_deadline=LONG), world.job(), world.job(id=8)
    unproven(world, node, job)
    hook = node.prolog(following)
    assert hook.answer()["released"] == [7]
    assert len(hook.scanned) == 1
    assert node.epilog(following).exit() == 0


def test_nobody_passes_while_a_process_is_alive_until_the_deadline(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG, prolog_deadline=0.5), world.job()
    unproven(world, node, job)
    hook = node.foreign_prolog(8, [ALIVE])
    answer = hook.answer()
    assert answer["exit"] == 1
    assert "an earlier run (slurm-demo-7-0) is not proven gone" in answer["message"]
    assert answer["released"] == []
    assert len(hook.scanned) > 1


def test_nobody_passes_over_an_unproven_run_with_an_environment_that_cannot_be_read(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG), world.job()
    unproven(world, node, job)
    following = world.job(id=8)
    hook = node.prolog(following, env=following.env("n1") | {"SLURM_JOB_COMMENT": "k8s=job.yaml" + "x" * 9000})
    answer = hook.answer()
    assert "at most 8192 are read" in answer["message"]
    assert (answer["exit"], answer["released"], len(hook.scanned)) == (0, [7], 1)


def test_an_environment_larger_than_anything_is_the_jobs_fault(world: World) -> None:
    """Whatever a user got into it: never the node's."""
    node, job = world.node(), world.job()
    for variable in ("SLURM_JOB_NODELIST", "SLURM_JOB_EXTRA", "SLURM_JOB_WORK_DIR"):
        answer = node.prolog(job, env=job.env("n1") | {variable: "n" * 300_000}).answer()
        assert answer["exit"] == 0
        assert "300000 characters" in answer["message"]
    assert node.epilog(job, env=job.env("n1") | {"SLURM_JOB_EXTRA": "n" * 300_000}).exit() == 0


def test_nobody_passes_over_an_unproven_run_after_a_restart(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG), world.job()
    unproven(world, node, job)
    node.crash()
    hook = node.foreign_prolog(8)
    assert (hook.exit(), len(hook.scanned)) == (0, 1)


def test_an_epilog_at_work_holds_no_other_jobs_prolog(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    epilog = node.epilog(job, may_scan=False)
    assert epilog.asked_to_scan.wait(5)
    assert node.foreign_prolog(8).exit() == 0
    epilog.may_scan.set()
    assert epilog.exit() == 0


def test_a_prolog_that_is_in_comes_in_again_whatever_has_happened_meanwhile(world: World) -> None:
    """Its daemon was killed; the other job's epilog comes back later than it does."""
    first, second = world.node("n1"), world.node("n2")
    other, job = world.job(id=7), world.job("n1", "n2", id=8, gpus=0)
    world.running(first, other)
    hook = first.prolog(job, [ALIVE])
    first.until(lambda run: run.own_pod is not None and run.own_pod.ready, job)
    epilog = first.mortal_epilog(other)
    first.until(lambda run: run.phase is Phase.RELEASE, other)
    epilog.dies()
    first.crash()
    member = second.prolog(job)
    assert hook.exit() == member.exit() == 0
    assert first.run(other).phase is Phase.RELEASE, "its answer did not hang on the other run"
    assert [node.epilog(job).exit() for node in (first, second)] == [0, 0]


def test_a_job_with_gpus_waits_for_an_epilog_at_work_on_a_run_that_has_them(world: World) -> None:
    """slurmctld has lost the run's job: it has slurmd end it, and takes the node for idle at once."""
    node, job, following = world.node(), world.job(), world.job(id=8)
    world.running(node, job)
    epilog = node.epilog(job, may_scan=False)
    assert epilog.asked_to_scan.wait(5)
    hook = node.prolog(following)
    eventually(lambda: node.engine.waiting_hooks == 2)
    assert following.key not in node.engine.runs
    epilog.may_scan.set()
    assert epilog.exit() == hook.exit() == 0
    assert node.epilog(following).exit() == 0


def test_a_run_that_is_found_while_its_prolog_waits_comes_in_no_sooner(world: World) -> None:
    """Another node has made its workload, and its hook has left the marker."""
    first, second = world.node("n1"), world.node("n2", epilog_deadline=LONG, reconcile_period=0.03)
    earlier, job = world.job("n2"), world.job("n1", "n2", id=8)
    unproven(world, second, earlier)
    hooks = [first.prolog(job), second.prolog(job, [ALIVE])]
    eventually(lambda: len(world.pods()) == 2)
    second.reconciler.reconcile()
    second.until(lambda run: run.adopted, job)
    eventually(lambda: len(hooks[1].scanned) > 2)
    assert second.run(job).adopted and second.run(earlier).phase is Phase.RELEASE
    assert world.pods()[1]["spec"]["schedulingGates"]
    hooks[1].finds = ()
    assert [hook.exit() for hook in hooks] == [0, 0]
    assert second.run(earlier).phase is Phase.RELEASED
    assert [node.epilog(job).exit() for node in (first, second)] == [0, 0]


def test_gpus_given_to_another_job_end_a_run_whose_epilog_never_came(world: World) -> None:
    """slurmctld waits for no epilog of a node that was down, and gives its GPUs to the next job."""
    node, old, new = world.node(), world.job(id=7), world.job(id=8)
    world.running(node, old)
    assert node.prolog(new).exit() == 0
    assert node.run(old).phase is Phase.RELEASED
    assert node.epilog(new).exit() == 0


def test_a_restart_of_the_job_ends_the_run_before_it(world: World) -> None:
    node, old = world.node(), world.job(gpus=0)
    world.running(node, old)
    again = world.job(restart=1, gpus=0)
    assert node.prolog(again).exit() == 0
    assert node.run(old).phase is Phase.RELEASED
    assert node.epilog(again).exit() == 0


def test_a_job_without_gpus_beside_a_run_is_no_sign_of_its_end(world: World) -> None:
    node, training, beside = world.node(), world.job(id=7), world.job(id=8, gpus=0)
    world.running(node, training)
    assert node.prolog(beside).exit() == 0
    assert node.run(training).phase is Phase.RUNNING
    assert [node.epilog(job).exit() for job in (training, beside)] == [0, 0]


def test_a_job_with_gpus_is_none_for_a_run_without(world: World) -> None:
    node, training, beside = world.node(), world.job(id=7, gpus=0), world.job(id=8)
    world.running(node, training)
    assert node.prolog(beside).exit() == 0
    assert node.run(training).phase is Phase.RUNNING
    assert [node.epilog(job).exit() for job in (training, beside)] == [0, 0]


def test_a_damaged_marker_of_a_run_that_the_journal_knows_says_nothing_against_it(world: World) -> None:
    node, training, job = world.node(), world.job(gpus=0), world.job(id=8)
    world.running(node, training)
    node.markers[training.id] = None
    node.stop()
    node = world.successor(node)
    assert node.prolog(job).exit() == 0
    assert node.run(training).phase is Phase.RUNNING
    assert [node.epilog(each).exit() for each in (training, job)] == [0, 0]


def test_two_prologs_at_the_door_scan_once_and_both_pass(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG), world.job()
    unproven(world, node, job)
    hooks = [node.foreign_prolog(8), node.foreign_prolog(9)]
    assert [hook.exit() for hook in hooks] == [0, 0]
    assert sum(len(hook.scanned) for hook in hooks) == 1


def test_a_scan_whose_hook_was_answered_and_killed_is_asked_for_again(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG, prolog_deadline=1), world.job()
    unproven(world, node, job)
    hook = node.mortal_foreign_prolog(8)
    assert [hook.hears()["kind"] for _ in range(2)] == ["scan", "answer"]
    hook.dies()
    assert node.foreign_prolog(9).exit() == 0
