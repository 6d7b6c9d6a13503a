"""What a prolog tells of itself while its pods wait for images: where, which one, how long. Pure.

Nobody sees more of a job in this time than its comment, and what `bridgectl` says on its nodes. The comment is set
after ten seconds, and then less and less often: slurmctld has other things to do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from bridge.config import Config
from bridge.engine.ending import earlier_try
from bridge.engine.replacing import replace
from bridge.engine.state import Run
from bridge.job.faults.images import IMAGE_PULLING
from bridge.job.pods import PodFacts, epoch
from bridge.job.words import plain

_WORTH = 10.0  # seconds from which on a pull is told
_PAUSE, _TIMES, _LONGEST = 20.0, 3.0, 300.0  # seconds between two reports: the first, each next so many times as long
_NODES, _IMAGES = 3, 2  # named in one sentence


@dataclass(frozen=True)
class _Pull:
    """A node that fetches an image, since when by the boot clock."""

    rank: int
    node: str
    image: str
    since: float


def advance(config: Config, run: Run, at: float) -> Run:
    """The batch node's run with the next sentence for the job's comment, when one is due."""
    moment = due(config, run)
    if moment is None or at < moment:
        return run
    before = earlier_try(run)
    told = (f"{before}, now: " if before else "") + sentence(run, at)
    return replace(run, progress=told, progress_at=at, progress_count=run.progress_count + 1)


def due(config: Config, run: Run) -> float | None:
    """When the job's comment is told next; None where there is nothing to tell, or nobody to tell it to."""
    first = min((pull.since for pull in _pulls(run)), default=None)
    if first is None or not run.reporting:
        return None
    if run.progress_at is None:
        return first + _WORTH
    pause = min(_PAUSE * _TIMES ** min(run.progress_count - 1, 9), _LONGEST)
    return max(first + _WORTH, run.progress_at + max(pause, config.timing.poll_period))


def sentence(run: Run, at: float) -> str:
    """Which images are being pulled where, and for how long; '' where that is not worth a word (yet)."""
    by_image: dict[str, list[_Pull]] = {}
    for pull in sorted(_pulls(run), key=lambda pull: pull.rank):
        if at >= pull.since + _WORTH:
            by_image.setdefault(pull.image, []).append(pull)
    return "; ".join(_of_image(image, pulls, at) for image, pulls in list(by_image.items())[:_IMAGES])


def _of_image(image: str, pulls: list[_Pull], at: float) -> str:
    names = ", ".join(pull.node for pull in pulls[:_NODES])
    more = f" and {len(pulls) - _NODES} more nodes" if len(pulls) > _NODES else ""
    return f"image {plain(image)} is being pulled on {names}{more} for {at - min(pull.since for pull in pulls):.0f} s"


def _pulls(run: Run) -> Iterator[_Pull]:
    """Of the pods that this node watches."""
    if run.prolog_answer is not None or run.judgement is not None:
        return
    for rank, pod in run.pods.items():
        suspicion = run.suspicions.get(rank)
        if pod.started or rank in run.lost or (suspicion is not None and suspicion.fault is not IMAGE_PULLING):
            continue
        if pod.pulling:
            since = _since(run, pod)
            if isfinite(since):
                yield _Pull(rank, pod.node, pod.pulling, since)
        elif suspicion is not None:  # before Kubernetes 1.29 the pod's events alone tell of it
            yield _Pull(rank, pod.node, pod.image, suspicion.since)


def _since(run: Run, pod: PodFacts) -> float:
    """By the kubelet's calendar, in whole seconds; never before the prolog, wherever that clock stands."""
    return max(run.began, epoch(pod.sandbox_at) - run.clock_offset)
