"""What holds of a run whatever happens to it, and the run that is watched for it: beside it goes the same one as its
journal tells it. Each complaint is an AssertionError."""

from typing import TypeVar

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.left import is_left
from bridge.engine.machine import next_run
from bridge.engine.state import Phase, Run
from bridge.engine.wanted import next_wake, wanted
from bridge.job.faults import Verdict

_Kind = TypeVar("_Kind")
_PHASES = list(Phase)


class Watched:
    """One run on one node."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.at = 0.0
        self.run: Run | None = None
        self.replayed: Run | None = None
        self.told: list[events.Event] = []
        self._is_clear = False
        """Since the epilog began the API server has said so, or there was certainly nothing made."""

    @property
    def now(self) -> Run:
        """The run, which has begun."""
        assert self.run is not None
        return self.run

    def wants(self, kind: type[_Kind]) -> list[_Kind]:
        """What of this kind would have to be done now."""
        return [] if self.run is None else [one for one in wanted(self.run, self.at) if isinstance(one, kind)]

    def tell(self, event: events.Event) -> None:
        """As the engine does: what changes nothing is not written down."""
        before, self.at = self.run, max(self.at, event.at)
        after = next_run(self.config, before, event)
        self.told.append(event)
        if isinstance(event, events.EpilogBegan) and before is not None and before.phase is not Phase.RELEASE:
            self._is_clear = before.created_nothing and before.unattended is None and not before.may_be_forgotten
        if isinstance(event, events.PodsClear) and before is not None and before.phase is Phase.RELEASE:
            self._is_clear = True
        if after == before:
            return
        self.run = after
        self.replayed = next_run(self.config, self.replayed, events.from_json(events.to_json(event)))
        if before is not None:
            self._is_a_step_ahead(before, event, after)

    def _is_a_step_ahead(self, before: Run, event: events.Event, after: Run) -> None:
        if before.key != after.key or before.adopted or after.adopted:
            return  # a prolog that still waits knows better than what an adoption made of its run
        assert _PHASES.index(after.phase) >= _PHASES.index(before.phase)
        if before.prolog_answer is not None:
            assert after.prolog_answer == before.prolog_answer
        if before.judgement is not None and not _asks_again(before, event):
            assert after.judgement == before.judgement
        if after.phase is Phase.RELEASED and before.phase is not Phase.RELEASED:
            self._is_proven(before, event)

    def _is_proven(self, before: Run, event: events.Event) -> None:
        """No pod in the API server and none on the node, in this order, and both behind the epilog's beginning."""
        assert before.phase is Phase.RELEASE
        assert self._is_clear
        assert isinstance(event, events.Scanned | events.Resumed | events.Failed)


def _asks_again(before: Run, event: events.Event) -> bool:
    """Whether a hook comes back that was taken for dead: nobody has been told that verdict."""
    return is_left(before) and before.prolog_answer is None and isinstance(event, events.PrologBegan)


def the_journal_tells_the_same(one: Watched) -> None:
    """Replay equals memory."""
    assert one.replayed == one.run


def a_moment_to_wake_lies_ahead(one: Watched) -> None:
    """Or there is none."""
    if one.run is not None:
        moment = next_wake(one.config, one.run, one.at)
        assert moment is None or moment > one.at


def no_gate_opens_but_that_of_the_own_pod_of_a_wanted_run(one: Watched) -> None:
    """And of no other than was opened before."""
    for opening in one.wants(do.OpenGate):
        run = one.now
        assert run.phase in (Phase.PROLOG, Phase.RUNNING) and run.epilog_began is None
        assert run.judgement is None and run.node_proven and run.unattended is None
        assert run.own_pod is not None and run.own_pod.uid == opening.uid and not run.own_pod.deleting
        assert run.opened in ("", opening.uid)


def nothing_is_made_but_in_a_prolog_that_waits(one: Watched) -> None:
    """By the batch node."""
    for _ in one.wants(do.CreateWorkload):
        run = one.now
        assert run.is_batch and run.phase is Phase.PROLOG
        assert run.judgement is None and run.prolog_answer is None and run.epilog_began is None


def no_prolog_is_ready_by_pods_that_may_have_no_gate(one: Watched) -> None:
    """Its workload is made for sure, and was seen with the gate, if only by who deleted it."""
    if one.run is not None and one.run.ready_at is not None:
        assert any(_tells_of_a_gate(event) for event in one.told)


def _tells_of_a_gate(event: events.Event) -> bool:
    by_answer = isinstance(event, events.WorkloadCreated | events.WorkloadDeleted)
    return by_answer or (isinstance(event, events.WorkloadSeen) and event.facts.gated)


def only_the_workload_that_is_known_is_deleted(one: Watched) -> None:
    """And not before its run is to end."""
    for deletion in one.wants(do.DeleteWorkload):
        assert deletion.uid == one.now.workload_uid
        assert one.now.epilog_began is not None or one.now.judgement is not None or one.now.stop_asked


def of_a_released_run_nothing_is_wanted(one: Watched) -> None:
    """It is over."""
    if one.run is not None and one.run.phase is Phase.RELEASED:
        assert not wanted(one.run, one.at)


def a_prolog_drains_its_node_for_its_node_alone(one: Watched) -> None:
    """Whatever else was wrong."""
    answer = None if one.run is None else one.run.prolog_answer
    if answer is not None and answer.exit != 0:
        assert one.now.judgement is not None and one.now.judgement.verdict is Verdict.NODE


AT_ANY_TIME = (
    the_journal_tells_the_same,
    a_moment_to_wake_lies_ahead,
    no_gate_opens_but_that_of_the_own_pod_of_a_wanted_run,
    nothing_is_made_but_in_a_prolog_that_waits,
    no_prolog_is_ready_by_pods_that_may_have_no_gate,
    only_the_workload_that_is_known_is_deleted,
    of_a_released_run_nothing_is_wanted,
    a_prolog_drains_its_node_for_its_node_alone,
)
