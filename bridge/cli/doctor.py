"""`bridgectl doctor`: what is wrong with a node, or with a cluster, and what to do about it."""

import argparse
import json
import os
import sys
import textwrap
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from bridge import __version__, logs
from bridge.cli.colour import Colour, painted
from bridge.cli.main import add_config
from bridge.doctor import examination
from bridge.doctor.check import Result, State
from bridge.doctor.place import Place
from bridge.errors import Misused
from bridge.job.words import printable
from bridge.messages.doctor import CLUSTER_ELSEWHERE, DOCTOR_NOT_ROOT

_WIDTH = 110
_INDENT = " " * 10
_COLOURS = {State.GOOD: Colour.GOOD, State.FOUND: Colour.BAD, State.UNKNOWN: Colour.DOUBT}


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """The options."""
    add_config(verb)
    verb.add_argument("--image", help="what the container runtime is to pull (kubernetes.test_image)")
    verb.add_argument(
        "--cluster", action="store_true", help="what only an admin of Kubernetes sees, once for all nodes"
    )
    verb.add_argument("--kubeconfig", type=Path, help="with --cluster: of an admin (KUBECONFIG, or ~/.kube/config)")


def doctor(options: argparse.Namespace) -> int:
    """Run the checks; 0 good, 1 something was found, 2 nothing was found and something is not known."""
    if options.kubeconfig is not None and not options.cluster:
        raise Misused(CLUSTER_ELSEWHERE.sentence())
    if not options.cluster and os.geteuid() != 0:
        raise Misused(DOCTOR_NOT_ROOT.sentence())
    logs.configure("critical")  # whatever the borders log is told by a check
    checks = examination.CLUSTER if options.cluster else examination.NODE
    place = Place(options.config, kubeconfig=_of_admin(options) if options.cluster else None, image=options.image)
    results = []
    with closing(place):
        for result in examination.examine(checks, place):
            results.append(result)
            if options.output == "text":
                _tell(result)
    if options.output == "json":
        print(json.dumps(_as_object(results, options.cluster), indent=2))
    else:
        _sum_up(results, options.cluster)
    return examination.exit_code(results)


def _of_admin(options: argparse.Namespace) -> Path:
    named = os.environ.get("KUBECONFIG")
    return options.kubeconfig or Path(named or Path.home() / ".kube" / "config")


def _as_object(results: list[Result], of_cluster: bool) -> dict[str, object]:
    return {
        "version": __version__,
        "scope": "cluster" if of_cluster else "node",
        "exit": examination.exit_code(results),
        "checks": [asdict(result) | {"state": result.state.value} for result in results],
    }


def _tell(result: Result) -> None:
    state = painted(f"{result.state.value:<9}", _COLOURS[result.state], sys.stdout)
    print(f"{state} {result.name}: {result.looks_at}", flush=True)
    for told in result.told:
        for head, text in (
            ("", f"{told['cause']} [{told['name']}]"),
            ("so: ", told["consequence"]),
            ("cure: ", told["cure"]),
        ):
            print(
                textwrap.fill(printable(head + text), _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT + "  ")
            )


def _sum_up(results: list[Result], of_cluster: bool) -> None:
    count = {state: sum(result.state is state for result in results) for state in State}
    words = ", ".join(f"{number} {state.value}" for state, number in count.items() if number)
    print(f"{len(results)} checks: {words}")
    if not of_cluster:
        print("what a node may not see, an admin asks once: bridgectl doctor --cluster")
