"""`bridgectl explain`: which row of the fault table a job met, what was done about it, and the table itself."""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from bridge import wellknown
from bridge.cli import table
from bridge.job.faults import Moment, Verdict, row
from bridge.job.faults.row import CONSEQUENCES
from bridge.wire.client import ask_once

_WIDTH = 100


def explain(options: argparse.Namespace) -> int:
    """The table, or one job's story."""
    if options.table == (options.job is not None):
        print("bridgectl: explain takes a JOBID, or --table", file=sys.stderr)
        return wellknown.EXIT_USAGE
    if options.table:
        print(_table(options.output))
        return 0
    run = ask_once({"verb": "show", "job": options.job})["run"]
    if options.output == "json":
        print(json.dumps(explained(run), indent=2))
    else:
        print("\n".join(_lines(explained(run))))
    return 0


def _table(output: str) -> str:
    match output:
        case "json":
            return json.dumps(table.as_objects(), indent=2)
        case "markdown":
            return table.as_page()
    return table.as_text()


def explained(run: dict[str, Any]) -> dict[str, Any]:
    """What `show` tells of a run, as an explanation: row, verdict, sentence, consequence, source, what was done."""
    name = run.get("fault") or run.get("hindrance") or ""
    moment = _moment(run)
    story = {"job": run["job"], "phase": run["phase"], "row": name or None, "sentence": _sentence(run)}
    story["verdict"] = run.get("verdict")
    if name:
        fault = row(name)
        verdict = fault.verdict_in(moment) or fault.verdict
        story["verdict"] = story["verdict"] or verdict.value
        story["consequence"] = CONSEQUENCES[moment][Verdict(story["verdict"])]
        story["source"] = fault.source
    if run.get("hindrance"):
        story["release"] = f"{run['obstacle']}; {row(run['hindrance']).cure}"
    story["suspicions"] = {rank: pod["suspicion"] for rank, pod in run["pods"].items() if pod["suspicion"]}
    story["done"] = run.get("done", [])
    return story


def _sentence(run: dict[str, Any]) -> str:
    outcome = run.get("outcome") or {}
    trouble = run.get("trouble") if run["phase"] == "prolog" else ""  # later it is an old story
    obstacle = run["obstacle"] if run.get("hindrance") else ""
    return str(run.get("reason") or outcome.get("reason") or obstacle or trouble or "")


def _moment(run: dict[str, Any]) -> Moment:
    """When in its life the row was met."""
    if run.get("verdict"):
        return Moment.PROLOG
    return Moment.EPILOG if run.get("hindrance") and not run.get("fault") else Moment.RUNNING


def _lines(story: dict[str, Any]) -> Iterator[str]:
    yield f"job {story['job']}, {story['phase']}: {_head(story)}"
    told = [("what", story["sentence"]), ("means", story.get("consequence")), ("seen", story.get("source"))]
    told += [(f"rank {rank}", sentence) for rank, sentence in story["suspicions"].items()]
    told += [("done", "; ".join(story["done"])), ("release", story.get("release"))]
    for label, text in told:
        if text:
            head = f"{label + ':':<9}"
            yield textwrap.fill(str(text), _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def _head(story: dict[str, Any]) -> str:
    if story["row"]:
        return f"{story['row']}, verdict {story['verdict']}"
    return "nothing is wrong with it" if not story["sentence"] else "no row of the fault table was met"
