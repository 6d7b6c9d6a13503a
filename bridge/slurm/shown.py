"""What `scontrol show config` and `scontrol show node` say: Slurm's settings, and what it thinks a node has."""

import re
from dataclasses import dataclass
from datetime import datetime
from math import inf

_SETTING = re.compile(r"^(\w+)(?:\[\d+\])?\s+= (.*)$", re.MULTILINE)
_AS_OF = re.compile(r"^Configuration data as of (\S+)$", re.MULTILINE)
_NODE_FIELD = re.compile(r"\b(NodeName|NodeHostName|CPUTot|RealMemory|State|CfgTRES)=(\S*)")
_NO_LIMIT = 65534  # what Slurm keeps for a time-out that is not set


@dataclass(frozen=True)
class SlurmSettings:
    """``values`` by lower-case name, several of one name (Prolog[0], Prolog[1]) in order; ``as_of`` is slurmctld's own
    clock, in its local time."""

    values: dict[str, tuple[str, ...]]
    as_of: datetime | None = None

    def text(self, name: str) -> str:
        """'' where it is not set."""
        return ",".join(self.all(name))

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of this name."""
        return self.values.get(name.lower(), ())

    def words(self, name: str) -> set[str]:
        """Of a list with commas; Slurm does not care for their case."""
        return {word.strip().lower() for word in self.text(name).split(",") if word.strip()}

    def seconds(self, *names: str) -> float | None:
        """The first of these that is set; infinite where there is no limit, None where none of them says anything."""
        for text in filter(None, map(self.text, names)):
            number = re.match(r"\d+", text)
            if number is None:
                return inf if text.upper() in ("INFINITE", "UNLIMITED") else None
            return inf if int(number[0]) >= _NO_LIMIT else float(number[0])
        return None


@dataclass(frozen=True)
class SlurmNode:
    """A node as Slurm is configured; ``memory`` in MiB."""

    name: str
    host: str
    cpus: int
    memory: int
    gpus: int
    state: str


def settings(text: str) -> SlurmSettings:
    """Of `scontrol show config`; the settings of plugins behind it are passed over."""
    own = text.split("\n\n", maxsplit=1)[0]
    values: dict[str, tuple[str, ...]] = {}
    for name, value in _SETTING.findall(own):
        if value.strip() not in ("", "(null)", "N/A"):
            values[name.lower()] = (*values.get(name.lower(), ()), value.strip())
    return SlurmSettings(values, _as_of(text))


def node(text: str) -> SlurmNode | None:
    """Of `scontrol show node NAME`; None where that shows none."""
    found = dict(_NODE_FIELD.findall(text))
    tres = dict(part.split("=", 1) for part in found.get("CfgTRES", "").split(",") if "=" in part)
    try:
        return SlurmNode(
            name=found["NodeName"],
            host=found.get("NodeHostName", ""),
            cpus=int(found["CPUTot"]),
            memory=int(found["RealMemory"]),
            gpus=int(tres.get("gres/gpu", "0")),
            state=found.get("State", ""),
        )
    except (KeyError, ValueError):
        return None


def _as_of(text: str) -> datetime | None:
    found = _AS_OF.search(text)
    try:
        return None if found is None else datetime.fromisoformat(found[1])
    except ValueError:
        return None
