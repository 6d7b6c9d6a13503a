"""The fault table for people: `bridgectl explain --table`, and the page of the documentation that is made of it."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from bridge.job.faults import TABLE, Fault, Moment, Subject, Verdict
from bridge.job.faults.row import CONSEQUENCES

_WIDTH = 100  # columns of a terminal
_PAGE_HEAD = """# Faults: what the bridge observes, and what becomes of it

Made from the code by `make docs`; `bridgectl explain --table` prints the same. `bridgectl explain JOBID` says which row
a job met.

A row has a verdict: who is to blame, and so what happens. *Waits* says how long the observation must last before it is
believed; where it says *deadline*, it is waited for until the deadline of the prolog or the epilog. Words in braces are
filled in.
"""
_LABELS = ("verdict", "waits", "told", "cause", "cure", "seen")
_COLUMNS = "| row | verdict | waits | what is told | source |\n|---|---|---|---|---|"


def as_text() -> str:
    """All rows, each a block that fits into 100 columns."""
    return "\n\n".join("\n".join(_block(fault)) for fault in TABLE)


def as_objects() -> list[dict[str, Any]]:
    """All rows as JSON shows them."""
    return [
        {
            "name": fault.name,
            "subject": fault.subject.value,
            "verdict": _verdicts(fault),
            "patience": fault.patience,
            "timing": fault.timing or None,
            "told": fault.told,
            "cause": fault.cause,
            "cure": fault.cure,
            "source": fault.source,
        }
        for fault in TABLE
    ]


def as_page() -> str:
    """The documentation's page: what verdicts mean, then one table per subject."""
    parts = [_PAGE_HEAD, *_verdict_tables()]
    for subject in Subject:
        rows = [fault for fault in TABLE if fault.subject is subject]
        lines = "\n".join(_line(fault) for fault in rows)
        title = subject.value[0].upper() + subject.value[1:]
        parts.append(f"## {title}\n\n{_COLUMNS}\n{lines}\n")
    return "\n".join(parts)


def _block(fault: Fault) -> Iterator[str]:
    verdicts = ", ".join(f"{moment} {verdict}" for moment, verdict in _verdicts(fault).items())
    yield f"{fault.name}  ({fault.subject.value})"
    lines = (verdicts, waits(fault), fault.told, fault.cause, fault.cure, fault.source)
    for label, text in zip(_LABELS, lines, strict=True):
        if text:
            head = f"    {label + ':':<9}"
            yield textwrap.fill(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def waits(fault: Fault) -> str:
    """How long the observation must last."""
    if fault.patience is None:
        return "deadline"
    return f"{fault.patience:g} s" + (f" (timing.{fault.timing})" if fault.timing else "")


def _verdicts(fault: Fault) -> dict[str, str]:
    found = ((moment, fault.verdict_in(moment)) for moment in Moment)
    return {moment.value: verdict.value for moment, verdict in found if verdict is not None}


def _verdict_tables() -> Iterator[str]:
    rows = [
        f"| `{verdict.value}` | " + " | ".join(CONSEQUENCES[moment][verdict] for moment in Moment) + " |"
        for verdict in Verdict
    ]
    yield "## Verdicts\n\n| verdict | in the prolog | while it runs | in the epilog |\n|---|---|---|---|"
    yield "\n".join(rows) + "\n"


def _line(fault: Fault) -> str:
    verdicts = "<br>".join(f"{moment}: `{verdict}`" for moment, verdict in _verdicts(fault).items())
    told = f"{fault.sentence} *({fault.told})*"
    return f"| `{fault.name}` | {verdicts} | {waits(fault)} | {cell(told)} | {cell(fault.source)} |"


def cell(text: str) -> str:
    """A text for a cell of a Markdown table: neither a bar nor HTML, whatever it holds."""
    return re.sub(r"([|<>])", r"\\\1", text)
