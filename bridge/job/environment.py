"""Environment of the training container: the rendezvous and Slurm's facts, the site's values, the spec's.

Names that the bridge sets are the bridge's whatever the spec says; the spec's own values win over the
site's. Ours come first in the list, since `$(NAME)` in a value sees only what stands before it.
"""

import re
from typing import Any

from bridge import wellknown
from bridge.config import Config
from bridge.job.findings import Findings, at, shown
from bridge.job.ids import pod_name
from bridge.job.placement import Placement
from bridge.job.spec import JobSpec, Part

Entry = dict[str, Any]

HOME_PATH = "/slurm-home"
"""The job's user has no home in most images, and a library that cannot write one fails in odd ways. So an empty
directory is HOME where neither the spec nor the site names one; in no place where a site mounts volumes."""
HOME_ENTRY: Entry = {"name": "HOME", "value": HOME_PATH}
NAME = r"[A-Za-z_.-][A-Za-z0-9_.-]{0,255}"


def environment(
    spec: JobSpec, placement: Placement, config: Config, findings: Findings, checkpoints: str = ""
) -> list[Entry]:
    """The `env` of the training container; each name once. ``checkpoints`` is the job's directory for them."""
    ours = {entry["name"]: entry for entry in _ours(spec, placement, config)}
    # In most images no passwd entry has the job's uid: what asks for the user's name finds it here (getpass, torch).
    user = {name: _text(name, placement.user) for name in ("USER", "LOGNAME")}
    fabric = _site(config, checkpoints)
    site = {name: _text(name, value) for name, value in (config.pod.env | fabric).items()}
    chosen = {"HOME": HOME_ENTRY} | user | site
    for entry in spec.training.fields.get("env", []):
        name = entry.get("name", "")
        path = at(spec.training.path, f"env[{name}]")
        if not re.fullmatch(NAME, name):
            findings.refuse(path, f"{shown(name)} is no name of a variable", "use letters, digits and _")
        elif name in ours:
            _tell_replaced(path, entry, ours[name], findings)
        else:
            if name in fabric and entry.get("value") != fabric[name]:
                findings.notice(path, f"stays, though this site says {shown(fabric[name])}: remove it if in doubt")
            chosen.pop(name, None)
            chosen[name] = entry
    return [*ours.values(), *(entry for name, entry in chosen.items() if name not in ours)]


def rendezvous(part: Part, spec: JobSpec, placement: Placement, config: Config, findings: Findings) -> list[Entry]:
    """The `env` of another container: what it says of the rendezvous is replaced, too, or it would wait for nobody."""
    ours = {entry["name"]: entry for entry in _ours(spec, placement, config)}
    entries = []
    for entry in part.fields.get("env", []):
        name = entry.get("name", "")
        if name in ours and name in wellknown.RENDEZVOUS_VARIABLES:
            _tell_replaced(at(part.path, f"env[{name}]"), entry, ours[name], findings)
            entries.append(ours[name])
        else:
            entries.append(entry)
    return entries


def _site(config: Config, checkpoints: str) -> dict[str, str]:
    """What the site knows better than a spec that was written elsewhere; the spec is told so where it differs."""
    section = config.pod.checkpoints
    made = {} if section is None or not checkpoints else {section.variable: checkpoints}
    return config.pod.fabric.environment() | made


def _tell_replaced(path: str, theirs: Entry, ours: Entry, findings: Findings) -> None:
    if theirs != ours:
        old = shown(theirs["value"]) if "value" in theirs else "its source"
        new = shown(ours["value"]) if "value" in ours else "what Slurm's allocation says on each node"
        findings.notice(path, f"{old} replaced by {new}: the bridge sets this variable")


def _ours(spec: JobSpec, placement: Placement, config: Config) -> list[Entry]:
    nodes, rank_zero, port = len(placement.nodes), pod_name(placement.name, 0), config.pod.rendezvous_port
    rank = f"metadata.annotations['{wellknown.ANNOTATION_NODE_RANK}']"
    entries = [
        _field("NODE_NAME", "spec.nodeName"),
        _field("PET_NODE_RANK", rank),
        _text("PET_NNODES", nodes),
        _text("PET_MASTER_ADDR", rank_zero),
        _text("PET_MASTER_PORT", port),
        _text("MASTER_ADDR", rank_zero),
        _text("MASTER_PORT", port),
    ]
    if spec.nproc_per_node in (None, "auto", "1"):
        # torchrun sets both itself for each of its processes; a script without it is one process per node.
        entries += [_field("RANK", rank), _text("WORLD_SIZE", nodes)]
    # Of the job, never of a step (SLURM_PROCID, SLURM_NTASKS): there is none, and frameworks that find one of those
    # take srun for what started them.
    facts = [_text(name, value) for name, value in placement.variables.items()]
    return [*entries, *facts, _field("SLURM_NODEID", rank)]


def _text(name: str, value: str | int) -> Entry:
    return {"name": name, "value": str(value)}


def _field(name: str, path: str) -> Entry:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
