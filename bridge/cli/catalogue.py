"""The catalogue of messages for people: the page of the documentation that is made of the code."""

from collections.abc import Iterator

from bridge.cli.table import cell
from bridge.job.faults import TABLE, Fault, Moment, Subject
from bridge.job.faults.row import CONSEQUENCES
from bridge.messages.pages import MESSAGES, SPEAKERS

_HEAD = """# Messages

Made from the code by `make docs`. Each message has a name, and says what is the cause, what becomes of it, and what to
do. Names stand in brackets in the sentence, before the cure; what the bridge observes of jobs and nodes is named by
`bridgectl explain JOBID`, and verdicts and patience of these rows stand in [faults.md](faults.md). Words in braces are
filled in: where a cause is nothing but `{message}`, it is the whole sentence, with its own cure."""
_COLUMNS = "| message | cause | consequence | cure |\n|---|---|---|---|"


def as_page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for speaker, said in SPEAKERS.items():
        parts += [f"\n## What {speaker}\n", _COLUMNS]
        parts += [_line(item.name, item.cause, item.consequence, item.cure) for item in said]
    for subject in Subject:
        rows = [fault for fault in TABLE if fault.subject is subject]
        parts += [f"\n## Observed of: {subject.value}\n", _COLUMNS]
        parts += [_line(row.name, row.cause, "<br>".join(consequences(row)), row.cure or row.advice) for row in rows]
    return "\n".join(parts)


def entry(name: str) -> dict[str, str] | None:
    """The message of this name, or the row of the fault table; None for a name that neither has."""
    for item in MESSAGES:
        if item.name == name:
            return {"name": name, "cause": item.cause, "consequence": item.consequence, "cure": item.cure}
    for row in TABLE:
        if row.name == name:
            told = "; ".join(consequences(row))
            return {"name": name, "cause": row.cause, "consequence": told, "cure": row.cure or row.advice}
    return None


def consequences(fault: Fault) -> Iterator[str]:
    """What becomes of it at each moment at which it can be met."""
    for moment in Moment:
        verdict = fault.verdict_in(moment)
        if verdict is not None:
            yield f"{moment.value}: {CONSEQUENCES[moment][verdict]}"


def _line(name: str, cause: str, consequence: str, cure: str) -> str:
    shown = "<br>".join(cell(part) for part in consequence.split("<br>"))
    return f"| `{name}` | {cell(cause)} | {shown} | {cell(cure)} |"
