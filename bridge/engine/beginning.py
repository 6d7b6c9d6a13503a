"""How a run begins on this node: with its prolog, with an epilog of which nothing was known, or adopted."""

from bridge.config import Config
from bridge.engine import events, left
from bridge.engine.replacing import replace
from bridge.engine.state import Answer, Handlers, Phase, Run, Workload, forgotten_run, new_run
from bridge.job.ids import RunKey


def first_sight(config: Config, event: events.Event) -> Run:
    """A run of which nothing was known before this event. Raises ValueError when none can begin with it."""
    match event:
        case events.PrologBegan():
            return replace(new_run(config, event.allocation, event.at), may_be_forgotten=event.older)
        case events.EpilogBegan():
            key = RunKey(event.cluster, event.job_id, event.restart)
            return forgotten_run(config, event.at, event.allocation, key, event.start)
        case events.Adopted():
            return _adopted_run(config, event)
    raise ValueError(event.kind)


def _adopted_run(config: Config, event: events.Adopted) -> Run:
    """Its prolog was answered in the time that the journal has lost."""
    return replace(
        new_run(config, event.allocation, event.at),
        phase=Phase.RUNNING,
        adopted=True,
        unmarked=not event.marked,
        prolog_answer=Answer(0),
        workload=Workload.LIVE,
        workload_uid=event.uid,
        workload_seen_at=event.at,
        opened=event.opened,
        known_uids=frozenset({event.opened} - {""}),
        reporting=event.reporting,
        rules=event.rules,
    )


def _prolog_began(run: Run, event: events.PrologBegan) -> Run:
    known = replace(
        run,
        groups=event.groups or run.groups,
        spec=event.spec or run.spec,
        reporting=event.reporting or run.reporting,
        no_report=event.no_report,
        rules=run.rules if run.rules.timing else event.rules,
        clock_offset=run.clock_offset or event.clock_offset,
        unattended=None,
    )
    return left.came_back(known, event.at)


def _adopted(run: Run, _event: events.Adopted) -> Run:
    """What is known of a run is more than its workload tells."""
    return run


HANDLERS: Handlers = {
    events.PrologBegan: _prolog_began,
    events.Adopted: _adopted,
}
