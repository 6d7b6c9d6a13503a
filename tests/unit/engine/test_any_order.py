"""Whatever happens to a run, in whatever order, twice or not at all: what may never be is not, and there is a way out.

A handful of runs each time, always the same; `make properties` looks for longer, and each time elsewhere.
"""

import os
from dataclasses import replace
from typing import TypeVar

from hypothesis import Phase as Part
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.machine import next_run
from bridge.engine.state import Phase, Run
from bridge.engine.wanted import next_wake, wanted
from bridge.job.faults import Verdict
from bridge.slurm.environ import Allocation

from .chances import CONFIGS, allocations, anything, beginnings, epilogs, lives_on, well

_Kind = TypeVar("_Kind")

_EXAMPLES = "EXAMPLES"  # of the environment, as `make properties` sets it
_PHASES = list(Phase)
_TURNS = 400  # of a run on its way out; the longest that was seen has some sixty


class AnyOrder(RuleBasedStateMachine):
    """One run on one node, and beside it the same run as its journal tells it."""

    def __init__(self) -> None:
        super().__init__()
        self.config: Config = CONFIGS[0]
        self.at = 100.0
        self.run: Run | None = None
        self.replayed: Run | None = None
        self.told: list[events.Event] = []
        self.clear = False  # since the epilog began the API server has said so, or there was certainly nothing made

    @initialize(data=st.data(), config=st.sampled_from(CONFIGS), here=allocations())
    def begins(self, data: st.DataObject, config: Config, here: Allocation) -> None:
        self.config = config
        self.here = here
        self.tell(data.draw(beginnings(config, here, self.at)))

    @rule(data=st.data())
    def what_is_wanted_succeeds(self, data: st.DataObject) -> None:
        came = [well(activity, self.now, self.at) for activity in sorted(wanted(self.now, self.at), key=repr)]
        due = [event for event in came if event is not None]
        if due:
            self.tell(data.draw(st.sampled_from(due)))

    @precondition(lambda self: self.wants(do.WatchPods))
    @rule(data=st.data())
    def a_pod_lives_on(self, data: st.DataObject) -> None:
        own = [] if self.now.rank is None else [self.now.rank] * 2
        rank = data.draw(st.sampled_from([*own, *range(len(self.now.nodes))]))
        self.tell(lives_on(self.now, rank, self.at))

    @rule()
    def all_goes_well(self) -> None:
        """As far as it goes in one moment."""
        for activity in sorted(wanted(self.now, self.at), key=repr):
            event = well(activity, self.now, self.at) if activity in wanted(self.now, self.at) else None
            if event is not None:
                self.tell(event)

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        self.tell(data.draw(anything(self.now, self.at)))

    @rule(data=st.data())
    def it_happens_again(self, data: st.DataObject) -> None:
        """A watch that reconnects, an answer that comes late."""
        event = data.draw(st.sampled_from(self.told))
        self.tell(replace(event, at=self.at))

    @rule()
    def time_passes(self) -> None:
        moment = next_wake(self.config, self.now, self.at)
        if moment is not None:
            self.tell(events.Ticked(moment))

    @precondition(lambda self: self.run is not None and self.run.prolog_answer is not None)
    @rule(data=st.data())
    def its_epilog_comes(self, data: st.DataObject) -> None:
        self.tell(data.draw(epilogs(self.here, self.at)))

    # -- what holds at any time

    @invariant()
    def the_journal_tells_the_same(self) -> None:
        assert self.replayed == self.run

    @invariant()
    def a_moment_to_wake_lies_ahead(self) -> None:
        if self.run is not None:
            moment = next_wake(self.config, self.run, self.at)
            assert moment is None or moment > self.at

    @invariant()
    def no_gate_opens_but_that_of_the_own_pod_of_a_wanted_run(self) -> None:
        for opening in self.wants(do.OpenGate):
            run = self.now
            assert run.phase in (Phase.PROLOG, Phase.RUNNING) and run.epilog_began is None
            assert run.judgement is None and run.node_proven and run.unattended is None
            assert run.own_pod is not None and run.own_pod.uid == opening.uid and not run.own_pod.deleting
            assert run.opened in ("", opening.uid)

    @invariant()
    def nothing_is_made_but_in_a_prolog_that_waits(self) -> None:
        for _ in self.wants(do.CreateWorkload):
            run = self.now
            assert run.is_batch and run.phase is Phase.PROLOG
            assert run.judgement is None and run.prolog_answer is None and run.epilog_began is None

    @invariant()
    def only_the_workload_that_is_known_is_deleted(self) -> None:
        for deletion in self.wants(do.DeleteWorkload):
            assert deletion.uid == self.now.workload_uid
            assert self.now.epilog_began is not None or self.now.judgement is not None or self.now.stop_asked

    @invariant()
    def of_a_released_run_nothing_is_wanted(self) -> None:
        if self.run is not None and self.run.phase is Phase.RELEASED:
            assert not wanted(self.run, self.at)

    @invariant()
    def a_prolog_drains_its_node_for_its_node_alone(self) -> None:
        answer = None if self.run is None else self.run.prolog_answer
        if answer is not None and answer.exit != 0:
            assert self.now.judgement is not None and self.now.judgement.verdict is Verdict.NODE

    # -- what holds at the end, whatever it was

    def teardown(self) -> None:
        if self.run is None:
            return
        self.each_hook_is_answered_where_nobody_else_answers()
        self.there_is_a_way_out()

    def each_hook_is_answered_where_nobody_else_answers(self) -> None:
        """Time alone ends each wait; only a hook that is gone has nobody to answer."""
        run, at = self.now, self.at
        for _ in range(_TURNS):
            moment = next_wake(self.config, run, at)
            if moment is None:
                break
            run, at = next_run(self.config, run, events.Ticked(moment)), moment
        if run.phase is Phase.PROLOG:
            assert run.unattended is not None
        if run.phase is Phase.RELEASE:
            assert run.epilog_answer is not None and run.epilog_answer.exit == 1

    def there_is_a_way_out(self) -> None:
        run, at = next_run(self.config, self.now, events.EpilogBegan(self.at + 1.0)), self.at + 1.0
        for _ in range(_TURNS):
            came = [well(activity, run, at) for activity in sorted(wanted(run, at), key=repr)]
            moment = next_wake(self.config, run, at)
            due = next((event for event in came if event is not None), None)
            if due is None and moment is None:
                break
            at = at if due is not None or moment is None else moment
            run = next_run(self.config, run, due or events.Ticked(at))
        assert run.phase is Phase.RELEASED

    # -- the way each event takes

    @property
    def now(self) -> Run:
        assert self.run is not None
        return self.run

    def wants(self, kind: type[_Kind]) -> list[_Kind]:
        return [] if self.run is None else [one for one in wanted(self.run, self.at) if isinstance(one, kind)]

    def tell(self, event: events.Event) -> None:
        """As the engine does: what changes nothing is not written down."""
        before, self.at = self.run, max(self.at, event.at)
        after = next_run(self.config, before, event)
        self.told.append(event)
        if isinstance(event, events.EpilogBegan) and before is not None and before.phase is not Phase.RELEASE:
            self.clear = before.created_nothing and before.unattended is None
        if isinstance(event, events.PodsClear) and before is not None and before.phase is Phase.RELEASE:
            self.clear = True
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
        if before.judgement is not None:
            assert after.judgement == before.judgement
        if after.phase is Phase.RELEASED and before.phase is not Phase.RELEASED:
            self._is_proven(before, event)

    def _is_proven(self, before: Run, event: events.Event) -> None:
        """No pod in the API server and none on the node, in this order, and both behind the epilog's beginning."""
        assert before.phase is Phase.RELEASE
        assert self.clear
        assert isinstance(event, events.Scanned | events.Resumed | events.Failed)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=int(os.environ.get(_EXAMPLES, "300")),
    stateful_step_count=50,
    derandomize=_EXAMPLES not in os.environ,  # here always the same ones, else each time others
    deadline=None,
    database=None,
    phases=[Part.generate, Part.shrink],
)
