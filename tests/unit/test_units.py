"""systemd's units against the places that the code knows: what is installed and not set up starts nothing."""

import re
from pathlib import Path

import pytest

from bridge import wellknown

PACKAGING = Path(__file__).parents[2] / "packaging"
UNITS = sorted(PACKAGING.glob("systemd/slurm-k8s-bridge*"))


def said(unit: str, key: str) -> list[str]:
    """The values of a key in a unit, in order."""
    return re.findall(rf"^{key}=(.*)$", (PACKAGING / "systemd" / unit).read_text(), re.MULTILINE)


@pytest.mark.parametrize("kind", ["hook", "user"])
def test_no_socket_is_opened_without_a_config(kind: str) -> None:
    assert said(f"slurm-k8s-bridge-{kind}.socket", "ConditionPathExists") == [wellknown.CONFIG_FILE]


def test_the_service_is_not_refused_while_its_socket_is_open() -> None:
    """systemd would ask it to start again for as long as somebody waits there: TriggerLimitIntervalSec=0."""
    conditions = said("slurm-k8s-bridge.service", "ConditionPathExists")
    assert conditions == [f"|{wellknown.CONFIG_FILE}", f"|{wellknown.HOOK_SOCKET}"]
    assert said("slurm-k8s-bridge-hook.socket", "ListenStream") == [wellknown.HOOK_SOCKET]


def test_what_the_service_does_not_bring_along_is_enabled() -> None:
    brought = " ".join(said("slurm-k8s-bridge.service", "Wants"))
    startable = [unit.name for unit in UNITS if "[Install]" in unit.read_text()]
    preset = (PACKAGING / "systemd/80-slurm-k8s-bridge.preset").read_text().splitlines()
    assert sorted(line.removeprefix("enable ") for line in preset) == startable
    left = {unit.name for unit in UNITS} - set(startable)
    assert left == {"slurm-k8s-bridge-renew.service", "slurm-k8s-bridge-renew.timer"}
    assert "slurm-k8s-bridge-renew.timer" in brought.split()
