"""`bridgectl explain`: one job's time line over Slurm and Kubernetes, what it waited for, where it failed and what to
do; one message of the catalogue; and the fault table itself."""

import argparse
import json
import textwrap
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bridge import clock, wellknown
from bridge.cli import catalogue, sources, table, timeline
from bridge.cli.jobid import job_id
from bridge.cli.sources import Told
from bridge.errors import Misused
from bridge.job.faults import Moment, Verdict, row
from bridge.job.faults.row import CONSEQUENCES, Fault
from bridge.job.words import printable
from bridge.messages import bridgectl as messages

_WIDTH = 100


def explain(options: argparse.Namespace) -> int:
    """The table, one message, or one job's story."""
    if sum((options.table, options.job is not None, options.file is not None)) != 1:
        raise Misused(messages.EXPLAIN_WHAT.sentence())
    if options.table:
        print(_table(options.output))
        return 0
    if options.job is not None and (message := catalogue.entry(options.job)) is not None:
        print(json.dumps(message, indent=2) if options.output == "json" else "\n".join(_entry(message)))
        return 0
    told = sources.run_of(job_id(options.job)) if options.file is None else sources.from_file(options.file)
    story = explained(told, clock.wall())
    print(json.dumps(story, indent=2) if options.output == "json" else "\n".join(_lines(story)))
    return 0


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """What explain takes."""
    verb.add_argument(
        "job", nargs="?", metavar="JOBID", help="a job, or the name of a message as it stands in brackets"
    )
    verb.add_argument("--file", type=Path, help=f"what an epilog left of a run: OUTPUT{wellknown.TIMELINE_SUFFIX}")
    verb.add_argument("--table", action="store_true", help="all rows of the fault table")
    verb.add_argument(
        "-o", "--output", choices=["text", "json", "markdown"], default="text", help="form of the answer; text"
    )
    verb.add_argument("--json", action="store_const", const="json", dest="output", help="the same as -o json")
    verb.set_defaults(command=explain)


def _table(output: str) -> str:
    match output:
        case "json":
            return json.dumps(table.as_objects(), indent=2)
        case "markdown":
            return table.as_page()
    return table.as_text()


def explained(told: Told, now: float) -> dict[str, Any]:
    """What is known of a run, as an explanation: time line, waits, row with cause, consequence and cure, what was done.

    ``now``: seconds since the epoch, for a wait that lasts.
    """
    run = told.run
    story: dict[str, Any] = {
        "job": run["job"],
        "id": run["id"] or str(run["job"]),
        "phase": run["phase"],
        "told_by": told.source,
        **_fault(run),
    }
    story["release"] = f"{run['obstacle']}; {row(run['hindrance']).cure}" if run.get("hindrance") else None
    story["suspicions"] = {rank: pod["suspicion"] for rank, pod in run["pods"].items() if pod.get("suspicion")}
    story["progress"] = run.get("progress", "")
    story["done"] = run.get("done", [])
    story["timeline"] = [
        {"station": passed.station.name, "at": passed.at, "by": passed.station.by, "note": passed.note}
        for passed in timeline.line_of(run)
    ]
    story["waits"] = [
        {"until": wait.until, "for": wait.what, "seconds": wait.seconds, "over": wait.over}
        for wait in timeline.waits_of(run, now)
    ]
    story["unknown"] = timeline.unknown_of(run)
    return story


def _fault(run: Mapping[str, Any]) -> dict[str, Any]:
    name = run.get("fault") or run.get("hindrance") or ""
    sentence, verdict = _sentence(run), run.get("verdict")
    story = {"row": name or None, "sentence": sentence, "verdict": verdict}
    if not name:
        return story | {"cause": None, "consequence": None, "cure": None, "source": None}
    fault, moment = row(name), _moment(run)
    verdict = verdict or (fault.verdict_in(moment) or fault.verdict).value
    cause, cure = _parted(fault, sentence)
    told = {"cause": cause, "consequence": CONSEQUENCES[moment][Verdict(verdict)], "cure": cure}
    return story | {"verdict": verdict, **told, "source": fault.source}


