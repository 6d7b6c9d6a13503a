"""Units, as systemd 252 shows them."""

from dataclasses import replace
from pathlib import Path

from bridge.doctor.checks.units import CHECK, UNITS, units

from .given import UNKNOWN, Somewhere, judged

_SHOWN = """Id=slurm-k8s-bridge.service
Before=shutdown.target multi-user.target slurmd.service
UnitFileState=enabled

Id=slurm-k8s-bridge-hook.socket
Before=slurmd.service shutdown.target sockets.target
UnitFileState=enabled

Id=slurm-k8s-bridge-user.socket
Before=shutdown.target sockets.target
UnitFileState=enabled
"""


def test_they_start_at_boot_and_before_slurmd(tmp_path: Path) -> None:
    place = Somewhere(tmp_path)
    place.says = {"systemctl show": _SHOWN}
    good = CHECK.look(place)
    assert [unit.name for unit in good] == list(UNITS) and judged(CHECK, good) == []
    service, *sockets = good
    assert judged(CHECK, (replace(service, before=frozenset({"shutdown.target"})), *sockets)) == ["unit-after-slurmd"]
    assert judged(CHECK, (service, replace(sockets[0], state="disabled"), sockets[1])) == ["unit-not-enabled"]
    assert judged(CHECK, (replace(service, state="", before=frozenset()), *sockets)) == ["unit-not-enabled"]
    assert judged(CHECK, units("")) == [UNKNOWN + "units-unknown"]
