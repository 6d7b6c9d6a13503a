"""The one way in which a run changes: `next_run(config, run, event)`. Pure: no I/O, no clock, no logger.

An event first changes what is known (`HANDLERS` of the modules below), then the run is led on as far as that knowledge
carries (`prolog`, `training`, `release`). What must be done for it is a function of the run alone (`wanted`), so that a
replayed journal asks for exactly the work that a crash left undone.
"""

from bridge.config import Config
from bridge.engine import beginning, events, prolog, proofs, release, replies, sightings, stations, training, unattended
from bridge.engine.replacing import replace
from bridge.engine.state import Handlers, Phase, Run

_HANDLERS: Handlers = {**beginning.HANDLERS, **sightings.HANDLERS, **replies.HANDLERS, **proofs.HANDLERS}


def next_run(config: Config, run: Run | None, event: events.Event) -> Run:
    """The run after this event.

    Raises ValueError when a run would begin with anything but a prolog, an epilog or an adoption.
    """
    if run is not None and run.adopted and run.phase is Phase.RUNNING and isinstance(event, events.PrologBegan):
        run = None  # its prolog still waits, and knows better: nothing of this run has been answered
    known = _known(run or beginning.first_sight(config, event), event)
    after = _lightened(_lead_on(known.rules.applied(config), known, event.at))
    return stations.noted(run, after, event.at)


def _known(run: Run, event: events.Event) -> Run:
    return run if isinstance(event, events.Ticked) else _HANDLERS[type(event)](run, event)


def _lead_on(config: Config, run: Run, at: float) -> Run:
    if run.unattended is not None:
        run = unattended.advance(run, at)
    if run.phase is Phase.PROLOG and run.unattended is None:
        run = prolog.advance(config, run, at)
    if run.phase is Phase.RUNNING:
        run = training.advance(run, at)
    if run.phase is Phase.RELEASE:
        run = release.advance(config, run, at)
    return run


def _lightened(run: Run) -> Run:
    """Spec, manifest and what they are made by are of use until the prolog is answered. They may have 2.5 MB, and runs
    are many."""
    if run.phase is Phase.PROLOG:
        return run
    spec = run.spec if run.spec is None or not run.spec.data else replace(run.spec, data="")
    if spec is run.spec and not run.manifest and not run.rules.site:
        return run
    return replace(run, spec=spec, manifest="", rules=replace(run.rules, site={}))
