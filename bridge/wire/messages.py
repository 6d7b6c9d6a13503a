"""First frames on the two sockets, typed and bounded. Everything behind them is untrusted until it fits."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from bridge import wellknown

Text = Annotated[str, Field(max_length=4096)]
_VALUE_LIMIT = 64 * 1024  # one SLURM_* value: a node list of 10,000 nodes fits


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    v: int


class SpecPart(_Message):
    """The spec file as the hook read it: base64 data, or the sentence why not."""

    v: int = wellknown.PROTOCOL
    path: Text
    data: str = Field(default="", max_length=2 * wellknown.SPEC_LIMIT)
    error: Text = ""


class HookRequest(_Message):
    """A prolog or epilog hook's question. ``bridge`` is false for a job that did not ask for the bridge."""

    phase: Literal["prolog", "epilog"]
    bridge: bool
    env: dict[Text, Annotated[str, Field(max_length=_VALUE_LIMIT)]] = Field(max_length=500)
    groups: tuple[int, ...] = Field(default=(), max_length=65536)
    spec: SpecPart | None = None
    token: str | None = Field(default=None, max_length=8192, repr=False)
    token_error: Text | None = None


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
    """What bridgectl asks. ``after`` has the last stamp seen of each rank, when `attach` reconnects;
    ``token`` a token of the asking user's own, since a restarted daemon has lost the one that the hook brought."""

    verb: Literal["attach", "status", "ps", "show"]
    job: int | None = None
    after: dict[int, Text] = Field(default_factory=dict, max_length=65536)
    token: str | None = Field(default=None, max_length=8192, repr=False)
