"""Whatever goes wrong once where a hook reaches out, and wherever it is killed there: nothing is lost, and the node
comes back. The hooks are processes as slurmd starts them, and the daemon is a whole one over the fakes."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bridge.config import Config
from bridge.errors import Unavailable
from bridge.store.markers import Marker, all_there, marker
from tests.failpoints.hooks import PLACES, possible
from tests.unit.hook.stage import ML, Stage, needs_root, play

from .clients import Job
from .node import Node, eventually
from .story import SPEC
from .strikes import each_time
from .test_administrator import administrator
from .world import World, config

pytestmark = needs_root

_SECONDS = 15.0


class _OnDisk(dict[int, Marker | None]):
    """The markers that real hooks write and remove."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __contains__(self, job_id: object) -> bool:
        return job_id in all_there(self._folder)

    def __getitem__(self, job_id: int) -> Marker | None:
        return marker(self._folder, job_id)

    def get(self, job_id: int, _default: object = None) -> Marker | None:
        return marker(self._folder, job_id)

    def copy(self) -> dict[int, Marker | None]:
        return all_there(self._folder)


class Slurmd:
    """Of one node: it runs the hooks, and an epilog after each prolog, however that ended."""

    def __init__(self, world: World, stage: Stage) -> None:
        self.world, self.stage = world, stage
        stage.scontrol_says('[ "$1" != token ] || echo SLURM_JWT=a.b.c')
        stage.spec(SPEC.decode())

    def has(self, node: Node) -> Node:
        """This is the node."""
        self._node = node
        self.stage.socket = node.hook_socket
        node.markers = _OnDisk(self.stage.markers)
        return node

    def guarding(self, device: Path) -> Config:
        """One that lets nobody hold this, and drains its node for it."""
        token = self.stage.root / "token"
        token.touch(0o600)
        token.write_text("SLURM_JWT=administrators")
        self.world.rest.administrators.add("slurm")
        given = administrator(config(epilog_deadline=1.0), token)
        return given.model_copy(update={"gpu": given.gpu.model_copy(update={"device_files": (str(device),)})})

    def run(self, phase: str, job: Job) -> int:
        """The exit code of a hook, below 0 where it was killed."""
        hook = self.stage.hook(phase, self._env(job), prolog=_SECONDS, epilog=_SECONDS, foreign=_SECONDS, again=0.1)
        hook.process.communicate(timeout=2 * _SECONDS)
        return int(hook.process.returncode)

    def job(self, id: int = 7, gpus: int = 2) -> Job:
        """One that slurmctld has started, with its output in the user's home."""
        job = self.world.job(id=id, gpus=gpus)
        self.world.rest.update(id, stdout=str(self.stage.home / "out"))
        return job

    def is_over(self, job: Job) -> None:
        """To slurmctld."""
        self.world.rest.update(job.id, states=frozenset({"COMPLETED"}))

    def ends(self, job: Job) -> None:
        """It is over, and its epilog lets the node go."""
        self.is_over(job)
        assert self.run("epilog", job) == 0
        self.is_free()

    def is_free(self) -> None:
        """Nothing is left in Kubernetes, and no marker."""
        eventually(lambda: self.world.is_empty)
        assert self.stage.marked() == []

    def _env(self, job: Job) -> dict[str, str]:
        return job.env(self._node.name) | {
            "SLURM_JOB_UID": str(ML),
            "SLURM_JOB_GID": str(ML),
            "SLURM_JOB_WORK_DIR": str(self.stage.home),
            "SLURM_JOB_STDOUT": str(self.stage.home / "out"),
            "SLURM_JOB_COMMENT": "my words, k8s=train.yaml",
        }


@pytest.fixture
def stage() -> Iterator[Stage]:
    root = Path(tempfile.mkdtemp(prefix="hook-"))
    yield from play(root)
    eventually(lambda: _is_removed(root))


def _is_removed(root: Path) -> bool:
    """A child of the last epilog may still leave its time line there."""
    shutil.rmtree(root, ignore_errors=True)
    return not root.exists()


@pytest.fixture
def slurmd(world: World, stage: Stage) -> Slurmd:
    return Slurmd(world, stage)


def a_job(slurmd: Slurmd, failpoint: str) -> Path:
    """Whatever became of its prolog, its epilog follows: where that failed, slurmd drains the node and ends the job."""
    slurmd.has(slurmd.world.node())
    job, struck = slurmd.job(), slurmd.stage.arms(failpoint)
    slurmd.run("prolog", job)
    assert slurmd.stage.marked() == ["7"] or not slurmd.world.workloads_ever()
    slurmd.ends(job)
    return struck


