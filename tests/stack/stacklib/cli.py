"""The commands of tests/stack/stack."""

from __future__ import annotations

import argparse
import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from . import compose, lifecycle
from .commands import exec_replace
from .errors import StackError
from .places import NODES, cache, project


def main() -> int:
    """Run one command; a failure is one sentence on standard error."""
    arguments = _parse()
    try:
        return _run(arguments)
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("stack: interrupted; `make stack-down` clears what was begun", file=sys.stderr)
    return 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="stack", description="A real Slurm and a real Kubernetes to test on.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start it, and first have all that it is made of")
    up.add_argument("--kwok", action="store_true", help="with KWOK, for tests with many imitated nodes")
    kwok = commands.add_parser("kwok", help="imitated nodes beside a stack that runs")
    kwok.add_argument("change", choices=("start", "stop"))
    kwok.add_argument("--bare", action="store_true", help="keep the nodes alone: somebody else starts their pods")
    commands.add_parser("down", help="remove it; what was built stays in the cache")
    status = commands.add_parser("status", help="how its services are")
    status.add_argument("--json", action="store_true", help="with everything that a test needs to know")
    run = commands.add_parser("exec", help="run a command on a node or in a service's container")
    run.add_argument("node")
    run.add_argument("words", nargs=argparse.REMAINDER)
    commands.add_parser("install", help="install this checkout's product anew on the running nodes")
    logs = commands.add_parser("logs", help="the log of a node (its journal) or of a service")
    logs.add_argument("node")
    wrapped = commands.add_parser("compose", help="docker compose, with this stack's project and variables")
    wrapped.add_argument("words", nargs=argparse.REMAINDER)
    return parser.parse_args()


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command in ("up", "down", "install", "kwok"):
        with _alone():
            return _change(arguments)
    if arguments.command == "status":
        return _status(as_json=arguments.json)
    if arguments.command == "compose":
        lifecycle.description()
        exec_replace(compose.command(*compose.PROFILES, *arguments.words))
    if arguments.command == "logs":
        _logs(arguments.node)
    terminal = ["-t"] if sys.stdin.isatty() else []
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    exec_replace(["docker", "exec", "-i", *terminal, compose.container(arguments.node), *(words or ["bash"])])
    return 0


def _change(arguments: argparse.Namespace) -> int:
    if arguments.command == "up":
        lifecycle.up(kwok=arguments.kwok)
    elif arguments.command == "kwok":
        if arguments.change == "start":
            lifecycle.start_kwok(bare=arguments.bare)
        else:
            lifecycle.stop_kwok()
    elif arguments.command == "down":
        lifecycle.down()
    else:
        lifecycle.install()
    return 0


@contextmanager
def _alone() -> Iterator[None]:
    """One `up` or `down` of a checkout at a time."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{project()}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StackError("another command is changing this stack", "wait until it has ended") from None
        yield


def _status(*, as_json: bool) -> int:
    described = lifecycle.description()
    containers = described["containers"]
    assert isinstance(containers, dict)
    health = {service: compose.is_healthy(service) for service in containers}
    if as_json:
        print(json.dumps({**described, "healthy": health}, indent=2))
    else:
        for service, well in health.items():
            print(f"{service:24} {'healthy' if well else 'NOT HEALTHY'}")
    return 0 if all(health.values()) else 1


def _logs(node: str) -> None:
    if node in NODES:
        exec_replace(["docker", "exec", compose.container(node), "journalctl", "--no-pager", "--boot"])
    sys.exit(subprocess.run(["docker", "logs", compose.container(node)], check=False).returncode)
