"""One run of chaos from its begin to its report."""

import json
import pickle
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.integration.stack import Stack

from .arming import Arming
from .driver import Driver
from .evidence import Evidence
from .hands import Agent
from .laws import Violation
from .mixes import USUAL
from .plan import Lifecycle, Mix, Pace, PodLife, pod_life
from .site import site
from .striking import Faults

_ROOT = Path(__file__).parents[2]
_PRODUCT = ("bridge", "slurm", "rbac")
KEPT = Path(__file__).parent / "reports"  # of the long run, which are committed: its machines come and go
HISTORY = "history"  # all that was seen, for `judge`
_WAITING = 2.0  # jobs for each node: some always wait, the longer the oftener they have been requeued


@dataclass(frozen=True)
class Report:
    """What has happened; mix, seed, nodes and pace draw it again. `kinds` and `states` count jobs; `met` what the
    faults met; `failpoints` how often each has struck."""

    commit: str
    mix: str
    seed: int
    lifecycles: int
    nodes: int
    pace: Pace
    seconds: int
    kinds: dict[str, int]
    states: dict[str, int]
    hooks: int
    workloads: int
    pods: int
    drains: int
    faults: dict[str, int]
    met: dict[str, int]
    failpoints: dict[str, int]
    violations: list[Violation]

    def __str__(self) -> str:
        struck = sorted(self.failpoints.values())
        lines = [
            f"commit {self.commit}, mix {self.mix}, seed {self.seed}",
            f"{self.lifecycles} lifecycles on {self.nodes} nodes, {self.seconds} s",
            f"a fault every {self.pace.faults:g} s, a failpoint of each node every {self.pace.failpoints:g} s, "
            f"a daemon silenced again after {self.pace.silences:g} s, or after {self.pace.serves:g} s of its service",
            f"{self.hooks} hooks, {self.workloads} workloads, {self.pods} pods, {self.drains} drains",
            *(f"{name}: {getattr(self, name)}" for name in ("kinds", "states", "faults", "met")),
            f"failpoints: {sum(struck)} strikes; {len(struck) - struck.count(0)} of {len(struck)} have struck",
            *map(str, self.violations),
            f"{len(self.violations)} violations",
        ]
        return "\n".join(lines)


def run(
    stack: Stack,
    seed: int,
    lifecycles: int,
    out: Path,
    pace: Pace | None = None,
    product: str | None = None,
    mix: Mix = USUAL,
) -> Report:
    """So many lifecycles on a clean stack, which has this `product`, by default that of the checkout, at the mix's own
    pace unless another is asked for. The report, and what is kept of violations, goes to a folder of `out`."""
    pace, began, product = pace or mix.pace, time.time(), product or commit()
    folder = out / "-".join([product, *([] if mix == USUAL else [mix.name]), str(seed)])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    issued: dict[int, Lifecycle] = {}
    before = sum((Counter(report["failpoints"]) for report in reports(out, product)), Counter[str]())

    def life_of(command: list[str], rank: int, run: int) -> PodLife:
        return pod_life(seed, issued[int(command[1])], rank, run, mix)

    def arming(hands: dict[str, Agent]) -> Arming:
        return Arming(seed, hands, pace, before, mix)

    with _clean(stack), site(stack, mix, arming, life_of) as there:
        evidence = Evidence(folder)
        at_once = round(len(stack.nodes) * _WAITING) + 1
        faults = Faults(there, seed, pace.faults, mix)
        driver = Driver(there, mix, seed, lifecycles, at_once, faults, evidence.look, issued)
        driver.drive()
        evidence.look(driver)
    (folder / HISTORY).write_bytes(pickle.dumps(driver.site.history))
    report = _report(product, driver, pace, evidence.kept, began)
    (folder / "report.json").write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    return report


def reports(out: Path, of: str) -> list[dict[str, Any]]:
    """Of the pieces of this commit that came to their end, by seed: those of `out`, and those that are `KEPT`."""
    files = [*KEPT.glob(f"{of}-*.json"), *out.glob(f"{of}-*/report.json")]
    # Until there were others, each was of the usual mix, and did not say so.
    found = [{"mix": USUAL.name} | json.loads(file.read_text(encoding="utf-8")) for file in files]
    by_seed = {(int(report["seed"]), str(report["mix"])): report for report in found}
    return [by_seed[key] for key in sorted(by_seed)]


def commit() -> str:
    """The last one that changed what is tested, short; with a + where the checkout differs from it."""
    return _git("log", "-1", "--format=%h", "--", *_PRODUCT) + ("+" if _git("status", "--short", *_PRODUCT) else "")


@contextmanager
def _clean(stack: Stack) -> Iterator[None]:
    stack.make_clean()
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        stack.make_clean()  # the next one waits for nodes that are in service
        raise


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _report(product: str, driver: Driver, pace: Pace, found: list[Violation], began: float) -> Report:
    history = driver.site.history
    return Report(
        product,
        driver.mix.name,
        driver.seed,
        driver.count,
        len(driver.site.stack.nodes),
        pace,
        round(time.time() - began),
        dict(Counter(each.lifecycle.kind.value for each in history.ended.values())),
        dict(Counter(each.state for each in history.ended.values())),
        len(history.hooks),
        len(history.workloads),
        len(history.pods),
        len(history.drains),
        dict(Counter(fault.harm.value for _, fault in driver.faults.struck)),
        dict(driver.faults.met),
        dict(driver.site.arming.struck),
        found,
    )