def _parted(fault: Fault, sentence: str) -> tuple[str, str]:
    """A row's sentence, told long ago and perhaps in other words, as cause and cure."""
    begin = fault.cure.partition("{")[0]
    cut = sentence.rfind(f"; {begin}") if begin else -1
    return (sentence, fault.advice) if cut < 0 else (sentence[:cut], sentence[cut + 2 :])


def _sentence(run: Mapping[str, Any]) -> str:
    outcome = run.get("outcome") or {}
    trouble = run.get("trouble") if run["phase"] in ("prolog", "pending", "ended") else ""  # later it is an old story
    obstacle = run["obstacle"] if run.get("hindrance") else ""
    return str(run.get("reason") or outcome.get("reason") or obstacle or trouble or "")


def _moment(run: Mapping[str, Any]) -> Moment:
    """When in its life the row was met."""
    if run.get("verdict"):
        return Moment.PROLOG
    return Moment.EPILOG if run.get("hindrance") and not run.get("fault") else Moment.RUNNING


def _lines(story: dict[str, Any]) -> Iterator[str]:
    yield printable(f"job {story['id']}, {story['phase']}: {_head(story)}")
    yield from _time_line(story["timeline"])
    yield from _block("unknown", _not_known(story["unknown"]))
    for wait in story["waits"]:
        yield from _block("waited" if wait["over"] else "waits", f"{_span(wait['seconds'])} for {wait['for']}")
    cure = story.get("cure")
    yield from _block("what", story["cause"] if cure else story["sentence"])
    yield from _block("means", story["consequence"])
    yield from _block("cure", cure)
    yield from _block("seen", story["source"])
    for rank, sentence in story["suspicions"].items():
        yield from _block(f"rank {rank}", sentence)
    yield from _block("now", story["progress"])
    yield from _block("done", "; ".join(story["done"]))
    yield from _block("release", story["release"])
    yield from _block("told by", story["told_by"])


def _entry(message: dict[str, str]) -> Iterator[str]:
    yield message["name"]
    for label, part in (("what", "cause"), ("means", "consequence"), ("cure", "cure")):
        yield from _block(label, message[part])


def _time_line(line: list[dict[str, Any]]) -> Iterator[str]:
    before: float | None = None
    for passed in line:
        what = timeline.STATIONS_BY_NAME[passed["station"]].what
        moment = datetime.fromtimestamp(passed["at"]).astimezone()
        stamp = moment.strftime("%Y-%m-%d %H:%M:%S") if before is None else moment.strftime("%H:%M:%S").rjust(19)
        exact = f".{moment.microsecond // 100_000}" if passed["by"] == "bridge" else "  "
        later = "" if before is None else f"+{max(0.0, passed['at'] - before):.0f} s"
        note = f" ({printable(passed['note'])})" if passed["note"] else ""
        yield f"  {stamp}{exact} {later:>8}  {what}{note}, says {passed['by']}"
        before = passed["at"]


def _not_known(names: list[str]) -> str:
    if not names:
        return ""
    what = "; ".join(timeline.STATIONS_BY_NAME[name].what for name in names)
    return f"when these were: {what}. Nobody told this node, or its journal was lost or is of an earlier version"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _block(label: str, text: object) -> Iterator[str]:
    if text:
        head = f"{label + ':':<9}"
        folding = textwrap.TextWrapper(_WIDTH, head, " " * len(head), break_long_words=False, break_on_hyphens=False)
        yield folding.fill(printable(str(text)))  # names stay whole: people copy them


def _head(story: dict[str, Any]) -> str:
    if story["row"]:
        return f"{story['row']}, verdict {story['verdict']}"
    return "nothing is wrong with it" if not story["sentence"] else "no row of the fault table was met"
