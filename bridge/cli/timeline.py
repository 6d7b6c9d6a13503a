"""One time line over Slurm, the bridge and Kubernetes, made of what `show` tells of a run. Pure.

Slurm and Kubernetes tell whole seconds, each by its own clock; so the stations stand in the order in which a run passes
them, and a wait that comes out negative by a second of rounding is none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

_WORTH = 1.0  # seconds from which on a wait is told


@dataclass(frozen=True)
class Station:
    """``by``: who tells the time; ``what`` for people; ``wait`` what was waited for on the way here."""

    name: str
    by: str
    what: str
    wait: str


@dataclass(frozen=True)
class Passed:
    """A station and when it was passed, seconds since the epoch; ``note`` for people."""

    station: Station
    at: float
    note: str = ""


@dataclass(frozen=True)
class Wait:
    """``seconds`` before the station ``until``; ``over`` false while it lasts."""

    until: str
    what: str
    seconds: float
    over: bool = True


STATIONS = (
    Station("submitted", "Slurm", "submitted", ""),
    Station("eligible", "Slurm", "eligible to run", "a dependency, a begin time or a hold"),
    Station("allocated", "Slurm", "nodes allocated", "free nodes, in the queue"),
    Station("prolog", "bridge", "prolog began", "the nodes to begin the prolog"),
    Station("created", "bridge", "workload created", "slurmctld's and the API server's answers"),
    Station("opened", "bridge", "gate of this node's pod opened", "the operator to make the pods"),
    Station("scheduled", "Kubernetes", "pods scheduled", "the other nodes' gates, and the scheduler"),
    Station("pulling", "Kubernetes", "images pulled from here on", "volumes and network of the pods"),
    Station("started", "Kubernetes", "containers started", "the image, and the container to start"),
    Station("ready", "bridge", "all pods ready", "the pods to be ready"),
    Station("judged", "bridge", "the prolog's verdict", "the pods to start, in vain"),
    Station("answered", "bridge", "prolog ended", "the report to Slurm"),
    Station("script", "bridge", "script at bridgectl attach", "the other prologs, and the script to come to attach"),
    Station("ended", "bridge", "training ended", "the training"),
    Station("epilog", "bridge", "epilog began", "the script to end, and Slurm"),
    Station("released", "bridge", "proven gone from this node", "the pods to end, and the proof of it"),
)
STATIONS_BY_NAME = {station.name: station for station in STATIONS}
_ORDER = {station.name: place for place, station in enumerate(STATIONS)}
_OF_STARTED = ("created", "opened", "scheduled", "pulling", "started", "ready")
_POD_TIMES = {"scheduled": "scheduled_at", "pulling": "sandbox_at", "started": "started_at"}


def line_of(run: Mapping[str, Any]) -> list[Passed]:
    """The stations whose time is known, in the order in which a run passes them."""
    known = {passed.station.name: passed for passed in (*_slurms(run), *_bridges(run), *_pods(run))}
    return sorted(known.values(), key=lambda passed: _ORDER[passed.station.name])


def unknown_of(run: Mapping[str, Any]) -> list[str]:
    """The stations that this run must have passed, and of which no time is known here."""
    known = {passed.station.name for passed in line_of(run)}
    return [name for name in _must_have_passed(run) if name not in known]


def waits_of(run: Mapping[str, Any], now: float) -> list[Wait]:
    """What it waited for and how long, a second or more; the last one may last still."""
    line = line_of(run)
    found = [
        Wait(later.station.name, later.station.wait, round(later.at - earlier.at, 1))
        for earlier, later in pairwise(line)
    ]
    following = _next(run)
    if line and following is not None:
        found.append(Wait(following.name, following.wait, round(now - line[-1].at, 1), over=False))
    return [wait for wait in found if wait.seconds >= _WORTH]


def _slurms(run: Mapping[str, Any]) -> Iterator[Passed]:
    told = run.get("slurm") or {}
    for name in ("submitted", "eligible", "allocated"):
        if told.get(name):
            note = ", ".join(run.get("nodes", [])[:4]) if name == "allocated" else ""
            yield Passed(_of(name), float(told[name]), note)


def _bridges(run: Mapping[str, Any]) -> Iterator[Passed]:
    names = {"attached": "script"}
    for name, at in (run.get("stations") or {}).items():
        station = names.get(name, name)
        if station in _ORDER:
            yield Passed(_of(station), float(at))


def _pods(run: Mapping[str, Any]) -> Iterator[Passed]:
    """When the last pod had come so far, and which one that was."""
    pods: Mapping[Any, Any] = run.get("pods") or {}
    for name, field in _POD_TIMES.items():
        times = {rank: at for rank, pod in pods.items() if (at := seconds(str(pod.get(field) or ""))) is not None}
        if times:
            last = max(times, key=lambda rank: times[rank])
            share = "" if len(times) == len(run.get("nodes", [])) else f"{len(times)} of {len(run.get('nodes', []))}, "
            yield Passed(_of(name), times[last], f"{share}last rank {last} on {pods[last].get('node') or '?'}")


def _must_have_passed(run: Mapping[str, Any]) -> Iterator[str]:
    started = run.get("phase") != "prolog" and not run.get("verdict")
    over = run.get("phase") in ("release", "released")
    yield from ("submitted", "allocated", "prolog")
    if started and run.get("rank") == 0:
        yield from (name for name in _OF_STARTED if name != "pulling")  # told since Kubernetes 1.29
    if run.get("phase") != "prolog":
        yield "answered"
    if run.get("outcome"):
        yield "ended"
    if over:
        yield "epilog"
    if run.get("phase") == "released":
        yield "released"


def _next(run: Mapping[str, Any]) -> Station | None:
    """The station that is waited for now; None where nobody waits, or nobody knows."""
    line = line_of(run)
    if run.get("phase") == "released" or not line:
        return None
    last = line[-1].station.name
    if run.get("verdict") and last in ("judged", "answered"):
        return _of("epilog" if last == "answered" else "answered")
    following = STATIONS[_ORDER[last] + 1 :]
    return next((station for station in following if station.name != "judged"), None)


def _of(name: str) -> Station:
    return STATIONS_BY_NAME[name]


def seconds(stamp: str) -> float | None:
    """Seconds since the epoch of an RFC 3339 time; None for what is none."""
    try:
        return datetime.fromisoformat(stamp).timestamp() if stamp else None
    except ValueError:
        return None
