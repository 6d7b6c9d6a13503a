"""The engine: one thread that owns every run. It takes what happened from a queue, lets `step` decide, journals,
and only then acts: starts and stops activities, answers hooks, shows the runs to readers."""

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import structlog

from bridge import clock, wellknown
from bridge.config import Config
from bridge.engine import events
from bridge.engine.breaker import outage
from bridge.engine.desk import Desk, Hook
from bridge.engine.door import Admission, Door, credential
from bridge.engine.executor import Executor
from bridge.engine.health import KUBERNETES, Contact, Unknown
from bridge.engine.inbox import Happened, HookArrived, HookClosed, HookScanned, Message, Stop, TokenBrought
from bridge.engine.last_fault import Fault, LastFault
from bridge.engine.ledger import Ledger
from bridge.engine.logs import LogHub
from bridge.engine.machine import next_run
from bridge.engine.reception import IsMarked, Reception
from bridge.engine.recover import remember, replayed
from bridge.engine.scans import Scans
from bridge.engine.sightings import met_unknown
from bridge.engine.state import Phase, Run
from bridge.engine.telling import tell
from bridge.engine.tokens import Tokens
from bridge.engine.under_way import UnderWay
from bridge.engine.wanted import next_wake
from bridge.job.ids import RunKey
from bridge.slurmrest.api import Credential
from bridge.store.journal import Journal
from bridge.store.markers import Marker
from bridge.wire.messages import ScanReply

log = structlog.get_logger()

_FIRST = (events.PrologBegan, events.EpilogBegan, events.Adopted)  # what a run can begin with
Watcher = Callable[[Run | None, Run], None]
"""Is told of each change of a run, in the engine's thread: it must neither wait nor raise."""

_HOOK_PATIENCE = 10.0  # seconds in which a prolog hook whose connection broke may come back


