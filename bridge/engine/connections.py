"""How this node and its servers stand to each other, as `bridgectl status` tells it: one state each, with cause,
consequence and cure, and what will be one soon."""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from bridge import clock
from bridge.engine.health import Contact
from bridge.job.faults import row
from bridge.job.faults.row import CONSEQUENCES, Moment
from bridge.kube.standing import TOLERANCE, Standing, difference
from bridge.messages import Message
from bridge.messages import bridged as messages

_LAST_PART = 0.1  # of a credential's life: a token is renewed at its half, a certificate by whoever made it


def contacts(known: Mapping[str, Contact]) -> dict[str, dict[str, Any]]:
    """The last answer of each server."""
    return {name: _contact(contact) for name, contact in known.items()}


def _contact(contact: Contact) -> dict[str, Any]:
    now = clock.now()
    down = None if contact.down_since is None else round(now - contact.down_since, 1)
    told = {"seconds_ago": round(now - contact.at, 1), "fault": contact.fault, "down_for": down}
    return told | {"state": contact.row or ("" if contact.fault else "good"), "consequence": _consequence(contact.row)}


def _consequence(name: str) -> str:
    """Of a row, whatever the run is at."""
    if not name:
        return ""
    verdicts = ((moment, row(name).verdict_in(moment)) for moment in Moment)
    return "; ".join(f"{moment.value}: {CONSEQUENCES[moment][found]}" for moment, found in verdicts if found)


def credential(standing: Standing) -> dict[str, Any]:
    """This node's own for the API server, with what has to be done about it before it fails."""
    ends = None if standing.life is None else _moment(standing.life.ends)
    ahead = None if standing.ahead is None else round(standing.ahead)
    return {"kind": standing.kind, "ends": ends, "clock_ahead": ahead, "warnings": list(_warnings(standing))}


def _warnings(standing: Standing) -> Iterator[dict[str, str]]:
    if standing.unread:
        yield _told(messages.KUBECONFIG_UNUSABLE, standing.unread)
    if standing.ahead is not None and abs(standing.ahead) > TOLERANCE:
        yield _told(messages.CLOCK_OFF, messages.CLOCK_OFF.sentence(difference=difference(standing.ahead)))
    life, now = standing.life, time.time() - (standing.ahead or 0.0)
    if life is not None and life.ends - (life.ends - life.begins) * _LAST_PART < now:
        words = {"kind": standing.kind, "ends": _moment(life.ends)}
        yield _told(messages.CREDENTIAL_ENDS, messages.CREDENTIAL_ENDS.sentence(**words))


def _told(message: Message, sentence: str) -> dict[str, str]:
    return {"state": message.name, "sentence": sentence, "consequence": message.consequence}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
