"""Whatever happens to a run, in whatever order, twice or not at all: what may never be is not, and there is a way out.

A handful of runs each time, always the same; `make properties` looks for longer, and each time elsewhere.
"""

import os
from dataclasses import replace

from hypothesis import Phase as Part
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.left import is_left
from bridge.engine.machine import next_run
from bridge.engine.state import Effort, Phase, Run
from bridge.engine.wanted import next_wake, wanted
from bridge.slurm.environ import Allocation

from .chances import CONFIGS, allocations, anything, beginnings, epilogs, lives_on, well
from .holds import AT_ANY_TIME, Watched

_EXAMPLES = "EXAMPLES"  # of the environment, as `make properties` sets it
_FIRST = 100.0  # seconds
_TURNS = 400  # of a run on its way out; the longest that was seen has some sixty


class AnyOrder(RuleBasedStateMachine):
    """One run on one node."""

    def __init__(self) -> None:
        super().__init__()
        self.watched = Watched(CONFIGS[0])

    @initialize(data=st.data(), config=st.sampled_from(CONFIGS), here=allocations())
    def begins(self, data: st.DataObject, config: Config, here: Allocation) -> None:
        self.watched = Watched(config)
        self.here = here
        self.watched.tell(data.draw(beginnings(config, here, _FIRST)))

    @rule(data=st.data())
    def what_is_wanted_succeeds(self, data: st.DataObject) -> None:
        came = [well(activity, self.now, self.at) for activity in sorted(wanted(self.now, self.at), key=repr)]
        due = [event for event in came if event is not None]
        if due:
            self.watched.tell(data.draw(st.sampled_from(due)))

    @precondition(lambda self: self.watched.wants(do.WatchPods))
    @rule(data=st.data())
    def a_pod_lives_on(self, data: st.DataObject) -> None:
        own = [] if self.now.rank is None else [self.now.rank] * 2
        rank = data.draw(st.sampled_from([*own, *range(len(self.now.nodes))]))
        self.watched.tell(lives_on(self.now, rank, self.at))

    @rule()
    def all_goes_well(self) -> None:
        """As far as it goes in one moment."""
        for activity in sorted(wanted(self.now, self.at), key=repr):
            event = well(activity, self.now, self.at) if activity in wanted(self.now, self.at) else None
            if event is not None:
                self.watched.tell(event)

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        self.watched.tell(data.draw(anything(self.now, self.at)))

    @rule(data=st.data())
    def it_happens_again(self, data: st.DataObject) -> None:
        """A watch that reconnects, an answer that comes late."""
        event = data.draw(st.sampled_from(self.watched.told))
        self.watched.tell(replace(event, at=self.at))

    @rule()
    def time_passes(self) -> None:
        moment = next_wake(self.watched.config, self.now, self.at)
        if moment is not None:
            self.watched.tell(events.Ticked(moment))

    @precondition(lambda self: self.run is not None and (self.run.prolog_answer is not None or is_left(self.run)))
    @rule(data=st.data())
    def its_epilog_comes(self, data: st.DataObject) -> None:
        self.watched.tell(data.draw(epilogs(self.here, self.at)))

    @invariant()
    def all_holds(self) -> None:
        """Each of `holds.AT_ANY_TIME`."""
        for law in AT_ANY_TIME:
            law(self.watched)

    # -- what holds at the end, whatever it was

    def teardown(self) -> None:
        if self.run is None:
            return
        self.each_hook_is_answered_where_nobody_else_answers()
        self.there_is_a_way_out()

    def each_hook_is_answered_where_nobody_else_answers(self) -> None:
        """Time alone ends each wait; only a hook that is gone has nobody to answer. A node that is proven free waits
        for its resume, too: a handful of tries, each of which ends by itself."""
        run, at = self.now, self.at
        for _ in range(_TURNS):
            moment = next_wake(self.watched.config, run, at)
            if moment is not None:
                run, at = next_run(self.watched.config, run, events.Ticked(moment)), moment
            elif run.resume is Effort.WANTED:
                run = next_run(self.watched.config, run, events.Failed(at, "resume", "no answer"))
            else:
                break
        if run.phase is Phase.PROLOG:
            assert run.unattended is not None or is_left(run)
        if run.phase is Phase.RELEASE:
            assert run.epilog_answer is not None and run.epilog_answer.exit == 1

    def there_is_a_way_out(self) -> None:
        run, at = next_run(self.watched.config, self.now, events.EpilogBegan(self.at + 1.0)), self.at + 1.0
        for _ in range(_TURNS):
            came = [well(activity, run, at) for activity in sorted(wanted(run, at), key=repr)]
            moment = next_wake(self.watched.config, run, at)
            due = next((event for event in came if event is not None), None)
            if due is None and moment is None:
                break
            at = at if due is not None or moment is None else moment
            run = next_run(self.watched.config, run, due or events.Ticked(at))
        assert run.phase is Phase.RELEASED

    @property
    def run(self) -> Run | None:
        return self.watched.run

    @property
    def now(self) -> Run:
        return self.watched.now

    @property
    def at(self) -> float:
        return self.watched.at


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=int(os.environ.get(_EXAMPLES, "300")),
    stateful_step_count=50,
    derandomize=_EXAMPLES not in os.environ,  # here always the same ones, else each time others
    deadline=None,
    database=None,
    phases=[Part.generate, Part.shrink],
)
