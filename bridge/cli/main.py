"""bridgectl: what a user and a sysadmin ask the bridge of this node."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

from bridge import __version__, wellknown
from bridge.cli import attach, connections, explain, forward, gc, node, rehearsal, sources
from bridge.cli.jobid import job_id
from bridge.cli.output import logs
from bridge.cli.shell import shell
from bridge.errors import BridgeError, Misused
from bridge.job.faults.row import printable
from bridge.job.schema import schema
from bridge.messages.bridged import GC_ROOT_ONLY
from bridge.wire.client import ask_once

_BROKEN_PIPE = 141  # 128 + SIGPIPE: the reader has gone, as a shell would show it
_INTERRUPTED = 130  # 128 + SIGINT


def main(argv: list[str] | None = None) -> int:
    """Entry of `bridgectl`; the exit status. One line on stderr per error."""
    given = sys.argv[1:] if argv is None else argv
    end = given.index("--") if "--" in given else len(given)
    options = _parser().parse_args(given[:end])
    options.words = given[end + 1 :]  # the command of `shell`
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except BridgeError as error:
        print(f"bridgectl: {error}", file=sys.stderr)
        return wellknown.EXIT_USAGE if isinstance(error, Misused) else wellknown.EXIT_INFRASTRUCTURE
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
    attach.add_arguments(verb)
    _add(verbs, "status", "this node: runs, reporting tier, connections", _status)
    _add(verbs, "ps", "your runs on this node (root: all); where no bridged is, your jobs in Slurm", _ps)
    verb = _add(verbs, "show", "one run: pods, outcome, what was replaced, what is wrong", _show)
    verb.add_argument("job", metavar="JOBID")
    _only_here(verb)
    verb = verbs.add_parser("logs", help="the last lines of a rank; of a job that is over, its output file")
    verb.add_argument("job", metavar="JOBID")
    verb.add_argument("--rank", type=int, default=0)
    verb.add_argument("--lines", type=int, default=100, help="how many (100)")
    _only_here(verb)
    verb.set_defaults(command=logs)
    verb = verbs.add_parser("shell", help="a shell (or what stands behind --) in a container, with your own kubeconfig")
    verb.add_argument("job", metavar="JOBID")
    verb.add_argument("--rank", type=int, default=0)
    verb.set_defaults(command=shell)
    verb = _add(verbs, "signal", "send a signal to what handles it of the job's pod on this node", forward.send)
    verb.add_argument("job", metavar="JOBID")
    verb.add_argument("signal", type=forward.named, metavar="SIGNAL", help="USR1, USR2, HUP, …")
    verb = _add(verbs, "gc", "root: delete the workloads on this node whose run is proven over", _gc)
    verb.add_argument("--dry-run", action="store_true", help="only show every workload, what it is, and why")
    verb = _add(verbs, "check", "before sbatch: would this spec run, what would be set, what is wrong", rehearsal.check)
    rehearsal.add_arguments(verb)
    verb = _add(verbs, "render", "before sbatch: the very object that would be created of this spec", rehearsal.render)
    rehearsal.add_arguments(verb)
    verb = verbs.add_parser("schema", help="the JSON schema of a ContainerJob, for editors")
    verb.set_defaults(command=_schema)
    _add_explain(verbs)
    node.add_arguments(verbs.add_parser("node", help="a node's identity in Kubernetes: enroll, revoke, bind, renew"))
    return parser


def _add_explain(verbs: Any) -> None:
    help_ = "one job's time line: what it waited for, where it failed and why"
    explain.add_arguments(verbs.add_parser("explain", help=help_))


def _only_here(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--here", action="store_true", help="ask this node's bridged, and nobody else")


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


def _ps(options: argparse.Namespace) -> int:
    answer = ask_once({"verb": "ps"}) if sources.has_daemon() else {"runs": sources.own_jobs()}
    return _json(answer["runs"]) if options.output == "json" else _table(answer)


def _show(options: argparse.Namespace) -> int:
    asked = job_id(options.job)
    told = sources.run_here(asked) if options.here else sources.run_of(asked)
    if options.output == "json":
        return _json(told.run)
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


def _gc(options: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise Misused(GC_ROOT_ONLY.sentence())
    answer = ask_once({"verb": "gc", "dry_run": options.dry_run})
    if options.output == "json":
        _json(answer)
    else:
        gc.tell(answer, options.dry_run)
    return gc.exit_code(answer, options.dry_run)


def _schema(_options: argparse.Namespace) -> int:
    return _json(schema())


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
    print(f"{'JOBID':>10} {'USER':<10} {'PHASE':<9} {'RANK':>4} {'NODES':>5} WORKLOAD / LAST WORD")
    for run in runs:
        rank = "?" if run["rank"] is None else run["rank"]
        name = run.get("id") or run["job"]
        head = f"{name:>10} {run['user'] or '?':<10} {run['phase']:<9} {rank:>4} {len(run['nodes']):>5}"
        word = f"not released yet: {run['obstacle']}" if run.get("obstacle") else run.get("progress") or run["sentence"]
        print(printable(f"{head} {run['workload'] or '-'}  {word}"))
    return 0
