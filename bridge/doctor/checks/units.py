"""systemd's units: started at boot, and before slurmd, or a job begins on a node that does not know its runs yet."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import CannotLook, Check, Told
from bridge.doctor.place import Place
from bridge.messages import doctor as messages

SERVICE = "slurm-k8s-bridge.service"
UNITS = (SERVICE, "slurm-k8s-bridge-hook.socket", "slurm-k8s-bridge-user.socket")
_SLURMD = "slurmd.service"
_AT_BOOT = ("enabled", "static", "generated")


@dataclass(frozen=True)
class Unit:
    """``state`` is how it is enabled, '' where systemd knows none of this name."""

    name: str
    state: str
    before: frozenset[str]


def look(place: Place) -> tuple[Unit, ...]:
    return units(place.command("systemctl", "show", "--property=Id,UnitFileState,Before", *UNITS))


def units(text: str) -> tuple[Unit, ...]:
    """Of `systemctl show`: a block for each."""
    blocks = (dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in text.split("\n\n"))
    return tuple(
        Unit(block["Id"], block.get("UnitFileState", ""), frozenset(block.get("Before", "").split()))
        for block in blocks
        if "Id" in block
    )


def judge(facts: tuple[Unit, ...]) -> Iterator[Told]:
    found = {unit.name: unit for unit in facts}
    for name in UNITS:
        if name not in found:
            raise CannotLook(messages.UNITS_UNKNOWN.told(unit=name))
        if found[name].state not in _AT_BOOT:
            yield messages.UNIT_NOT_ENABLED.told(unit=name, state=found[name].state or "unknown to systemd")
    if found[SERVICE].state and _SLURMD not in found[SERVICE].before:
        yield messages.UNIT_AFTER_SLURMD.told(unit=SERVICE)


CHECK = Check("units", "bridged and its sockets start at boot, and before slurmd", look, judge)
