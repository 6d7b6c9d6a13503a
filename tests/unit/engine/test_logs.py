"""The kept output: bounded, and neither lost nor doubled."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bridge.engine import logs
from bridge.engine.logs import SPOOL_LIMIT, LogHub
from bridge.engine.state import Phase, Unattended
from bridge.errors import Forbidden
from bridge.job.ids import RunKey
from bridge.kube.api import LogPiece
from tests.fakes.cluster import FakeCluster
from tests.fakes.kubernetes import FakeKubernetes

from .clients import PATIENCE
from .node import eventually
from .story import batch
from .world import NAMESPACE, World

KEY = RunKey("demo", 7, 0)
POD = "slurm-demo-7-0-worker-0"


class Spooling:
    """A hub that follows one pod."""

    def __init__(self) -> None:
        self.kube = FakeKubernetes()
        self.cluster = FakeCluster(self.kube)
        metadata = {"name": POD, "namespace": NAMESPACE, "labels": {}}
        self.kube.put("pod", {"metadata": metadata, "spec": {"containers": [{"name": "pytorch"}]}, "status": {}})
        self.hub = LogHub(self.kube)
        self.stop = threading.Event()
        self.position = 0
        self._threads: list[threading.Thread] = []

    def follows(self, *, has_reader: bool = False) -> None:
        told = (KEY, 0, NAMESPACE, POD, self.stop, bool)
        follow = threading.Thread(target=self.hub.follow, args=told, kwargs={"has_reader": has_reader})
        self._threads.append(follow)
        follow.start()

    def prints(self, *lines: bytes) -> None:
        self.kube.write_log(NAMESPACE, POD, *lines)

    def reads(self) -> tuple[list[bytes], bool]:
        """What is new, once something is: the lines, and whether the rank has said all."""
        taken: tuple[list[LogPiece], int, bool] = ([], 0, False)

        def take() -> bool:
            nonlocal taken
            taken = self.hub.take(KEY, 0, self.position)
            return bool(taken[0] or taken[2])

        with self.hub.changed:
            assert self.hub.changed.wait_for(take, PATIENCE)
        lines, self.position, ended = taken
        return [line.data for line in lines], ended

    def reads_all(self) -> list[bytes]:
        """Until the rank has said all."""
        said: list[bytes] = []
        ended = False
        while not ended:
            lines, ended = self.reads()
            said += lines
        return said

    def ends(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def spooling() -> Iterator[Spooling]:
    spooling = Spooling()
    yield spooling
    spooling.ends()


def kept(spooling: Spooling) -> int:
    """How many lines are in memory."""
    return len(spooling.hub._spools[KEY, 0].pieces)


def test_the_follower_waits_when_nobody_reads(spooling: Spooling) -> None:
    lines = [b"%06d " % number + b"x" * 10_000 for number in range(300)]
    spooling.prints(*lines)
    spooling.cluster.end(POD, 0)
    spooling.follows()
    eventually(lambda: kept(spooling) >= SPOOL_LIMIT // 12_000)
    assert spooling.hub._spools[KEY, 0].size <= SPOOL_LIMIT
    assert not spooling.hub._spools[KEY, 0].ended
    assert spooling.reads_all() == lines


def test_short_lines_cost_memory_too(spooling: Spooling) -> None:
    """A line of one byte is kept in some two hundred."""
    lines = [b"\n"] * 20_000
    spooling.prints(*lines)
    spooling.cluster.end(POD, 0)
    spooling.follows()
    eventually(lambda: kept(spooling) > 1000)
    with spooling.hub.changed:
        assert not spooling.hub.changed.wait_for(lambda: kept(spooling) > SPOOL_LIMIT // 200, 0.1)
    assert spooling.reads_all() == lines


def test_what_was_read_goes_when_room_is_needed(spooling: Spooling) -> None:
    spooling.follows()
    for number in range(5):
        spooling.prints(b"%d" % number + b"x" * (SPOOL_LIMIT // 2))
        assert len(spooling.reads()[0]) == 1
    assert kept(spooling) == 1


def test_a_second_reader_gets_all_that_is_kept(spooling: Spooling) -> None:
    spooling.follows()
    spooling.prints(b"one", b"two")
    while spooling.position < 2:
        spooling.reads()
    spooling.position = 0
    assert spooling.reads()[0] == [b"one", b"two"]


def test_a_restarted_daemon_follows_from_where_the_reader_was(spooling: Spooling) -> None:
    spooling.prints(b"one", b"two", b"three")
    spooling.cluster.end(POD, 0)
    log = list(spooling.kube.follow_log(NAMESPACE, POD, "pytorch", "", spooling.stop))
    spooling.hub.resume(KEY, {0: log[1].position})
    spooling.follows()
    assert spooling.reads_all() == [b"three"]


def test_a_follower_that_broke_goes_on_where_it_was(spooling: Spooling) -> None:
    spooling.prints(b"one")
    spooling.follows()
    assert spooling.reads()[0] == [b"one"]
    spooling.ends()
    spooling.stop.clear()
    spooling.prints(b"two")
    spooling.cluster.end(POD, 0)
    spooling.follows()
    assert spooling.reads_all() == [b"two"]


def test_a_pod_that_is_gone_has_said_all(spooling: Spooling) -> None:
    spooling.prints(b"one")
    spooling.follows()
    assert spooling.reads()[0] == [b"one"]
    spooling.kube.remove("pod", NAMESPACE, POD)
    assert spooling.reads() == ([], True)


def test_a_released_run_leaves_nothing_in_memory(spooling: Spooling) -> None:
    spooling.hub.resume(KEY, {0: "2026", 1: "2026"})
    spooling.follows()
    spooling.prints(b"one")
    spooling.reads()
    spooling.stop.set()
    spooling.hub.drop(KEY)
    spooling.hub.follow(KEY, 0, NAMESPACE, POD, spooling.stop, bool)  # it was about to begin when it was stopped
    assert not spooling.hub._spools
    assert not spooling.hub._after
    assert not spooling.hub._readers


def test_a_new_daemon_waits_until_the_reader_of_the_old_one_has_come_again(spooling: Spooling) -> None:
    """Else it would read a log of hours again, of which the kubelet gives only the newest file."""
    spooling.prints(b"one", b"two", b"three")
    spooling.cluster.end(POD, 0)
    log = list(spooling.kube.follow_log(NAMESPACE, POD, "pytorch", "", spooling.stop))
    spooling.follows(has_reader=True)
    with spooling.hub.changed:
        assert not spooling.hub.changed.wait_for(lambda: spooling.hub._spools, 0.1)
    spooling.hub.resume(KEY, {0: log[1].position})
    assert spooling.reads_all() == [b"three"]
    assert spooling.hub.start(KEY, 0, log[1].position) == 0


def test_a_reader_that_comes_again_to_the_same_daemon_goes_on_behind_what_it_had(spooling: Spooling) -> None:
    spooling.prints(b"one", b"two", b"three")
    spooling.cluster.end(POD, 0)
    spooling.follows()
    assert spooling.reads_all() == [b"one", b"two", b"three"]
    log = list(spooling.kube.follow_log(NAMESPACE, POD, "pytorch", "", spooling.stop))
    assert [spooling.hub.start(KEY, 0, piece.position) for piece in log] == [1, 2, 3]
    assert spooling.hub.start(KEY, 0, "") == spooling.hub.start(KEY, 1, "") == 0


def test_a_reader_that_comes_too_late_is_told_of_the_gap_once(spooling: Spooling) -> None:
    spooling.follows()
    for number in range(3):
        spooling.prints(b"%d" % number + b"x" * (SPOOL_LIMIT // 2))
        spooling.reads()
    for position in (0, spooling.hub.start(KEY, 0, "2025-01-01T00:00:00Z 1 0")):
        with spooling.hub.changed:
            pieces, number, _ = spooling.hub.take(KEY, 0, position)
            assert [piece.gap for piece in pieces] == [True, False]
            assert spooling.hub.take(KEY, 0, number) == ([], number, False)


def test_a_new_daemon_waits_for_the_reader_of_a_script_that_is_at_work(spooling: Spooling) -> None:
    spooling.prints(b"one", b"two")
    spooling.hub.expect([KEY])
    spooling.follows()
    with spooling.hub.changed:
        assert not spooling.hub.changed.wait_for(lambda: spooling.hub._spools, 0.1)
    spooling.hub.resume(KEY, {})
    assert spooling.reads()[0] == [b"one", b"two"]


def test_who_may_have_a_reader_from_before() -> None:
    """A journal that was lost, or put back from a backup, does not say that `attach` has been there."""
    waiting = batch().created().run
    running = replace(waiting, phase=Phase.RUNNING)
    assert not waiting.may_have_reader and not running.may_have_reader
    for change in ({"attached": True}, {"adopted": True}, {"unattended": Unattended()}):
        assert replace(running, **change).may_have_reader


class Crowd:
    """A hub that follows one pod of each of many runs."""

    def __init__(self, count: int) -> None:
        self.kube = FakeKubernetes()
        self.hub = LogHub(self.kube)
        self.stop = threading.Event()
        self.keys = [RunKey("demo", number, 0) for number in range(count)]
        for key in self.keys:
            metadata = {"name": f"pod-{key.job_id}", "namespace": NAMESPACE, "labels": {}}
            self.kube.put("pod", {"metadata": metadata, "spec": {"containers": [{"name": "pytorch"}]}, "status": {}})
        self._threads = [threading.Thread(target=self._follow, args=(key,), name="follow") for key in self.keys]
        for thread in self._threads:
            thread.start()

    def _follow(self, key: RunKey) -> None:
        self.hub.follow(key, 0, NAMESPACE, f"pod-{key.job_id}", self.stop, bool)

    def prints(self, key: RunKey, size: int, lines: int) -> None:
        self.kube.write_log(NAMESPACE, f"pod-{key.job_id}", *[b"x" * size + b"\n"] * lines)

    def size(self, key: RunKey) -> int:
        with self.hub.changed:
            return self.hub._spools[key, 0].size if (key, 0) in self.hub._spools else 0

    @property
    def total(self) -> int:
        return sum(self.size(key) for key in self.keys)

    def ends(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    monkeypatch.setattr(logs, "TOTAL_LIMIT", 100_000)
    monkeypatch.setattr(logs, "SHARE", 10_000)
    crowd = Crowd(4)
    yield crowd
    crowd.ends()


def test_the_output_of_all_runs_has_a_bound_and_every_rank_a_share(crowd: Crowd) -> None:
    *silent, read = crowd.keys
    for key in silent:
        crowd.prints(key, size=1000, lines=100)
    eventually(lambda: crowd.total > 90_000)
    crowd.prints(read, size=1000, lines=100)
    eventually(lambda: crowd.size(read) > 8_000)
    assert crowd.total <= 100_000 + 4 * 10_000
    position, taken = 0, 0
    while taken < 100:
        with crowd.hub.changed:
            lines, position, _ = crowd.hub.take(read, 0, position)
            taken += len(lines)
            if not lines:
                assert crowd.hub.changed.wait(PATIENCE), "a job that is read goes on, whatever the others have kept"
    assert crowd.total <= 100_000 + 4 * 10_000


def test_what_others_have_read_makes_room(crowd: Crowd) -> None:
    first, second, *_ = crowd.keys
    crowd.prints(first, size=1000, lines=70)
    eventually(lambda: crowd.size(first) > 80_000)
    with crowd.hub.changed:
        crowd.hub.take(first, 0, 0)
    crowd.prints(second, size=1000, lines=70)
    eventually(lambda: crowd.size(second) > 80_000)
    assert crowd.total <= 100_000


def test_a_log_that_is_refused_is_tried_again(world: World) -> None:
    node, job = world.node(), world.job()
    world.kube.faults.fail("pod", Forbidden("pods/log is forbidden"))
    world.running(node, job)
    attach = node.attach(job)
    world.says(job, 0, "told all the same")
    world.ends(job, 0)
    assert attach.exit() == 0
    assert attach.lines == [(0, "told all the same")]
