"""A user's spec, read: both kinds come to one pod that is the same on every rank."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.errors import SpecError
from bridge.job import short_form
from bridge.job.findings import Findings, at, shown
from bridge.job.merge import merge
from bridge.job.pod_rows import POD_TEMPLATE
from bridge.job.sieve import Sieve
from bridge.job.treatments import CONTAINERJOB, PYTORCHJOB_TOP, under
from bridge.wellknown import ANNOTATION_PROFILE, CONTAINER

Fields = dict[str, Any]

REPLICA_SPECS = "spec.pytorchReplicaSpecs"
PYTORCHJOB_TABLE = (*PYTORCHJOB_TOP, *under(f"{REPLICA_SPECS}.*.template", POD_TEMPLATE))

_PYTORCHJOB = ("kubeflow.org/v1", "PyTorchJob")
CONTAINERJOB_KIND = ("slurm-k8s-bridge/v1", "ContainerJob")
NPROC = r"auto|cpu|gpu|0*(?:[1-9][0-9]{0,2}|10[01][0-9]|102[0-4])"
"""Processes of a node, at most 1,024."""

_PICK = f"metadata.annotations[{ANNOTATION_PROFILE}]"
_PYTORCHJOB_SIEVE = Sieve.of(PYTORCHJOB_TABLE)
_CONTAINERJOB_SIEVE = Sieve.of(CONTAINERJOB)


@dataclass(frozen=True)
class Part:
    """A container or a volume: its fields, and the path by which the user knows it."""

    path: str
    fields: Fields


@dataclass(frozen=True)
class JobSpec:
    """What a spec says, with only those fields left that its table keeps or translates.

    `replicas` is the sum that the spec asked for, None where it says nothing. `pod` has the other fields
    of the PodSpec. `profile` is the site's profile that it picks, None where it picks none. The training
    container is in `training`, not in `sidecars`; restartable init containers are in `inits`.
    """

    training: Part
    sidecars: tuple[Part, ...] = ()
    inits: tuple[Part, ...] = ()
    volumes: tuple[Part, ...] = ()
    pod: Fields = field(default_factory=dict)
    pod_path: str = ""
    pod_metadata: Fields = field(default_factory=dict)
    pod_metadata_path: str = ""
    metadata: Fields = field(default_factory=dict)
    nproc_per_node: str | None = None
    replicas: int | None = None
    profile: str | None = None
    profile_path: str = ""


def read(document: Mapping[str, Any], findings: Findings) -> JobSpec:
    """The job that a document describes; refusals of single fields go to `findings`.

    Raises SpecError where the kind is another one, or where there is no training container to go on with.
    """
    kind = (document.get("apiVersion"), document.get("kind"))
    if kind == _PYTORCHJOB:
        return _pytorchjob(_PYTORCHJOB_SIEVE.pass_through(document, "", findings), findings)
    if kind == CONTAINERJOB_KIND:
        return _containerjob(_CONTAINERJOB_SIEVE.pass_through(document, "", findings), findings)
    raise SpecError(
        [
            f"kind: {shown(kind[1])} of {shown(kind[0])} cannot be run; "
            f"write {_PYTORCHJOB[1]} of {_PYTORCHJOB[0]} or {CONTAINERJOB_KIND[1]} of {CONTAINERJOB_KIND[0]}"
        ]
    )


def _containerjob(left: Fields, findings: Findings) -> JobSpec:
    container, volumes = short_form.unfold(left, findings)
    return JobSpec(
        training=Part("", {**container, "name": CONTAINER}),
        volumes=tuple(Part(path, fields) for path, fields in volumes),
        metadata=left.get("metadata", {}),
        nproc_per_node=_nproc(left, "nprocPerNode", findings),
        **_profile({"profile": left.get("profile"), _PICK: _annotation(left.get("metadata", {}))}),
    )


def _pytorchjob(left: Fields, findings: Findings) -> JobSpec:
    spec = left.get("spec", {})
    roles = spec.get("pytorchReplicaSpecs", {})
    for role in roles.keys() - {"Master", "Worker"}:
        findings.refuse(at(REPLICA_SPECS, role), "no such role", "write Master or Worker")
    known = {role: roles[role] for role in ("Master", "Worker") if role in roles}
    if not known:
        findings.refuse(REPLICA_SPECS, "has neither Worker nor Master", "write a Worker with its pod template")
        raise SpecError(findings.reasons)
    role = "Worker" if "Worker" in known else "Master"
    path = f"{REPLICA_SPECS}.{role}.template"
    template = merge(known, REPLICA_SPECS, findings)
    pod = dict(template.get("spec", {}))
    training, sidecars = _training(_parts(pod, "containers", path), at(path, "spec.containers"), findings)
    return JobSpec(
        training=training,
        sidecars=sidecars,
        inits=_parts(pod, "initContainers", path),
        volumes=_parts(pod, "volumes", path),
        pod=pod,
        pod_path=at(path, "spec"),
        pod_metadata=template.get("metadata", {}),
        pod_metadata_path=at(path, "metadata"),
        metadata=left.get("metadata", {}),
        nproc_per_node=_elastic_nproc(spec, findings) or _nproc(spec, "spec.nprocPerNode", findings),
        replicas=_replicas(known),
        **_profile(
            {
                _PICK: _annotation(left.get("metadata", {})),
                at(path, _PICK): _annotation(template.get("metadata", {})),
            }
        ),
    )


def _annotation(metadata: Fields) -> str | None:
    value: str | None = metadata.get("annotations", {}).get(ANNOTATION_PROFILE)
    return value


def _profile(places: Mapping[str, str | None]) -> Fields:
    """The first pick among the places where one may stand, and that place."""
    picks = [(path, pick) for path, pick in places.items() if pick is not None]
    return {"profile_path": picks[0][0], "profile": picks[0][1]} if picks else {}


def _parts(pod: Fields, name: str, template: str) -> tuple[Part, ...]:
    items = pod.pop(name, [])
    return tuple(Part(f"{template}.spec.{name}[{n}]", fields) for n, fields in enumerate(items))


def _training(containers: tuple[Part, ...], path: str, findings: Findings) -> tuple[Part, tuple[Part, ...]]:
    """The container whose exit code is the job's: named `pytorch`, or the only one, and renamed then."""
    if not containers:
        findings.refuse(path, "has no container", f"write one named {CONTAINER}")
        raise SpecError(findings.reasons)
    named = [part for part in containers if part.fields.get("name") == CONTAINER]
    if not named and len(containers) > 1:
        names = ", ".join(shown(part.fields.get("name")) for part in containers)
        findings.refuse(path, f"none of {names} is the training", f"name the training's container {CONTAINER}")
    training = (named or containers)[0]
    if not named and "name" in training.fields:
        old = shown(training.fields["name"])
        findings.notice(at(training.path, "name"), f"{old} replaced by {CONTAINER}, as the operator wants it")
    others = tuple(part for part in containers if part is not training)
    return Part(training.path, {**training.fields, "name": CONTAINER}), others


def _replicas(roles: Mapping[str, Fields]) -> int | None:
    asked = [role.get("replicas") for role in roles.values()]
    return None if set(asked) == {None} else sum(1 if count is None else count for count in asked)


def _elastic_nproc(spec: Fields, findings: Findings) -> str | None:
    """The operator's older place for the processes of a node."""
    if "nprocPerNode" in spec:
        return None
    return _nproc(
        {"nprocPerNode": spec.get("elasticPolicy", {}).get("nProcPerNode")},
        "spec.elasticPolicy.nProcPerNode",
        findings,
    )


def _nproc(fields: Fields, path: str, findings: Findings) -> str | None:
    value = fields.get("nprocPerNode")
    if value is None:
        return None
    text = str(value)
    if not re.fullmatch(NPROC, text):
        findings.refuse(path, f"{shown(value)} is no number of processes", "write auto, cpu, gpu or a number")
    return text
