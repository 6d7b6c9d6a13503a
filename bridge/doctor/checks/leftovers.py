"""What is left of runs: markers of jobs that are gone, and workloads and pods that nobody owns."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from bridge import wellknown
from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.hook import markers
from bridge.messages import doctor as messages
from bridge.wire.client import ask_once

_SECONDS = 30.0


class Workload(BaseModel):
    """One that the daemon sees."""

    model_config = ConfigDict(extra="ignore")

    workload: str
    state: str
    why: str


class Stray(BaseModel):
    """A pod of a run that was released."""

    model_config = ConfigDict(extra="ignore")

    pod: str


class Left(BaseModel):
    """The daemon's answer to `gc --dry-run`."""

    model_config = ConfigDict(extra="ignore")

    workloads: list[Workload] = []
    strays: list[Stray] = []
    faults: list[str] = []


@dataclass(frozen=True)
class Leftovers:
    """``markers`` and ``jobs`` (those that Slurm has on this node) by number; None where it is not known, and
    ``unasked`` why."""

    markers: tuple[int, ...] | None
    jobs: frozenset[int] | None
    left: Left | None
    unasked: list[str] = field(default_factory=list)


def look(place: Place) -> Leftovers:
    found, jobs, left, unasked = None, None, None, list[str]()
    try:
        found = tuple(markers.present(str(place.path(wellknown.MARKER_DIR))))
    except markers.MarkerError as error:
        unasked.append(clause(error))
    try:
        shown = place.command("squeue", "--noheader", "--array", f"--nodelist={place.host}", "--format=%A")
        jobs = frozenset(int(word) for word in shown.split() if word.isdecimal())
    except BridgeError as error:
        unasked.append(clause(error))
    try:
        asked = {"verb": "gc", "dry_run": True}
        left = Left.model_validate(ask_once(asked, place.path(wellknown.USER_SOCKET), _SECONDS))
    except (BridgeError, ValueError) as error:
        unasked.append(clause(error))
    return Leftovers(found, jobs, left, unasked)


def judge(facts: Leftovers) -> Iterator[Told]:
    if facts.markers is not None and facts.jobs is not None:
        for job in facts.markers:
            if job not in facts.jobs:
                yield messages.MARKER_LEFT.told(job=job)
    for workload in facts.left.workloads if facts.left else ():
        if workload.state in ("orphan", "unconfirmed"):
            yield messages.WORKLOAD_LEFT.told(workload=workload.workload, state=workload.state, why=workload.why)
    for stray in facts.left.strays if facts.left else ():
        yield messages.POD_LEFT.told(pod=stray.pod)
    unasked = [*facts.unasked, *(facts.left.faults if facts.left else ())]
    if unasked:
        raise CannotLook(messages.LEFTOVERS_UNKNOWN.told(why="; ".join(unasked)))


CHECK = Check(
    "leftovers", "markers of jobs that Slurm has no more here; workloads and pods that nobody owns", look, judge
)
