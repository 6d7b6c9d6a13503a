"""What a prolog would make of a spec file, without a job: `bridgectl check` and `bridgectl render`.

The way is the prolog's own, from the allocation to the object; only the allocation is made up, of options that are
named as sbatch's. No Slurm is asked, and no bridged; Kubernetes by `check` alone, where its caller has a kubeconfig.
"""

import argparse
import base64
import json
import os
import pwd
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bridge.cli import dry_run
from bridge.cli.colour import Colour, painted
from bridge.cli.main import add_config
from bridge.config import Config, load
from bridge.engine.placing import Made, rendered
from bridge.engine.rules import Rules
from bridge.engine.state import Run, SpecFile, new_run
from bridge.errors import AllocationError, SpecError
from bridge.hook import spec_reader
from bridge.job.faults.runs import ALLOCATION_UNFIT, SPEC_REFUSED, SPEC_UNREADABLE
from bridge.messages import submission as messages
from bridge.slurm.environ import Allocation
from bridge.slurmrest.api import JobRecord

_UNITS = {"K": 1 / 1024, "M": 1, "": 1, "G": 1024, "T": 1024 * 1024}  # in MiB, as sbatch counts
_MOST_NODES = 10_000
_COLOURS = {"refused": Colour.BAD, "note": Colour.DOUBT}
REFUSED = 1
"""Exit code where the prolog would refuse it."""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """The spec file, and what the job would ask for."""
    verb.add_argument("file", type=Path, metavar="FILE", help="the spec: a PyTorchJob or a ContainerJob")
    verb.add_argument("-N", "--nodes", type=_count, default=1, metavar="N", help="as sbatch's; 1")
    verb.add_argument("-c", "--cpus-per-task", type=_count, default=1, metavar="N", help="CPUs of a node; 1")
    verb.add_argument("--gpus-per-node", type=_gpus, default=("", 0), metavar="[TYPE:]N", help="as sbatch's; none")
    verb.add_argument("--mem", type=_memory, metavar="SIZE[K|M|G|T]", help="of a node, as sbatch's; not tracked")
    verb.add_argument("-A", "--account", default="", metavar="NAME", help="by which the site's rules may go")
    verb.add_argument("-p", "--partition", default="", metavar="NAME", help="the same")
    verb.add_argument("-q", "--qos", default="", metavar="NAME", help="the same")
    verb.add_argument("-J", "--job-name", default="job", metavar="NAME", help="job")
    verb.add_argument("--user", type=_account, default=None, metavar="NAME", help="who would submit it; you")
    add_config(verb)


def check(options: argparse.Namespace) -> int:
    """`bridgectl check`: what would be set and translated, or every reason why the job would be refused."""
    made, reasons = _tried(options)
    said = dry_run.asked(json.loads(made.manifest)) if made and not options.offline else None
    reasons += said.reasons if said else ()
    notices = [*(made.notices if made else ()), *(said.notes if said else ())]
    takes = said.takes if said else ()
    if options.output == "json":
        told = {"runs": not reasons, "notices": notices, "reasons": reasons, "kubernetes_takes": takes}
        print(json.dumps(told, indent=2))
    elif reasons:
        say("refused", reasons)
    else:
        asked = [messages.KUBERNETES_TAKES.format(what=" and ".join(takes))] if takes else []
        note = painted("note", _COLOURS["note"], sys.stdout)
        print("\n".join([*(f"{note}: {notice}" for notice in notices), *asked, messages.SPEC_RUNS]))
    return REFUSED if reasons else 0


def render(options: argparse.Namespace) -> int:
    """`bridgectl render`: the object that would be created; notices and reasons go to stderr."""
    made, reasons = _tried(options)
    if made is None:
        say("refused", reasons)
        return REFUSED
    say("note", made.notices)
    manifest: dict[str, Any] = json.loads(made.manifest)
    if options.output == "json":
        print(json.dumps(manifest, indent=2, sort_keys=True))
    else:
        print(yaml.safe_dump(manifest, sort_keys=True, default_flow_style=False), end="")
    return 0


