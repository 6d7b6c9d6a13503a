"""From a user's spec file and an allocation to the one PyTorchJob that runs it.

Pure and deterministic: the same bytes, placement and configuration give the same object, since a second prolog
compares what it would make with what is there.
"""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from bridge import wellknown
from bridge.config import Config
from bridge.job import checkpoints, network, profile, variables
from bridge.job import spec as specs
from bridge.job.beside import job_of
from bridge.job.containers import Containers
from bridge.job.document import load
from bridge.job.findings import Findings, at, shown
from bridge.job.ids import pod_name, run_labels
from bridge.job.labels import allowed
from bridge.job.placement import Placement
from bridge.job.resources import divide
from bridge.job.spec import REPLICA_SPECS, JobSpec
from bridge.job.volumes import Volumes

__all__ = ["Placement", "Rendered", "render", "spec_hash"]

LOWEST_UID = 1000
"""Accounts below are the system's (login.defs(5) UID_MIN); none of them has a training to run."""

# Where a PodSpec has the same as bridge.toml's [pod]: field, and the value that the site has set.
_SITE_FIELDS = (
    ("schedulerName", "scheduler_name"),
    ("priorityClassName", "priority_class"),
    ("runtimeClassName", "runtime_class"),
    ("serviceAccountName", "service_account"),
)
_KEPT = ("dnsConfig", "dnsPolicy", "hostAliases", "shareProcessNamespace")

Fields = dict[str, Any]


@dataclass(frozen=True)
class Rendered:
    """The workload to create, and one sentence for each field that was set or translated."""

    manifest: Fields
    notices: tuple[str, ...]


def render(data: bytes, placement: Placement, config: Config) -> Rendered:
    """The workload that a spec file describes, as this allocation and this site run it.

    Raises SpecError with every reason at once, each with the field's path, what is wrong, and the cure.
    """
    findings = Findings()
    _check_user(placement, findings)
    usual = config.with_profile(placement.profile)
    document = variables.filled_in(job_of(load(data), placement.namespace, usual, findings), placement.variables)
    variables.check_placeholders(document, findings)
    spec = specs.read(document, findings)
    placement = replace(placement, profile=profile.chosen(spec, placement, config, findings))
    config = config.with_profile(placement.profile)
    manifest = _workload(spec, placement, config, findings)
    findings.check()
    return Rendered(manifest, tuple(findings.notices))


def spec_hash(manifest: Fields) -> str:
    """sha256 over the canonical JSON of the object without the annotation that carries this hash."""
    annotations = dict(manifest["metadata"].get("annotations", {}))
    annotations.pop(wellknown.ANNOTATION_SPEC_HASH, None)
    bare = {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}
    canonical = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _check_user(placement: Placement, findings: Findings) -> None:
    if placement.uid < LOWEST_UID:
        findings.refuse(
            "uid",
            f"{placement.uid} belongs to the system, and pods run as the user of the job",
            f"submit as an ordinary user, with a uid of at least {LOWEST_UID}",
        )


def _workload(spec: JobSpec, placement: Placement, config: Config, findings: Findings) -> Fields:
    _tell_replicas(spec, placement, findings)
    _tell_hosts(spec, placement, findings)
    _tell_other(spec.metadata, "metadata", "namespace", placement.namespace, findings)
    job: Fields = {
        "pytorchReplicaSpecs": {
            "Worker": {
                "replicas": len(placement.nodes),
                "restartPolicy": "Never",
                "template": {
                    "metadata": _pod_metadata(spec, placement, config, findings),
                    "spec": _pod(spec, placement, config, findings),
                },
            }
        },
        "runPolicy": {"cleanPodPolicy": "Running"},
    }
    if spec.nproc_per_node is not None:
        job["nprocPerNode"] = spec.nproc_per_node
    metadata = _metadata(spec.metadata, "metadata", placement, config, findings)
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": placement.name, "namespace": placement.namespace, **metadata},
        "spec": job,
    }
    metadata["annotations"][wellknown.ANNOTATION_SPEC_HASH] = spec_hash(manifest)
    return manifest


def _pod_metadata(spec: JobSpec, placement: Placement, config: Config, findings: Findings) -> Fields:
    given, path = spec.pod_metadata, spec.pod_metadata_path
    notes = network.annotations(given.get("annotations", {}), path, config, findings)
    metadata = _metadata({**given, "annotations": notes}, path, placement, config, findings)
    metadata["annotations"] |= network.site_annotations(config)
    return metadata


