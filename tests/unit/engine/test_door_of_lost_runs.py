"""Who comes in where the journal is lost: a marker, or a hook that lingers, is all that is left of a run."""

import pytest

from bridge.store.markers import Marker

from .clients import Job
from .node import Node, eventually
from .test_door import ALIVE, LONG, unproven
from .world import World


def waits_for_the_lost_run(node: Node, job: Job) -> None:
    """The prolog of this job looks for processes of run 7, and is let in when there are none any more."""
    hook = node.prolog(job, [ALIVE])
    eventually(lambda: len(hook.scanned) > 2)
    assert job.key not in node.engine.runs
    hook.finds = ()
    answer = hook.answer()
    assert (answer["exit"], answer["released"]) == (0, [7])


@pytest.mark.parametrize("damaged", [False, True])
def test_a_run_of_which_only_the_marker_is_left_holds_the_door(world: World, damaged: bool) -> None:
    """Its epilog came to no proof, somebody resumed the node, and the journal was lost."""
    node, earlier, job = world.node(epilog_deadline=LONG), world.job(), world.job(id=8)
    unproven(world, node, earlier)
    if damaged:
        node.markers[earlier.id] = None
    node = world.anew(node)
    waits_for_the_lost_run(node, job)
    assert node.epilog(job).exit() == 0


def test_a_requeued_run_of_which_only_the_marker_is_left_holds_the_door(world: World) -> None:
    """The journal knows the job by its earlier run, which was proven gone; the hooks of the later one were both killed
    before they asked. Chaos found that (seed 40 on 47e1fa5)."""
    node, earlier, later, job = world.node(epilog_deadline=LONG), world.job(), world.job(restart=1), world.job(id=8)
    world.running(node, earlier)
    assert node.epilog(earlier).exit() == 0
    node.mark(later)
    node.crash()
    waits_for_the_lost_run(node, job)
    assert later.id not in node.markers
    assert node.epilog(job).exit() == 0


def test_a_run_whose_hooks_never_asked_the_daemon_holds_the_door(world: World) -> None:
    """Both were killed while it served: it need not begin anew to look for what they have left."""
    node, killed, job = world.node(epilog_deadline=LONG), world.job(), world.job(id=8)
    assert node.epilog(world.job(id=6)).exit() == 0
    node.mark(killed)
    waits_for_the_lost_run(node, job)
    assert node.epilog(job).exit() == 0


def test_for_a_prolog_without_gpus_no_markers_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node, read = world.node(), list[object]()

    def reading() -> dict[int, Marker | None]:
        read.append(node.markers)
        return node.markers

    monkeypatch.setattr(node.engine, "_markers", reading)
    assert node.foreign_prolog(9).exit() == 0 and not read
    assert node.prolog(world.job()).exit() == 0 and len(read) == 1


def test_a_run_of_which_only_a_lingering_hook_is_left_holds_the_door(world: World) -> None:
    """The same, and the hook that was left behind for the proof asks first."""
    node, earlier, job = world.node(epilog_deadline=LONG), world.job(), world.job(id=8)
    unproven(world, node, earlier)
    node = world.anew(node)
    lingering = node.epilog(earlier, [ALIVE], lingers=True)
    assert lingering.asked_to_scan.wait(5)
    hook = node.prolog(job, [ALIVE])
    eventually(lambda: len(lingering.scanned) > 2)
    assert hook.waits and job.key not in node.engine.runs
    lingering.finds = ()
    assert (lingering.exit(), lingering.answer()["released"], hook.exit()) == (0, [7], 0)
    assert node.epilog(job).exit() == 0


def test_a_lost_run_without_gpus_is_not_ended_by_a_job_that_gets_some(world: World) -> None:
    node, beside, job = world.node(), world.job(gpus=0), world.job(id=8)
    world.running(node, beside)
    node = world.anew(node)
    assert node.prolog(job).answer()["released"] == []
    assert node.foreign_prolog(9).answer()["released"] == []
    assert 7 in node.markers and len(world.workloads()) == 2
    assert [node.epilog(each).exit() for each in (job, beside)] == [0, 0]


def test_a_lost_run_with_gpus_is_not_ended_by_a_job_without(world: World) -> None:
    node, training, beside = world.node(), world.job(), world.job(id=8, gpus=0)
    world.running(node, training)
    node = world.anew(node)
    assert node.prolog(beside).answer()["released"] == []
    assert 7 in node.markers and len(world.workloads()) == 2
    assert [node.epilog(each).exit() for each in (beside, training)] == [0, 0]


def test_a_run_whose_prolog_was_killed_at_the_door_is_not_ended_by_a_job_without_gpus(world: World) -> None:
    """Its marker was seen as it arrived itself."""
    node, earlier, killed = world.node(epilog_deadline=LONG), world.job(), world.job(id=8)
    unproven(world, node, earlier)
    hook = node.mortal_prolog(killed)
    eventually(lambda: node.engine.waiting_hooks)
    hook.dies()
    assert node.foreign_prolog(9).answer()["released"] == [7]
    assert killed.key not in node.engine.runs
    assert node.prolog(world.job(id=10)).answer()["released"] == [8]


def test_a_lost_run_whose_own_hook_is_here_is_not_ended_by_another(world: World) -> None:
    """Its epilog knows more of it than the marker."""
    node, earlier, job = world.node(), world.job(), world.job(id=8)
    world.running(node, earlier)
    node = world.anew(node)
    epilog = node.epilog(earlier, may_scan=False)
    assert epilog.asked_to_scan.wait(5)
    hook = node.prolog(job)
    epilog.may_scan.set()
    assert epilog.exit() == hook.exit() == 0
    assert node.epilog(job).exit() == 0
