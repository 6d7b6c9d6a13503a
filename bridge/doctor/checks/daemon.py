"""Whether bridged answers, and what it has met."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from bridge import __version__, wellknown
from bridge.doctor.check import Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.messages import doctor as messages
from bridge.wire.client import ask_once

_SECONDS = 10.0
_FRESH = 60.0  # seconds: where no job has asked a server since, its last answer is history, and its own check asks it


class Connection(BaseModel):
    """A server's last answer to it."""

    model_config = ConfigDict(extra="ignore")

    fault: str = ""
    seconds_ago: float = 0.0


class Status(BaseModel):
    """What of the daemon's own word is judged."""

    model_config = ConfigDict(extra="ignore")

    version: str
    node: str
    tier: str
    connections: dict[str, Connection] = {}
    last_fault: dict[str, Any] | None = None


@dataclass(frozen=True)
class Daemon:
    """``fault`` is why it does not answer, '' when it does."""

    status: Status | None
    fault: str = ""


def look(place: Place) -> Daemon:
    try:
        path = Path(place.path(wellknown.USER_SOCKET))
        return Daemon(Status.model_validate(ask_once({"verb": "status"}, path, _SECONDS)))
    except (BridgeError, ValueError) as error:
        return Daemon(None, clause(error))


def judge(facts: Daemon) -> Iterator[Told]:
    if facts.status is None:
        yield messages.DAEMON_SILENT.told(why=facts.fault)
        return
    if facts.status.version != __version__:
        yield messages.VERSIONS_DIFFER.told(daemon=facts.status.version, own=__version__)
    for server, connection in facts.status.connections.items():
        if connection.fault and connection.seconds_ago < _FRESH:
            yield messages.DAEMON_UNCONNECTED.told(server=server, fault=connection.fault)
    if facts.status.last_fault is not None:
        sentence = str(facts.status.last_fault.get("sentence"))[:500]
        yield messages.NODE_GAVE_UP.told(job=facts.status.last_fault.get("job"), sentence=sentence)


CHECK = Check("daemon", "bridged answers, is of this version, and reaches its servers", look, judge)
