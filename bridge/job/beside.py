"""The other objects of a spec file: people keep a job and what it needs in one file.

The bridge makes the job alone. What it makes needless is left out and named; what the job would miss is refused,
with what to do instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from bridge.config import Config
from bridge.errors import SpecError
from bridge.job.findings import Findings

Fields = dict[str, Any]

JOBS = ("PyTorchJob", "ContainerJob")

_NO_IDENTITY = "left out: the pods have no identity in Kubernetes"
_QUEUED = "left out: Slurm has scheduled the job already"
_RENDEZVOUS = "left out: the bridge brings torch's rendezvous itself, on the job's first node"
_NEEDLESS = {
    "Namespace": "left out: the site gives Slurm's jobs their namespace",
    "HorizontalPodAutoscaler": "left out: the size is fixed, one pod on each node that Slurm allocated",
    **dict.fromkeys(("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), _NO_IDENTITY),
    **dict.fromkeys(
        (
            "ClusterQueue",
            "LocalQueue",
            "PodDisruptionBudget",
            "PodGroup",
            "PriorityClass",
            "Queue",
            "ResourceFlavor",
            "WorkloadPriorityClass",
        ),
        _QUEUED,
    ),
}
_NAMED = 5  # objects that one sentence names
_PATH_LIMIT = 100  # characters of one such name
_WITH_PODS = ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Pod")
_OPERATORS_LABELS = ("training.kubeflow.org/", "pytorch-", "job-name", "replica-")


@dataclass(frozen=True)
class _Beside:
    """One object beside the job, whatever was written there."""

    kind: str
    name: str
    fields: Fields

    @classmethod
    def of(cls, document: Fields) -> "_Beside":
        name = _inside(document, "metadata").get("name")
        return cls(_text(document.get("kind")), _text(name), document)

    @property
    def path(self) -> str:
        """How the user knows it."""
        words = " ".join(f"{self.kind or 'document'} {self.name}".split())
        return words if len(words) <= _PATH_LIMIT else words[: _PATH_LIMIT - 1] + "…"

    @property
    def template(self) -> Fields:
        """The pod that it makes, itself for a Pod."""
        return self.fields if self.kind == "Pod" else _inside(self.fields, "spec", "template")


def job_of(documents: Sequence[Fields], namespace: str, config: Config, findings: Findings) -> Fields:
    """The one job of a file; what stands beside it goes to `findings`.

    Raises SpecError where there is more than one job, or none.
    """
    jobs = [document for document in documents if document.get("kind") in JOBS]
    others = [_Beside.of(document) for document in documents if document not in jobs]
    if len(documents) == 1:
        return documents[0]
    if not jobs:
        kinds = ", ".join(other.path for other in others[:_NAMED])
        raise SpecError([f"kind: none of {kinds} is a job; write a {JOBS[0]} or a {JOBS[1]}"])
    if len(jobs) > 1:
        names = ", ".join(_Beside.of(job).path for job in jobs[:_NAMED])
        raise SpecError([f"kind: {len(jobs)} jobs in one file, {names}; give each a file and an sbatch of its own"])
    for other in others:
        _judge(other, jobs[0], others, namespace, config, findings)
    return jobs[0]


def _judge(
    other: _Beside, job: Fields, others: Sequence[_Beside], namespace: str, config: Config, findings: Findings
) -> None:
    why = _NEEDLESS.get(other.kind)
    if _is_etcd(other) or (other.kind == "Service" and _serves_rendezvous(other, job, others)):
        why = _RENDEZVOUS
    elif other.kind == "PersistentVolumeClaim" and _is_allowed(other.name, config):
        why = f"left out: the site lets specs use this claim, but it must be there already in namespace {namespace}"
    if why:
        findings.notice(other.path, why)
    else:
        findings.refuse(
            other.path, "is not made by the bridge, which creates the job alone", _instead(other, namespace)
        )


def _instead(other: _Beside, namespace: str) -> str:
    if other.kind in _WITH_PODS or other.kind.endswith("Job"):
        return "remove it: run it as an init container of the job, or as a job of its own"
    create = f"create it once with kubectl in namespace {namespace}, or ask the site to, and remove it from this file"
    return f"{create}; the site must name the claim" if other.kind == "PersistentVolumeClaim" else create


def _is_allowed(claim: str, config: Config) -> bool:
    known = any(volume.claim == claim for volume in config.volumes.values())
    return known or any(fnmatchcase(claim, pattern) for pattern in config.pod.claims)


def _is_etcd(other: _Beside) -> bool:
    """A server for torch's rendezvous, by its image or its command."""
    if other.kind not in _WITH_PODS:
        return False
    for container in _items(_inside(other.template, "spec").get("containers")):
        image = _text(container.get("image")).partition("@")[0].rpartition("/")[2].partition(":")[0]
        command = [_text(word).rpartition("/")[2] for word in _list(container.get("command"))[:1]]
        if "etcd" in (image, *command):
            return True
    return False


def _serves_rendezvous(service: _Beside, job: Fields, others: Sequence[_Beside]) -> bool:
    """A service before such a server, or a headless one before the job's own pods: each rank has one already."""
    spec = _inside(service.fields, "spec")
    selector = _inside(spec, "selector")
    if not selector:
        return False
    if any(_is_etcd(other) and _selects(selector, other.template) for other in others):
        return True
    roles = _inside(job, "spec", "pytorchReplicaSpecs").values()
    templates = [_inside(role, "template") for role in roles if isinstance(role, dict)]
    own = all(key.startswith(_OPERATORS_LABELS) for key in selector)
    return spec.get("clusterIP") == "None" and (own or any(_selects(selector, template) for template in templates))


def _selects(selector: Fields, template: Fields) -> bool:
    labels = _inside(template, "metadata", "labels")
    return all(labels.get(key) == value for key, value in selector.items())


def _inside(value: Mapping[str, Any], *path: str) -> Fields:
    """The object at a path, empty where there is none or something else."""
    found: Any = value
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _items(value: Any) -> list[Fields]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
