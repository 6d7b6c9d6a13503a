"""First frames on the two sockets, typed and bounded. Everything behind them is untrusted until it fits."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from bridge import __version__, wellknown
from bridge.messages.bridged import PROTOCOL_UNLIKE

Text = Annotated[str, Field(max_length=4096)]
_VARIABLES_LIMIT = 2000  # slurmd sets some sixty


def mismatch(version: object, peer: str) -> str | None:
    """Why this daemon and a peer ("hook", "bridgectl") of this protocol cannot talk: one sentence that says which side
    is the older one. None when they can."""
    if type(version) is int and wellknown.OLDEST_PROTOCOL <= version <= wellknown.PROTOCOL:
        return None
    told = version if type(version) is int else "none"
    older = "bridged" if type(version) is int and version > wellknown.PROTOCOL else f"the {peer}"
    known, oldest = wellknown.PROTOCOL, wellknown.OLDEST_PROTOCOL
    words = {"version": __version__, "known": known, "oldest": oldest, "peer": peer, "told": told, "older": older}
    return PROTOCOL_UNLIKE.sentence(**words)


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    v: int


class SpecPart(_Message):
    """The spec file as the hook read it: base64 data, or the sentence why not."""

    v: int = wellknown.PROTOCOL
    path: Text
    data: str = Field(default="", max_length=2 * wellknown.SPEC_LIMIT)
    error: Text = ""


class ShownMarker(BaseModel):
    """Which run the job's marker names: restart and start (epoch seconds, 0 where Slurm does not tell)."""

    restart: int = Field(ge=0)
    start: int = Field(ge=0)


class HookRequest(_Message):
    """A prolog or epilog hook's question. ``bridge`` is false for a job that did not ask for the bridge.

    Each value of ``env`` is bounded where it is read (`slurm.environ`): too long a one is the job's fault, with a
    sentence, while a question that does not fit this class is the node's.
    ``began`` is when the hook's process began, seconds of the boot clock: Slurm counts from there, whichever daemon
    the hook speaks to. ``marker`` is what an epilog found. Both are None from hooks that do not tell yet.
    ``lingers`` is true when slurmd was told that the epilog failed, and waits no more.
    """

    phase: Literal["prolog", "epilog"]
    bridge: bool
    env: dict[Text, str] = Field(max_length=_VARIABLES_LIMIT)
    groups: tuple[int, ...] = Field(default=(), max_length=65536)
    spec: SpecPart | None = None
    token: str | None = Field(default=None, max_length=8192, repr=False)
    token_error: Text | None = None
    began: float | None = Field(default=None, ge=0)
    marker: ShownMarker | None = None
    lingers: bool = False


class ScanReply(_Message):
    """What a hook found alive on the node."""

    class Leftover(BaseModel):
        """One process."""

        pid: int
        command: Text = ""
        why: Text = ""

    v: int = wellknown.PROTOCOL
    kind: Literal["scanned"]
    id: int
    leftovers: tuple[Leftover, ...] = Field(default=(), max_length=10000)
    error: Text | None = None


class UserRequest(_Message):
    """What bridgectl asks. ``restart`` is the restart count of the run that `attach` is of and that `stop` shall end,
    None from versions that do not tell it. ``after`` has the position behind the last output seen of each rank, when
    `attach` reconnects; ``ranks`` those whose output it wants (none: those that are followed anyway), ``every`` means
    all of them;
    ``token`` of `attach` and `token`: one of the asking user's own, since a restarted daemon has lost the one that the
    hook brought, and none lives as long as a long job.
    ``dry_run`` of `gc`: only show, delete nothing. ``rank`` and ``lines`` of `logs`: whose last lines, and how many."""

    verb: Literal["attach", "stop", "status", "ps", "show", "gc", "logs", "token"]
    job: int | None = None
    restart: int | None = Field(default=None, ge=0)
    after: dict[int, Text] = Field(default_factory=dict, max_length=1024)
    ranks: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), max_length=1024)
    every: bool = False
    dry_run: bool = True
    rank: int = Field(default=0, ge=0)
    lines: int = Field(default=100, ge=1, le=100_000)
    token: str | None = Field(default=None, max_length=8192, repr=False)
