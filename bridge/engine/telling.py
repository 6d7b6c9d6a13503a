"""What the log says of a run: one line for each fact that a person would ask for, with how long it took."""

import structlog

from bridge.engine import events
from bridge.engine.state import Phase, Run

log = structlog.get_logger()


def tell(before: Run | None, after: Run, event: events.Event) -> None:
    """The facts that are new after this event."""
    told = log.bind(run=str(after.key), job=after.key.job_id)
    if before is None or before.phase is not after.phase:
        told.info("phase", phase=after.phase.value, cause=event.kind, seconds=_since_the_last(before, event.at))
    if after.judgement is not None and (before is None or before.judgement != after.judgement):
        judgement, seconds = after.judgement, round(event.at - after.began, 3)
        words = {"fault": judgement.fault, "sentence": judgement.sentence}
        told.info("judged", verdict=judgement.verdict.value, seconds=seconds, **words)
    if after.outcome is not None and (before is None or before.outcome is None):
        outcome, seconds = after.outcome, round(event.at - after.began, 3)
        told.info("outcome", exit_code=outcome.exit_code, reason=outcome.reason, rank=outcome.rank, seconds=seconds)
    told.debug("event", kind=event.kind)


def _since_the_last(before: Run | None, at: float) -> float | None:
    """Seconds in the phase that is over. That of an epilog that failed and went on is counted from its beginning."""
    if before is None:
        return None
    if before.phase is Phase.RELEASE:
        return None if before.epilog_began is None else round(at - before.epilog_began, 3)
    # A script begins when all prologs have ended; here that is the moment of this node's own answer.
    answered = before.stations.get("answered")
    began = before.began if answered is None else answered - before.clock_offset
    return round(at - began, 3)
