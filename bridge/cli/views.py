"""`bridgectl status`, `ps`, `show` and `gc`: what the daemon of this node says, in text or JSON."""

import argparse
import json
import os
from datetime import datetime
from typing import Any

from bridge.cli import connections, gc
from bridge.cli.jobid import job_id
from bridge.errors import Misused
from bridge.job.words import printable
from bridge.messages.bridged import GC_ROOT_ONLY
from bridge.wire.client import ask_once


def status(options: argparse.Namespace) -> int:
    """`bridgectl status`: this node."""
    status = ask_once({"verb": "status"})
    if options.output == "json":
        return as_json(status)
    print(f"bridged {status['version']} on {status['node']}, Slurm cluster {status['cluster']}")
    print(f"tier: {status['tier']}" + (f" (slurmrestd at {status['slurmrest']})" if status["slurmrest"] else ""))
    print(f"namespace: {status['namespace']}; hooks waiting: {status['waiting_hooks']}")
    connections.tell(status)
    if status["unknown"]["count"]:
        print(
            f"met {status['unknown']['count']} times what the fault table has no row for: {status['unknown']['last']}"
        )
    gc.tell_summary(status["reconciler"])
    if status["last_fault"]:
        print(_last_fault(status["last_fault"]))
    return _table(status)


def _last_fault(fault: dict[str, Any]) -> str:
    when = datetime.fromtimestamp(fault["at"]).astimezone().isoformat(" ", "seconds")
    return f"this node failed the {fault['phase']} of job {fault['job']} ({when}): {fault['sentence']}"


def ps(options: argparse.Namespace) -> int:
    """`bridgectl ps`: runs, or jobs where no daemon is."""
    from bridge.cli import sources

    answer = ask_once({"verb": "ps"}) if sources.has_daemon() else {"runs": sources.own_jobs()}
    return as_json(answer["runs"]) if options.output == "json" else _table(answer)


def show(options: argparse.Namespace) -> int:
    """`bridgectl show`: one run."""
    from bridge.cli import sources

    asked = job_id(options.job)
    told = sources.run_here(asked) if options.here else sources.run_of(asked)
    if options.output == "json":
        return as_json(told.run)
    for name, value in told.run.items():
        if name in ("stations", "slurm"):
            continue  # explain makes a time line of them
        if name == "pods":
            for rank, pod in value.items():
                print(printable(f"pod of rank {rank}: {_words(pod)}"))
        elif value not in (None, "", [], {}):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            print(printable(f"{name.replace('_', ' ')}: {shown}"))
    print(f"told by: {told.source}")
    return 0


def collect(options: argparse.Namespace) -> int:
    """`bridgectl gc`: its exit code says whether somebody has to do something."""
    if os.geteuid() != 0:
        raise Misused(GC_ROOT_ONLY.sentence())
    answer = ask_once({"verb": "gc", "dry_run": options.dry_run})
    if options.output == "json":
        as_json(answer)
    else:
        gc.tell(answer, options.dry_run)
    return gc.exit_code(answer, options.dry_run)


def _words(facts: dict[str, Any]) -> str:
    return ", ".join(f"{key} {item}" for key, item in facts.items() if item is not None)


def as_json(value: object) -> int:
    """Print it; the exit status."""
    print(json.dumps(value, indent=2))
    return 0


def _table(answer: dict[str, Any]) -> int:
    runs = answer["runs"]
    if answer.get("left_out"):
        print(f"{answer['left_out']} older runs are left out; see them with bridgectl show JOBID")
    if not runs:
        print("no runs")
        return 0
    print(f"{'JOBID':>10} {'USER':<10} {'PHASE':<9} {'RANK':>4} {'NODES':>5} WORKLOAD / LAST WORD")
    for run in runs:
        rank = "?" if run["rank"] is None else run["rank"]
        name = run.get("id") or run["job"]
        head = f"{name:>10} {run['user'] or '?':<10} {run['phase']:<9} {rank:>4} {len(run['nodes']):>5}"
        word = f"not released yet: {run['obstacle']}" if run.get("obstacle") else run.get("progress") or run["sentence"]
        print(printable(f"{head} {run['workload'] or '-'}  {word}"))
    return 0