def _metadata(given: Fields, path: str, placement: Placement, config: Config, findings: Findings) -> Fields:
    """Labels and annotations: the spec's allowed ones, and over them the run's."""
    patterns = config.pod.metadata_keys
    labels = allowed(given.get("labels", {}), at(path, "labels"), patterns, findings, are_labels=True)
    notes = allowed(given.get("annotations", {}), at(path, "annotations"), patterns, findings, are_labels=False)
    return {
        "labels": labels | run_labels(placement.tag, placement.key),
        "annotations": notes
        | {
            wellknown.ANNOTATION_NODES: ",".join(placement.nodes),
            wellknown.ANNOTATION_START: str(placement.start_time),
            **({wellknown.ANNOTATION_PROFILE: placement.profile} if placement.profile else {}),
        },
    }


def _pod(spec: JobSpec, placement: Placement, config: Config, findings: Findings) -> Fields:
    shares = divide(spec, placement, config, findings)
    volumes = Volumes(config, shares[spec.training.path].memory_mib, findings)
    volumes.take(spec)
    directory = checkpoints.path(config, placement, findings)
    containers = Containers(placement, config, findings, volumes, shares, directory)
    pod: Fields = {
        **{name: spec.pod[name] for name in _KEPT if name in spec.pod},
        **_site_fields(spec, config, findings),
        **network.fields(spec, config, findings),
        "automountServiceAccountToken": False,
        "containers": containers.main(spec),
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "schedulingGates": [{"name": wellknown.GATE}],
        "securityContext": _security(placement, config),
        "terminationGracePeriodSeconds": _grace(spec, config, findings),
        "tolerations": [
            {"key": wellknown.TAINT, "operator": "Exists", "effect": "NoSchedule"},
            *(toleration.to_manifest() for toleration in config.pod.tolerations),
        ],
    }
    before = containers.before(spec)
    if before:
        pod["initContainers"] = before
    # Only now: the training's mounts may have added /dev/shm.
    return pod | {"volumes": volumes.manifest}


def _security(placement: Placement, config: Config) -> Fields:
    """The job's user and nobody else; with the containers' part it is Pod Security `restricted`."""
    # Else an image's own /etc/group adds groups to a uid that its /etc/passwd knows (KEP-3619).
    strict: Fields = {"supplementalGroupsPolicy": "Strict"} if config.pod.strict_groups else {}
    return strict | {
        "runAsUser": placement.uid,
        "runAsGroup": placement.gid,
        "supplementalGroups": sorted(set(placement.groups) - {placement.gid}),
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _site_fields(spec: JobSpec, config: Config, findings: Findings) -> Fields:
    fields: Fields = {}
    for name, setting in _SITE_FIELDS:
        value = getattr(config.pod, setting)
        _tell_other(spec.pod, spec.pod_path, name, value, findings)
        if value is not None:
            fields[name] = value
    _tell_other(spec.pod, spec.pod_path, "serviceAccount", config.pod.service_account, findings)
    secrets = [secret.get("name", "") for secret in spec.pod.get("imagePullSecrets", [])]
    names = dict.fromkeys([*config.pod.image_pull_secrets, *secrets])
    if names:
        fields["imagePullSecrets"] = [{"name": name} for name in names]
    return fields


def _grace(spec: JobSpec, config: Config, findings: Findings) -> int:
    limit = config.pod.grace_seconds
    asked = spec.pod.get("terminationGracePeriodSeconds", limit)
    grace = min(max(asked, 1), limit)
    _tell_other(spec.pod, spec.pod_path, "terminationGracePeriodSeconds", grace, findings)
    return int(grace)


def _tell_replicas(spec: JobSpec, placement: Placement, findings: Findings) -> None:
    nodes = len(placement.nodes)
    if spec.replicas not in (None, nodes):
        findings.notice(
            REPLICA_SPECS, f"{spec.replicas} replicas replaced by {nodes}, one on each node that Slurm allocated"
        )


def _tell_hosts(spec: JobSpec, placement: Placement, findings: Findings) -> None:
    """Pods have the names that the operator gives them, and so a spec can know them; here the run has another name."""
    name = spec.metadata.get("name")
    if not isinstance(name, str) or not name:
        return
    former = re.compile(rf"(?<![\w.-]){re.escape(name)}-(?:master|worker)-[0-9]+(?![\w-])")
    for part in (spec.training, *spec.sidecars, *spec.inits):
        for field in ("command", "args"):
            for word in part.fields.get(field, []):
                found = former.search(word)
                if found:
                    what = (
                        f"no host has the name {found[0]} here; write $(MASTER_ADDR) for {pod_name(placement.name, 0)}"
                    )
                    findings.notice(at(part.path, field), what)


def _tell_other(fields: Fields, path: str, name: str, value: object, findings: Findings) -> None:
    """Names a value of the spec that is replaced by another one."""
    if name in fields and fields[name] != value:
        now = "left out" if value is None else f"replaced by {shown(value)}"
        findings.notice(at(path, name), f"{shown(fields[name])} {now}, as the site has set")