def a_job_whose_epilog_is_harmed(slurmd: Slurmd, failpoint: str) -> Path:
    """Its node may be drained then; the next job has all of the node, and whatever the epilog left is taken away."""
    slurmd.has(slurmd.world.node())
    job = slurmd.job()
    assert slurmd.run("prolog", job) == 0
    slurmd.world.ends(job, 0)
    struck = slurmd.stage.arms(failpoint)
    slurmd.is_over(job)
    if slurmd.run("epilog", job) == 0:
        eventually(lambda: slurmd.world.is_empty)
    following = slurmd.job(id=8)
    assert slurmd.run("prolog", following) == 0
    slurmd.ends(following)
    return struck


def a_spec_that_nobody_can_use(slurmd: Slurmd, failpoint: str) -> Path:
    slurmd.has(slurmd.world.node())
    slurmd.stage.spec("kind: Sonata")
    job, struck = slurmd.job(), slurmd.stage.arms(failpoint)
    assert slurmd.run("prolog", job) in (0, -signal.SIGKILL)
    assert slurmd.world.workloads_ever() == 0
    slurmd.ends(job)
    return struck


def a_fault_that_all_nodes_share(slurmd: Slurmd, failpoint: str) -> Path:
    """The job goes back into the queue, by the hook's hand; one that came before goes on."""
    world = slurmd.world
    node = slurmd.has(world.node(breaker_after=0.001, breaker_patience=1.0))
    first, second = slurmd.job(gpus=0), slurmd.job(id=8, gpus=0)
    world.kube.faults.outage = Unavailable("no answer from the API server")
    waiting = node.prolog(first)
    node.until(lambda run: run.tried("node") >= 2, first)
    struck = slurmd.stage.arms(failpoint)
    assert slurmd.run("prolog", second) in (0, -signal.SIGKILL)
    world.kube.faults.outage = None
    assert waiting.exit() == 0
    assert node.epilog(first).exit() == 0
    slurmd.ends(second)
    return struck


def a_process_that_stays(slurmd: Slurmd, failpoint: str) -> Path:
    """Of the job's user, with a device in its hands: the node is drained until it is gone."""
    device = slurmd.stage.root / "device"
    device.touch(mode=0o666)
    slurmd.has(slurmd.world.node(given=slurmd.guarding(device)))
    job = slurmd.job()
    assert slurmd.run("prolog", job) == 0
    struck = slurmd.stage.arms(failpoint)
    slurmd.is_over(job)
    with device.open() as held, subprocess.Popen(["sleep", "60"], stdin=held, user=ML) as process:
        assert slurmd.run("epilog", job) != 0
        process.kill()
    following = slurmd.job(id=8)
    assert slurmd.run("prolog", following) == 0
    slurmd.ends(following)
    return struck


Lifecycle = Callable[[Slurmd, str], Path]

# Each place once, in a lifecycle that comes to it.
LIFECYCLES: dict[Lifecycle, tuple[str, ...]] = {
    a_job: (
        "hook.account.look_up",
        "hook.daemon.ask",
        "hook.daemon.hear",
        "hook.marker.write",
        "hook.spec.read",
        "hook.token.mint",
    ),
    a_job_whose_epilog_is_harmed: (
        "hook.daemon.tell",
        "hook.marker.present",
        "hook.marker.read",
        "hook.marker.remove",
        "hook.node.scan",
        "hook.timeline.leave",
    ),
    a_spec_that_nobody_can_use: ("hook.output.append",),
    a_fault_that_all_nodes_share: ("hook.slurm.requeue",),
    a_process_that_stays: ("hook.linger",),
}


def test_each_place_has_a_lifecycle_that_comes_to_it() -> None:
    places = [place for harmed in LIFECYCLES.values() for place in harmed]
    assert sorted(places) == sorted(PLACES)


@pytest.mark.parametrize(
    ("lifecycle", "failpoint"),
    [
        pytest.param(lifecycle, failpoint, id=name)
        for lifecycle, places in LIFECYCLES.items()
        for place in places
        for failpoint in possible(place)
        for name in each_time(failpoint)
    ],
)
def test_nothing_is_lost_and_the_node_comes_back(slurmd: Slurmd, lifecycle: Lifecycle, failpoint: str) -> None:
    struck = lifecycle(slurmd, failpoint)
    assert struck.exists()
    assert slurmd.world.workloads_ever() <= 2
