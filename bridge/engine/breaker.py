"""The breaker: while the API server is away for long, no prolog that begins waits for its whole deadline.

Nodes would be held for nothing, and the time limits of their jobs would run. Nobody has to close it: each new prolog
asks the API server itself, and the first answer ends the outage.
"""

from bridge.config.timing import Timing
from bridge.engine.health import Contact
from bridge.engine.state import Phase, Run
from bridge.job.faults import Finding
from bridge.job.faults.servers import API_OUTAGE


def opens(timing: Timing, contact: Contact | None) -> float | None:
    """From when on (boot clock) a prolog that begins need not wait; None while the API server answers."""
    return None if contact is None or contact.down_since is None else contact.down_since + timing.breaker_after


def outage(timing: Timing, contact: Contact | None, run: Run, at: float) -> Finding | None:
    """Why this prolog need not wait any longer for the API server, if so.

    Only for a run that began while the breaker was open, has nothing in Kubernetes that is known of, and has waited
    long enough to see whether the server is back.
    """
    if contact is None or contact.down_since is None or not run.is_batch:
        return None
    waits = run.phase is Phase.PROLOG and run.judgement is None and not run.knows_its_workload
    opened = opens(timing, contact)
    if not waits or opened is None or run.began < opened or at < run.began + timing.breaker_patience:
        return None
    return API_OUTAGE.finding(f"{at - contact.down_since:.0f} s ({contact.fault.partition('; ')[0]})")
