"""bridgectl: what a user and a sysadmin ask the bridge of this node."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from bridge import __version__, wellknown
from bridge.errors import BridgeError, Misused

_BROKEN_PIPE = 141  # 128 + SIGPIPE: the reader has gone, as a shell would show it
_INTERRUPTED = 130  # 128 + SIGINT

EXAMPLE = "example: "
"""How the last line of every verb's --help begins."""

Command = Callable[[argparse.Namespace], int]


def main(argv: list[str] | None = None) -> int:
    """Entry of `bridgectl`; the exit status. One line on stderr per error."""
    given = sys.argv[1:] if argv is None else argv
    end = given.index("--") if "--" in given else len(given)
    options = _parsed(given[:end])
    options.words = given[end + 1 :]  # the command of `shell` and `submit`
    command: Command = options.command
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


def _parsed(given: list[str]) -> argparse.Namespace:
    """`others` are options that the verb hands on to somebody else, where it does."""
    parser = parser_of(given)
    options, others = parser.parse_known_args(given)
    if others and not getattr(options, "takes_others", False):
        parser.parse_args(given)  # which refuses them
    options.others = others
    return options


def parser_of(given: Iterable[str]) -> argparse.ArgumentParser:
    """Of all verbs, with the options of the one that is given: what it imports is imported for it alone."""
    parser = argparse.ArgumentParser(prog="bridgectl", description="Containerized training in Slurm jobs.")
    parser.add_argument("--version", action="version", version=f"bridgectl {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    asked = set(given)
    for name, (add_options, text, example) in VERBS.items():
        verb = verbs.add_parser(name, help=text, **with_example(example))
        if name in asked:
            add_options(verb)
    return parser


def with_example(command: str) -> dict[str, Any]:
    """What a verb's parser is made with, so that its --help ends with this command line, on a line of its own."""
    raw = argparse.RawDescriptionHelpFormatter
    return {"epilog": f"{EXAMPLE}{command}", "formatter_class": raw} if command else {}


def add_config(parser: argparse.ArgumentParser) -> None:
    """Where bridge.toml is."""
    from pathlib import Path

    place = Path(wellknown.CONFIG_FILE)
    parser.add_argument("--config", type=Path, default=place, metavar="FILE", help="the site's; %(default)s")


def _attach(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import attach

    attach.add_arguments(verb)


def _status(verb: argparse.ArgumentParser) -> None:
    from bridge.cli.views import status

    _add_output(verb, status)


def _ps(verb: argparse.ArgumentParser) -> None:
    from bridge.cli.views import ps

    _add_output(verb, ps)


def _show(verb: argparse.ArgumentParser) -> None:
    from bridge.cli.views import show

    _add_output(verb, show)
    verb.add_argument("job", metavar="JOBID", help="as Slurm calls it: 12, or 12_3")
    _only_here(verb)


def _logs(verb: argparse.ArgumentParser) -> None:
    from bridge.cli.output import logs

    verb.add_argument("job", metavar="JOBID", help="as Slurm calls it: 12, or 12_3")
    verb.add_argument("--rank", type=int, default=0, help="whose (0)")
    verb.add_argument("--lines", type=int, default=100, help="how many (100)")
    _only_here(verb)
    verb.set_defaults(command=logs)


def _shell(verb: argparse.ArgumentParser) -> None:
    from bridge.cli.shell import shell

    verb.add_argument("job", metavar="JOBID", help="as Slurm calls it: 12, or 12_3")
    verb.add_argument("--rank", type=int, default=0, help="whose (0)")
    verb.set_defaults(command=shell)


def _signal(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import forward

    _add_output(verb, forward.send)
    verb.add_argument("job", metavar="JOBID", help="as Slurm calls it: 12, or 12_3")
    verb.add_argument("signal", type=forward.named, metavar="SIGNAL", help="USR1, USR2, HUP, …")


def _gc(verb: argparse.ArgumentParser) -> None:
    from bridge.cli.views import collect

    _add_output(verb, collect)
    verb.add_argument("--dry-run", action="store_true", help="only show every workload, what it is, and why")


def _check(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import rehearsal

    _add_output(verb, rehearsal.check)
    rehearsal.add_arguments(verb)
    verb.add_argument("--offline", action="store_true", help="do not ask Kubernetes, though you have a kubeconfig")


def _render(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import rehearsal

    _add_output(verb, rehearsal.render)
    rehearsal.add_arguments(verb)


def _submit(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import submit

    submit.add_arguments(verb)


def _schema(verb: argparse.ArgumentParser) -> None:
    from bridge.cli.views import as_json
    from bridge.job.schema import schema

    verb.set_defaults(command=lambda _options: as_json(schema()))


def _explain(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import explain

    explain.add_arguments(verb)


def _node(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import node

    node.add_arguments(verb)


def _doctor(verb: argparse.ArgumentParser) -> None:
    from bridge.cli import doctor

    _add_output(verb, doctor.doctor)
    doctor.add_arguments(verb)


def _only_here(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--here", action="store_true", help="ask this node's bridged, and nobody else")


def _add_output(verb: argparse.ArgumentParser, command: Command) -> None:
    verb.add_argument("-o", "--output", choices=["text", "json"], default="text", help="form of the answer; text")
    verb.set_defaults(command=command)


VERBS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str, str]] = {
    "attach": (
        _attach,
        "in a batch script: show the training's output, exit with its exit code",
        "exec bridgectl attach --prefix",
    ),
    "status": (_status, "this node: runs, reporting tier, connections", "bridgectl status -o json"),
    "ps": (_ps, "your runs on this node (root: all); where no bridged is, your jobs in Slurm", "bridgectl ps"),
    "show": (_show, "one run: pods, outcome, what was replaced, what is wrong", "bridgectl show 4711"),
    "logs": (
        _logs,
        "the last lines of a rank; of a job that is over, its output file",
        "bridgectl logs 4711 --rank 3 --lines 500",
    ),
    "shell": (
        _shell,
        "a shell (or what stands behind --) in a container, with your own kubeconfig",
        "bridgectl shell 4711 --rank 1 -- nvidia-smi",
    ),
    "signal": (_signal, "send a signal to what handles it of the job's pod on this node", "bridgectl signal 4711 USR1"),
    "doctor": (
        _doctor,
        "root: this node from top to bottom, with a cure for what is wrong; or the cluster",
        "bridgectl doctor --image registry/small:1",
    ),
    "gc": (_gc, "root: delete the workloads on this node whose run is proven over", "bridgectl gc --dry-run"),
    "submit": (
        _submit,
        "a training as one command: writes spec and batch script, and calls sbatch",
        "bridgectl submit --image registry/train:1 -N2 --gpus-per-node=8 -- torchrun train.py --epochs 3",
    ),
    "check": (
        _check,
        "before sbatch: would this spec run, what would be set, what is wrong",
        "bridgectl check train.yaml -N 2 --gpus-per-node=8",
    ),
    "render": (
        _render,
        "before sbatch: the very object that would be created of this spec",
        "bridgectl render train.yaml -N 2 --gpus-per-node=8",
    ),
    "schema": (_schema, "the JSON schema of a ContainerJob, for editors", "bridgectl schema >containerjob.schema.json"),
    "explain": (_explain, "one job's time line: what it waited for, where it failed and why", "bridgectl explain 4711"),
    "node": (_node, "a node's identity in Kubernetes: enroll, revoke, bind, renew", ""),
}
