"""What a person needs to understand a violation, kept as soon as it is seen: nodes forget."""

import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .driver import Driver
from .laws import Violation, violations

_AROUND = 60.0  # seconds before a violation of which is shown what struck
_SETTLED = 10.0  # seconds after which everybody has told what they have to tell of a moment
_CONFIG = "/etc/slurm-k8s-bridge/bridge.toml"
_JOURNAL = "/var/lib/slurm-k8s-bridge/journal"


class Evidence:
    """In a folder, one below it for each violation: `shrink` takes the journals there."""

    def __init__(self, folder: Path) -> None:
        self.kept: list[Violation] = []
        self._folder = folder

    def look(self, driver: Driver) -> None:
        """At what has been violated by now."""
        for violation in violations(driver.site.history.at_this_moment()):
            if violation not in self.kept and (violation.at < time.time() - _SETTLED or driver.is_over):
                print(f"BROKEN (seed {driver.seed}): {violation}", flush=True)
                self._keep(driver, violation, self._folder / f"violation-{len(self.kept)}")
                self.kept.append(violation)

    def _keep(self, driver: Driver, violation: Violation, folder: Path) -> None:
        folder.mkdir()
        history, job = driver.site.history.at_this_moment(), violation.job
        struck = [*driver.faults.struck, *((strike.at, strike) for strike in history.strikes)]
        everything: tuple[Any, ...] = (*history.hooks, *history.workloads.values(), *history.pods.values())
        of_job = [str(each) for each in everything if each.job == job]
        ended = [str(history.ended[job])] if job in history.ended else []
        text = [f"seed {driver.seed}", str(violation), "", *ended, *of_job, "", *lately(violation.at, struck)]
        (folder / "violation").write_text("\n".join(text) + "\n", encoding="utf-8")
        for node in sorted({violation.node, *(hook.node for hook in history.hooks if hook.job == job)} - {""}):
            self._copy(driver, node, job, folder / node)

    @staticmethod
    def _copy(driver: Driver, node: str, job: int, folder: Path) -> None:
        stack = driver.site.stack
        folder.mkdir()
        for what in (_CONFIG, _JOURNAL):
            words = ["docker", "cp", "-q", f"{stack.container(node)}:{what}", str(folder)]
            subprocess.run(words, check=True, capture_output=True)
        words = ["journalctl", "-u", "slurm-k8s-bridge", "-o", "cat", "--no-pager", "-n", "20000"]
        told = [line for line in stack.exec(node, *words).splitlines() if f'"job": {job},' in line or not job]
        (folder / "log").write_text("\n".join(told) + "\n", encoding="utf-8")


def lately(moment: float, struck: Iterable[tuple[float, object]]) -> list[str]:
    """What struck until then that may have to do with it: faults and failpoints of all nodes, in their order."""
    near = [(at, f"{at:.3f} {what}") for at, what in struck if -1 <= moment - at <= _AROUND]
    return [line for _, line in sorted(near)]
