"""What `bridgectl attach` exits with, and what Slurm makes of it: the page of the documentation that is made of the
code."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge import wellknown
from bridge.cli.table import cell
from bridge.job.faults import TABLE, Moment, Verdict
from bridge.job.faults.containers import RANK_FAILED
from bridge.job.faults.images import ROWS as IMAGE_ROWS
from bridge.job.faults.runs import ENDED_BY_SLURM

_SIGNALLED = 128
_BY_SLURM = "what Slurm ended it for: CANCELLED, TIMEOUT, PREEMPTED; 0:0"


@dataclass(frozen=True)
class ExitCode:
    """``code`` for people, ``when`` it is what attach exits with, ``sacct`` its State and ExitCode."""

    code: str
    when: str
    sacct: str


ROWS = (
    ExitCode("0", "every rank exited 0", "COMPLETED 0:0"),
    ExitCode("1 to 128", "that of the rank that failed first", "FAILED CODE:0"),
    ExitCode(
        "128 + n",
        "the rank that failed first was ended by signal n, or exited so: 134 abort, 137 kill, 139 segmentation fault, "
        "143 termination",
        "FAILED n:0",
    ),
    ExitCode(
        str(wellknown.EXIT_INFRASTRUCTURE),
        "the training did not end by its own doing, or bridged could not be asked; the output's last line says why, "
        "and the rows below are what it can be",
        f"FAILED {wellknown.EXIT_INFRASTRUCTURE}:0",
    ),
    ExitCode(
        str(wellknown.EXIT_TERMINATED),
        "SIGTERM came to the script: by scancel, time limit, preemption or requeue",
        _BY_SLURM,
    ),
    ExitCode(
        str(wellknown.EXIT_TERMINATED), "SIGTERM came to the script alone: scancel --batch --signal=TERM", "FAILED 15:0"
    ),
    ExitCode("1", "the spec was refused in the prolog, and nobody could cancel the job (tier none)", "FAILED 1:0"),
    ExitCode(str(wellknown.EXIT_USAGE), "attach stands outside of a batch script", "FAILED 64:0"),
)

_HEAD = """# Exit codes

Made from the code by `make docs`. `bridgectl attach` exits with what the first column says, and so does the script
that ends in `exec bridgectl attach`. `scontrol show job` shows that number as it is (`ExitCode=137:0`); `sacct` takes
128 off one above it (`9:0`), which is Slurm's own way.

The rank that failed first is the one whose container ended first by the kubelets' clocks, which tell whole seconds;
within one second a code that is not 1 goes first, since 1 is what Python exits with when its peer has gone.

| attach exits | when | `sacct`: State, ExitCode |
|---|---|---|"""
_INFRASTRUCTURE = f"""
## What can be behind {wellknown.EXIT_INFRASTRUCTURE}

[messages.md](messages.md) has cause, consequence and cure of each.

| row | what is told |
|---|---|"""


def shown_by_sacct(code: int) -> str:
    """What sacct shows of this exit code of a script."""
    return f"{code - _SIGNALLED if code > _SIGNALLED else code}:0"


def as_page() -> str:
    """The whole page."""
    lines = [_HEAD, *(f"| {row.code} | {cell(row.when)} | {cell(row.sacct)} |" for row in ROWS), _INFRASTRUCTURE]
    return "\n".join([*lines, *_behind_infrastructure()])


def _behind_infrastructure() -> Iterator[str]:
    for fault in TABLE:
        ends = fault.verdict_in(Moment.RUNNING) in (Verdict.JOB, Verdict.NODE, Verdict.SHARED)
        if (ends and fault not in (RANK_FAILED, ENDED_BY_SLURM)) or fault in IMAGE_ROWS:
            yield f"| `{fault.name}` | {cell(fault.sentence)} |"
