"""What the engine's queue carries: an event of a run, or something that a hook or a user did."""

from dataclasses import dataclass
from threading import Event

from bridge.engine import events
from bridge.engine.desk import Hook
from bridge.engine.state import Mark
from bridge.job.ids import RunKey
from bridge.slurmrest.api import Credential
from bridge.wire.messages import ScanReply


@dataclass(frozen=True)
class Happened:
    """An event of a run. ``of`` is the run that an activity belonged to, None where nobody can mistake it: a job id
    comes back, and a late word about the run that had it before is not the new one's. ``ended`` is set once the watch
    that tells this is not wanted any more, None where no watch does: while it notices, the next one may have told more,
    and a pod that is gone would be there again."""

    key: RunKey
    event: events.Event
    of: Mark | None = None
    ended: Event | None = None


@dataclass(frozen=True)
class HookArrived:
    """A hook's first frame is read."""

    hook: Hook


@dataclass(frozen=True)
class HookScanned:
    """A hook tells what its scan found."""

    hook: Hook
    reply: ScanReply


@dataclass(frozen=True)
class HookClosed:
    """A hook's connection ended."""

    hook: Hook


@dataclass(frozen=True)
class TokenBrought:
    """The owner of a run brought a token of theirs."""

    key: RunKey
    credential: Credential


@dataclass(frozen=True)
class Stop:
    """The daemon ends."""


Message = Happened | HookArrived | HookScanned | HookClosed | TokenBrought | Stop