def refusals(spec: Path, text: str, given: Sequence[str], config: Path) -> list[str]:
    """What `check` would say against a spec, with those of sbatch's options that it knows.

    Nothing where nobody can say: there is no such bridge.toml, or an option has a form that sbatch alone understands.
    Raises ConfigError.
    """
    if not config.exists():
        return []
    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False, allow_abbrev=False)
    add_arguments(parser)
    try:
        options, _ = parser.parse_known_args([*given, "--", str(spec)])
    except argparse.ArgumentError:
        return []
    return _made(load(config), options, pwd.getpwuid(os.getuid()), text.encode())[1]


def _tried(options: argparse.Namespace) -> tuple[Made | None, list[str]]:
    """What would be made, or the reasons why not. Raises ConfigError."""
    config = load(options.config)
    owner = options.user or pwd.getpwuid(os.getuid())
    try:
        data = spec_reader.read_own(os.fsencode(options.file), owner.pw_name)
    except spec_reader.UnreadableError as error:
        return None, [SPEC_UNREADABLE.finding(str(error)).sentence]
    return _made(config, options, owner, data)


def _made(
    config: Config, options: argparse.Namespace, owner: pwd.struct_passwd, data: bytes
) -> tuple[Made | None, list[str]]:
    try:
        return rendered(config, _run(config, options, owner, data)), []
    except SpecError as error:
        return None, [SPEC_REFUSED.finding(reason).sentence for reason in error.reasons]
    except AllocationError as error:
        return None, [ALLOCATION_UNFIT.finding(str(error)).sentence]


def _run(config: Config, options: argparse.Namespace, owner: pwd.struct_passwd, data: bytes) -> Run:
    """A run that waits for nothing but its object."""
    nodes = tuple(f"node{number}" for number in range(1, options.nodes + 1))
    gpu_type, gpus = options.gpus_per_node
    allocation = Allocation(
        cluster=config.cluster.name,
        job_id=1,
        restart=0,
        start_time=0,
        end_time=0,
        uid=owner.pw_uid,
        gid=owner.pw_gid,
        user=owner.pw_name,
        account=options.account or None,
        partition=options.partition,
        nodes=nodes,
        node=nodes[0],
        cpus=(options.cpus_per_task,) * len(nodes),
        gpus_here=gpus,
        work_dir=owner.pw_dir,
        comment="",
        extra="",
        het_job_id=None,
    )
    run = replace(
        new_run(config, allocation, 0.0),
        groups=tuple(sorted(os.getgrouplist(owner.pw_name, owner.pw_gid))),
        spec=SpecFile(str(options.file), base64.b64encode(data).decode()),
        rules=Rules.of(config, allocation).of_qos(options.qos),
        node_gpus=gpus,
        record=_record(options, allocation, gpu_type),
    )
    return replace(run, gpu_counts=dict.fromkeys(config.gpu.resources, gpus))


def _record(options: argparse.Namespace, allocation: Allocation, gpu_type: str) -> JobRecord:
    return JobRecord(
        job_id=allocation.job_id,
        user_id=allocation.uid,
        user_name=allocation.user,
        states=frozenset({"RUNNING"}),
        state_reason="",
        start_time=0,
        restart_count=0,
        nodes=",".join(allocation.nodes),
        batch=True,
        batch_host=allocation.node,
        het_job_id=None,
        array_job_id=None,
        array_task_id=None,
        gpus=(allocation.gpus_here,) * len(allocation.nodes),
        memory_mib=options.mem,
        comment="",
        stdout="",
        requeue=True,
        time_limit_minutes=None,
        gpu_types=(gpu_type,) if allocation.gpus_here else (),
        name=options.job_name,
        qos=options.qos,
    )


def say(what: str, sentences: Iterable[str]) -> None:
    """Each on a line of stderr."""
    for sentence in sentences:
        print(f"{painted(what, _COLOURS[what], sys.stderr)}: {sentence}", file=sys.stderr)


def _count(text: str) -> int:
    """Raises ValueError, which argparse tells."""
    count = int(text)
    if not 1 <= count <= _MOST_NODES:
        raise ValueError(text)
    return count


def _gpus(text: str) -> tuple[str, int]:
    kind, _, number = text.rpartition(":")
    return kind, 0 if number == "0" else _count(number)


def _memory(text: str) -> int:
    """In MiB, of which Slurm gives whole ones."""
    match = re.fullmatch(r"([1-9][0-9]{0,9})([KMGT]?)B?", text.upper())
    if match is None:
        raise ValueError(text)
    return max(1, int(int(match[1]) * _UNITS[match[2]]))


def _account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise ValueError(name) from None