class Engine:
    """All runs of one node."""

    def __init__(
        self,
        config: Config,
        journal: Journal,
        hub: LogHub,
        is_marked: IsMarked = lambda _mark: False,
        markers: Callable[[], Mapping[int, Marker | None]] = dict,
        watcher: Watcher = lambda _before, _after: None,
    ) -> None:
        """``is_marked`` says whether a run's marker may be there; ``markers`` gives those that there are, by job, None
        for a damaged one; ``watcher`` is told of each run that changes."""
        self._config = config
        self._journal = journal
        self._hub = hub
        self._markers = markers
        self._watcher = watcher
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._runs: dict[RunKey, Run] = {}
        self._desk = Desk()
        self._door = Door(config)
        self._tokens = Tokens(clock.now)
        self._left: dict[RunKey, float] = {}
        self._scans = Scans(config.gpu, self._desk)
        self._reception = Reception(config, self._desk, LastFault(journal), is_marked)
        self._executor: Executor | None = None
        self._under_way: UnderWay  # `recover` brings who does the work
        self._touched: set[RunKey] = set()
        self._ledger = Ledger(journal)
        self.beat = clock.now()
        self.changed = threading.Condition()
        self.runs: Mapping[RunKey, Run] = MappingProxyType({})

    # -- called from other threads

    def post(self, message: Message) -> None:
        """Put something that happened on the engine's queue."""
        self._inbox.put(message)

    def happened(self, key: RunKey, event: events.Event) -> None:
        """An event of a run."""
        self.post(Happened(key, event))

    def came(self, run: Run, event: events.Event, ended: threading.Event | None = None) -> None:
        """What came of an activity that was begun for this run; ``ended`` as `Happened` has it."""
        self.post(Happened(run.key, event, run.mark, ended))

    def credential(self, key: RunKey) -> Credential | None:
        """The owner's token of a run, while a hook has brought one to this process."""
        return self._tokens.of(key)

    def wants_token(self, key: RunKey) -> bool:
        """Whether the owner of a run that has still something to tell slurmctld should bring a token of theirs."""
        run = self.runs.get(key)
        if run is None or not (run.is_batch and run.reporting and run.phase is Phase.RUNNING):
            return False
        rest = self._config.slurmrest
        return rest is not None and not rest.has_service and self._tokens.ends_soon(key)

    def known(self) -> Iterable[Run]:
        """Every run of this node, released ones that are still kept among them."""
        return self.runs.values()

    def contacts(self) -> Mapping[str, Contact]:
        """How the servers that this node speaks to answered last."""
        return {} if self._executor is None else self._executor.health.contacts()

    def unknown(self) -> Unknown:
        """What this daemon has met that no row of the fault table describes."""
        return Unknown() if self._executor is None else self._executor.health.unknown()

    @property
    def unminted(self) -> str:
        """Why the last hook that should have brought its job owner's token brought none; '' where it did."""
        return self._tokens.unminted

    @property
    def last_fault(self) -> Fault | None:
        """Why this node was taken out of service, while no pod has started here since."""
        return self._reception.last_fault

    def why_turned_away(self, job_id: int) -> str:
        """What the prolog of a job was told that was let go without a run; '' where there was none, or this daemon was
        started since."""
        return self._reception.why_turned_away(job_id)

    @property
    def waiting_hooks(self) -> int:
        """How many hooks wait for an answer."""
        return len(self._desk)

    # -- the engine's thread

    def recover(self, executor: Executor) -> None:
        """Replay the journal; what it left undone is taken up by `run`, when hooks are answered again already."""
        self._executor = executor
        self._under_way = UnderWay(executor, self._scans)
        self._runs = replayed(self._config, self._journal)
        self._touched = set(self._runs)
        self._left = {key: clock.now() for key, run in self._runs.items() if run.phase is Phase.PROLOG}
        self._reception.recover(self._runs)
        self._door.recover(clock.now())
        self._end_what_a_boot_ended()
        self._take_up_prologs()
        self._hub.expect(key for key, run in self._runs.items() if run.phase is Phase.RUNNING)
        self._show()  # a sweep spares the runs that it is shown
        log.info("recovered", runs=len(self._runs))

    def _end_what_a_boot_ended(self) -> None:
        """No job outlives its node's boot, and times of the boot clock mean nothing after it."""
        boot = clock.boot_id()
        if self._journal.note("boot", boot) != boot:
            for key, run in list(self._runs.items()):
                if run.phase is not Phase.RELEASED:
                    self._apply(key, events.EpilogBegan(clock.now(), awaited=False))
            self._ledger.commit()
        self._journal.set_note("boot", boot)

    def _take_up_prologs(self) -> None:
        """Whether their hooks still wait is seen when they come back, or do not."""
        for key in self._left:
            self._apply(key, events.TakenUp(clock.now()))
        self._ledger.commit()

    def run(self) -> None:
        """Serve until `Stop` comes. A failed journal write ends the daemon: nothing is done unwritten."""
        self._act()
        while True:
            batch = self._next_batch()
            self.beat = clock.now()
            for message in batch:
                if isinstance(message, Stop):
                    self._close()
                    return
                self._take(message)
            self._open_door()
            self._wake()
            self._ledger.commit()
            self._act()
            self._forget_old()

    def _next_batch(self) -> list[Message]:
        try:
            batch = [self._inbox.get(timeout=self._patience())]
        except queue.Empty:
            return []
        while not self._inbox.empty():
            batch.append(self._inbox.get_nowait())
        return batch

    def _patience(self) -> float:
        at, live = clock.now(), (run for run in self._runs.values() if run.phase is not Phase.RELEASED)
        # After the round's beginning, not after now: what fell due while the round was at work it may not have seen.
        moments = [next_wake(self._config, run, self.beat) for run in live]
        moments += [moment + _HOOK_PATIENCE for moment in self._left.values()]
        moments += self._scans.moments()
        moments += [self._door.deadline(hook) for hook in self._desk if hook.waits_at_door]
        return max(0.0, min([moment for moment in moments if moment is not None] + [at + 5.0]) - at)

    # -- taking what happened

    def _take(self, message: Message) -> None:
        match message:
            case Happened(key, events.Adopted() as event):
                self._adopt(key, event)
            case Happened(key, event, of, ended):
                known, is_late = self._runs.get(key), ended is not None and ended.is_set()
                if not is_late and (of is None or known is None or known.mark == of):
                    self._under_way.end_try(key, event)
                    self._apply(key, event)
            case HookArrived(hook):
                self._arrive(hook)
            case HookScanned(hook, reply):
                self._scanned(hook, reply)
            case TokenBrought(key, brought):
                if key in self._runs:
                    self._tokens.keep(key, brought)
            case HookClosed(hook):
                self._hook_closed(hook)

    def _adopt(self, key: RunKey, event: events.Adopted) -> None:
        """An old journal may know a released run under this key, from before the job's number came back."""
        known, start = self._runs.get(key), event.allocation.start_time
        if known is not None and known.phase is Phase.RELEASED and known.mark.start != start:
            self._forget(key)
        self._apply(key, event)
        self._touched.add(key)

    def _apply(self, key: RunKey, event: events.Event) -> None:
        before, event = self._runs.get(key), _dated(event)
        if before is None and not isinstance(event, _FIRST):
            return
        after = next_run(self._config, before, event)
        if after == before:
            return
        remember(self._runs, before, after)
        self._touched.add(key)
        if before is not None and before.adopted and not after.adopted:
            self._under_way.begin_anew(key)
        if after.phase is Phase.RELEASED and (before is None or before.phase is not Phase.RELEASED):
            self._reception.proven_gone(after.mark)
        self._ledger.enter(before, after, event)
        tell(before, after, event)
        self._watcher(before, after)
        unknown = met_unknown(before, after)
        if unknown and self._executor is not None:
            with structlog.contextvars.bound_contextvars(run=str(key), job=key.job_id):
                self._executor.health.note_unknown(unknown)

    def _arrive(self, hook: Hook) -> None:
        remaining = max(0.0, self._door.deadline(hook) - clock.now())
        # Hooks that do not tell when they began read ``deadline``, and count from this word.
        hook.send({"kind": "hello", "v": wellknown.PROTOCOL, "deadline": remaining, "remaining": remaining})
        self._desk.admit(hook)
        if hook.phase == "epilog":
            self._enter(hook, self._door.epilog(hook, self._runs))
        else:
            self._door.see(hook, self._markers)

    def _open_door(self) -> None:
        """Prologs that have no run yet: let in who may, answer who has waited long enough."""
        for hook in self._desk:
            if hook.phase == "prolog" and hook.key is None:
                self._enter(hook, self._door.prolog(hook, self._runs, self._desk, clock.now()))

    def _enter(self, hook: Hook, admission: Admission) -> None:
        hook.decided = admission.answer
        if admission.forget is not None:
            self._forget(admission.forget)
        for key, event in admission.opened:
            self._apply(key, event)
            self._touched.add(key)
        if hook.key is not None:
            self._left.pop(hook.key, None)
            self._tokens.unminted = hook.request.token_error or self._tokens.unminted
            brought = credential(hook)
            if brought is not None:
                self._tokens.keep(hook.key, brought)
                self._tokens.unminted = ""

    def _forget(self, key: RunKey) -> None:
        """A released run makes room for another one with the same key."""
        self._ledger.commit()
        self._reconcile(self._runs.pop(key), clock.now())
        self._ledger.forget(key)

    def _scanned(self, hook: Hook, reply: ScanReply) -> None:
        answered = self._scans.answered(hook, reply, clock.now())
        if answered is not None:
            key, found = answered
            self._apply(key, events.Scanned(clock.now(), found, reply.error or ""))

    def _hook_closed(self, hook: Hook) -> None:
        self._scans.closed(hook)
        waited = self._desk.leave(hook)
        if waited and hook.key is not None and hook.phase == "prolog" and not self._desk.waiting(hook.key, "prolog"):
            self._left[hook.key] = clock.now()

    def _wake(self) -> None:
        at = clock.now()
        for key, run in list(self._runs.items()):
            if run.phase is not Phase.RELEASED:
                self._apply(key, events.Ticked(at))
                self._touched.add(key)
                self._spare(run, at)
        for key, moment in list(self._left.items()):
            if at >= moment + _HOOK_PATIENCE:
                del self._left[key]
                self._apply(key, events.HookLeft(at))

    def _spare(self, run: Run, at: float) -> None:
        found = outage(self._config.timing, self.contacts().get(KUBERNETES), run, at)
        if found is not None:
            self._apply(run.key, events.ServerDown(at, found.sentence, found.fault.name))

    # -- acting on what was decided

    def _act(self) -> None:
        self._show()  # first: who is told something can see it, and a sweep spares the runs that it is shown
        self._reception.answer(self._runs)  # before threads begin that would have the processor, too: somebody waits
        at = clock.now()
        for key in self._touched & self._runs.keys():
            self._reconcile(self._runs[key], at)
        self._touched = set()
        self._under_way.ask_for_scans(self._runs, at)

    def _reconcile(self, run: Run, at: float) -> None:
        self._under_way.bring_about(run, at)
        if run.phase is Phase.RELEASED:
            self._under_way.forget(run.key)
            self._tokens.forget(run.key)
            self._hub.drop(run.key)

    def _forget_old(self) -> None:
        released = (key for key, run in self._runs.items() if run.phase is Phase.RELEASED)
        # Not one that a hook waits for: its answer names the run.
        old = [key for key in self._ledger.surplus(released) if not self._desk.waits_for_release_of(key)]
        if old:
            for key in old:
                del self._runs[key]
            self._ledger.forget(*old)
            self._show()

    def _show(self) -> None:
        with self.changed:
            self.runs = MappingProxyType(dict(self._runs))
            self.changed.notify_all()

    def _close(self) -> None:
        assert self._executor is not None
        self._ledger.commit()
        self._executor.stop_all()
        self._journal.close()


def _dated(event: events.Event) -> events.Event:
    """What begins a run or its end tells the calendar, too."""
    match event:
        case events.PrologBegan() | events.EpilogBegan():
            return replace(event, clock_offset=clock.offset())
    return event
