"""Master and Worker become one pod template, since every rank runs the same pod.

What says nothing about the training may differ: labels and annotations, ports, CPUs and memory (the allocation
decides), and the variables of the rendezvous (the bridge sets them). Anything else must be alike.
"""

import copy
import itertools
from collections.abc import Mapping
from typing import Any

from bridge.job import quantity
from bridge.job.findings import Findings, at, shown
from bridge.wellknown import RENDEZVOUS_VARIABLES

Fields = dict[str, Any]

_DIVIDED = ("cpu", "memory")  # of which each container gets its share of the allocation


def merge(roles: Mapping[str, Fields], path: str, findings: Findings) -> Fields:
    """The template of a job whose roles have come through the sieve; `path` is the one of `roles`."""
    template: Fields = copy.deepcopy((roles.get("Worker") or roles.get("Master") or {}).get("template", {}))
    if len(roles) < 2:
        return template
    master = copy.deepcopy(roles["Master"].get("template", {}))
    path = at(path, "Master")
    _merge_metadata(master, template, at(path, "template.metadata"), findings)
    _merge_containers(master, template)
    found = _difference(_compared(master), _compared(template), "template")
    if found:
        where, ours, theirs = found
        findings.refuse(
            at(path, where),
            f"{shown(ours)}, but {shown(theirs)} in Worker, and all ranks run the same pod",
            "make the two templates alike and tell the ranks apart by the variable RANK",
        )
    else:
        findings.notice(path, "became worker 0, the rank on Slurm's first node")
    return template


def _merge_metadata(master: Fields, worker: Fields, path: str, findings: Findings) -> None:
    """Pairs that only one role has stay; those that differ name the role, and there is but one."""
    ours, theirs = master.pop("metadata", {}), worker.setdefault("metadata", {})
    for kind in ("labels", "annotations"):
        mine, other = ours.get(kind, {}), theirs.setdefault(kind, {})
        for key in [key for key in mine if key in other and mine[key] != other[key]]:
            what = f"{shown(mine[key])}, but {shown(other.pop(key))} in Worker: left out, all ranks run the same pod"
            findings.notice(f"{path}.{kind}[{key}]", what)
            del mine[key]
        other.update(mine)


def _merge_containers(master: Fields, worker: Fields) -> None:
    """What differs without harm is brought into the Worker's containers, and made alike in the Master's."""
    for kind in ("initContainers", "containers"):
        pairs = zip(_containers(master, kind), _containers(worker, kind), strict=False)
        for ours, theirs in pairs:
            known = {port.get("containerPort") for port in theirs.get("ports", [])}
            ports = [port for port in ours.pop("ports", []) if port.get("containerPort") not in known]
            if ports:
                theirs["ports"] = [*theirs.get("ports", []), *ports]
            _merge_amounts(ours, theirs)


def _containers(template: Fields, kind: str) -> list[Fields]:
    containers: list[Fields] = template.get("spec", {}).get(kind, [])
    return containers


def _merge_amounts(ours: Fields, theirs: Fields) -> None:
    """The larger wish counts, so that what the allocation cannot give is refused for either role."""
    for side, name in itertools.product(("limits", "requests"), _DIVIDED):
        wish = ours.get("resources", {}).get(side, {}).get(name)
        if wish is None:
            continue
        others = theirs.setdefault("resources", {}).setdefault(side, {})
        try:
            others[name] = max(wish, others.get(name, wish), key=quantity.parse)
        except ValueError:
            others[name] = wish  # told where the amounts are read


def _compared(template: Fields) -> Fields:
    """A template without what may differ."""
    spec = dict(template.get("spec", {}))
    for kind in ("initContainers", "containers"):
        spec[kind] = [_compared_container(container) for container in spec.get(kind, [])]
    return {"spec": spec}


def _compared_container(container: Fields) -> Fields:
    asked = container.get("resources", {})
    resources = {
        side: {name: amount for name, amount in asked.get(side, {}).items() if name not in _DIVIDED}
        for side in ("limits", "requests")
    }
    env = [entry for entry in container.get("env", []) if entry.get("name") not in RENDEZVOUS_VARIABLES]
    return {**container, "env": env, "ports": None, "resources": {**asked, **resources}}


def _difference(one: Any, other: Any, path: str) -> tuple[str, Any, Any] | None:
    """Path and values of the first difference; nothing, empty and absent are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(at(path, key), one.get(key), other.get(key)) for key in {**one, **other}]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(f"{path}[{n}]", *pair) for n, pair in enumerate(zip(one, other, strict=True))]
    else:
        same = (one or None) == (other or None) or (one is not None and str(one) == str(other))
        return None if same else (path, one, other)
    found = (_difference(left, right, where) for where, left, right in pairs)
    return next((item for item in found if item), None)
