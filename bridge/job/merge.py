"""Master and Worker become one pod template, since every rank runs the same pod.

What says nothing about the training may differ: labels and annotations, ports, CPUs and memory (the allocation
decides), privileges (the site decides) and the variables of the rendezvous (the bridge sets them). Anything else must
be alike.
"""

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from bridge.job import quantity
from bridge.job.findings import Findings, at, shown
from bridge.job.secrets import is_secret_name
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
    found = list(_differences(_compared(master), _compared(template), "template"))
    for where, ours, theirs in found:
        findings.refuse(
            at(path, where),
            f"{shown(ours)}, but {shown(theirs)} in Worker, and all ranks run the same pod",
            "make the two templates alike and tell the ranks apart by the variable RANK",
        )
    if not found:
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
            _merge_privileges(ours, theirs)


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


def _merge_privileges(ours: Fields, theirs: Fields) -> None:
    """What either role asks for is asked, so that what the site does not give is refused for either."""
    asked = ours.get("securityContext", {})
    if asked.get("privileged"):
        theirs.setdefault("securityContext", {})["privileged"] = True
    added = asked.get("capabilities", {}).get("add", [])
    if added:
        capabilities = theirs.setdefault("securityContext", {}).setdefault("capabilities", {})
        capabilities["add"] = list(dict.fromkeys([*capabilities.get("add", []), *added]))


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
    security = {
        name: value
        for name, value in container.get("securityContext", {}).items()
        if name not in ("capabilities", "privileged")
    }
    same = {"env": env, "ports": None, "securityContext": security}
    return {**container, **same, "resources": {**asked, **resources}}


def _differences(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Path and values of each difference; nothing, empty and absent are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        if is_secret_name(str(one.get("name"))) and one.get("value") != other.get("value"):
            yield at(path, "value"), "a secret", "another"
            one, other = {**one, "value": None}, {**other, "value": None}
        for key in {**one, **other}:
            yield from _differences(one.get(key), other.get(key), at(path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for n, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, f"{path}[{n}]")
    elif (one or None) != (other or None) and (one is None or str(one) != str(other)):
        # Of variables only the names: some of their values are secrets.
        yield (path, _names(one), _names(other)) if path.endswith(".env") else (path, one, other)


def _names(entries: Any) -> list[Any]:
    return [entry.get("name") for entry in entries or []]
