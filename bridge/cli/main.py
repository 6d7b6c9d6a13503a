"""bridgectl: what a user and a sysadmin ask the bridge of this node."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

from bridge import __version__, wellknown
from bridge.cli import gc
from bridge.cli.attach import attach
from bridge.cli.explain import explain
from bridge.errors import BridgeError
from bridge.wire.client import ask_once

_BROKEN_PIPE = 141  # 128 + SIGPIPE: the reader has gone, as a shell would show it
_INTERRUPTED = 130  # 128 + SIGINT


def main(argv: list[str] | None = None) -> int:
    """Entry of `bridgectl`; the exit status. One line on stderr per error."""
    options = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except BridgeError as error:
        print(f"bridgectl: {error}", file=sys.stderr)
        return wellknown.EXIT_INFRASTRUCTURE
    except BrokenPipeError:
        # Python would complain again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bridgectl", description="Containerized training in Slurm jobs.")
    parser.add_argument("--version", action="version", version=f"bridgectl {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    verb = verbs.add_parser("attach", help="in a batch script: show the training's output, exit with its exit code")
    verb.set_defaults(command=attach)
    _add(verbs, "status", "this node: runs, reporting tier, connections", _status)
    _add(verbs, "ps", "your runs on this node (root: all)", _ps)
    _add(verbs, "show", "one run on this node", _show).add_argument("job", type=int, metavar="JOBID")
    verb = _add(verbs, "gc", "root: delete the workloads on this node whose run is proven over", _gc)
    verb.add_argument("--dry-run", action="store_true", help="only show every workload, what it is, and why")
    _add_explain(verbs)
    return parser


def _add_explain(verbs: Any) -> None:
    verb = verbs.add_parser("explain", help="why a job did not start or ended: its row of the fault table")
    verb.add_argument("job", type=int, nargs="?", metavar="JOBID")
    verb.add_argument("--table", action="store_true", help="all rows of the fault table")
    verb.add_argument("-o", "--output", choices=["text", "json", "markdown"], default="text")
    verb.add_argument("--json", action="store_const", const="json", dest="output", help="the same as -o json")
    verb.set_defaults(command=explain)


def _add(verbs: Any, name: str, text: str, command: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=text)
    verb.add_argument("-o", "--output", choices=["text", "json"], default="text")
    verb.set_defaults(command=command)
    return verb


def _status(options: argparse.Namespace) -> int:
    status = ask_once({"verb": "status"})
    if options.output == "json":
        return _json(status)
    print(f"bridged {status['version']} on {status['node']}, Slurm cluster {status['cluster']}")
    print(f"tier: {status['tier']}" + (f" (slurmrestd at {status['slurmrest']})" if status["slurmrest"] else ""))
    print(f"namespace: {status['namespace']}; hooks waiting: {status['waiting_hooks']}")
    for server, contact in status["connections"].items():
        print(f"{server}: {contact['fault'] or 'answers'} ({contact['seconds_ago']:.0f} s ago{_down(contact)})")
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


def _down(contact: dict[str, Any]) -> str:
    return "" if contact["down_for"] is None else f"; no answer for {contact['down_for']:.0f} s"


def _ps(options: argparse.Namespace) -> int:
    answer = ask_once({"verb": "ps"})
    return _json(answer["runs"]) if options.output == "json" else _table(answer)


def _show(options: argparse.Namespace) -> int:
    run = ask_once({"verb": "show", "job": options.job})["run"]
    if options.output == "json":
        return _json(run)
    for name, value in run.items():
        if name == "pods":
            for rank, pod in value.items():
                print(f"pod of rank {rank}: {_words(pod)}")
        elif value not in (None, "", [], {}):
            print(f"{name.replace('_', ' ')}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return 0


def _gc(options: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        print("bridgectl: gc shows and deletes everybody's workloads; run it as root", file=sys.stderr)
        return wellknown.EXIT_USAGE
    answer = ask_once({"verb": "gc", "dry_run": options.dry_run})
    if options.output == "json":
        _json(answer)
    else:
        gc.tell(answer, options.dry_run)
    return gc.exit_code(answer, options.dry_run)


def _words(facts: dict[str, Any]) -> str:
    return ", ".join(f"{key} {item}" for key, item in facts.items() if item is not None)


def _json(value: object) -> int:
    print(json.dumps(value, indent=2))
    return 0


def _table(answer: dict[str, Any]) -> int:
    runs = answer["runs"]
    if answer.get("left_out"):
        print(f"{answer['left_out']} older runs are left out; see them with bridgectl show JOBID")
    if not runs:
        print("no runs")
        return 0
    print(f"{'JOBID':>8} {'USER':<10} {'PHASE':<9} {'RANK':>4} {'NODES':>5} WORKLOAD / LAST WORD")
    for run in runs:
        rank = "?" if run["rank"] is None else run["rank"]
        head = f"{run['job']:>8} {run['user'] or '?':<10} {run['phase']:<9} {rank:>4} {len(run['nodes']):>5}"
        word = f"not released yet: {run['obstacle']}" if run.get("obstacle") else run["sentence"]
        print(f"{head} {run['workload']}  {word}")
    return 0
