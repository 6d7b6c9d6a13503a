"""What Kubernetes would say of a job's objects, asked with the caller's own kubeconfig: both are created for show.

By kubectl, which knows every way to log in. Quotas, limits and Pod Security would meet the pods only when the operator
makes them: so the first of them is shown, too.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from bridge.cli import kubectl
from bridge.commands import run
from bridge.errors import BridgeError
from bridge.job.faults import Verdict, admission
from bridge.messages import submission as messages

_SECONDS = 30  # for all of it; of one request half as many
_COMPLAINT = re.compile(r"^(?=Error from server|error: |The \S+ \"[^\"]*\" is invalid|Unable to connect)", re.MULTILINE)
_PREFIX = re.compile(r'^(Error from server( \(\w+\))?: |error: )?(error when creating "STDIN": )?')
_LIMIT = 600  # characters of a complaint that is shown


@dataclass(frozen=True)
class Said:
    """``takes``: which of the two it would take; ``reasons`` why not, where the spec is to blame; ``notes`` what
    keeps it from saying so."""

    takes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def asked(workload: dict[str, Any]) -> Said | None:
    """About a workload as it would be created; None where there is no kubeconfig to ask with, or no kubectl."""
    program = kubectl.program()
    if program is None or not kubectl.has_kubeconfig():
        return None
    objects = {"apiVersion": "v1", "kind": "List", "items": [workload, _first_pod(workload)]}
    words = ["create", "--dry-run=server", "--validate=strict", f"--request-timeout={_SECONDS // 2}s"]
    try:
        done = run([program, *words, "--output=name", "--filename=-"], _SECONDS, whole=True, given=json.dumps(objects))
    except BridgeError:
        return Said(notes=(messages.KUBERNETES_SILENT.format(seconds=_SECONDS),))
    return heard(done.stdout, done.stderr)


def _first_pod(workload: dict[str, Any]) -> dict[str, Any]:
    """As the operator makes it, but for what it adds."""
    metadata, template = workload["metadata"], workload["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    named = {"name": f"{metadata['name']}-worker-0", "namespace": metadata["namespace"]}
    spec = {"restartPolicy": "Never", **template["spec"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **named}, "spec": spec}


def heard(taken: str, complaints: str) -> Said:
    """What kubectl's two outputs come to."""
    takes = tuple(
        what for kind, what in (("pytorchjob", "the PyTorchJob"), ("pod/", "its pods")) if f"\n{kind}" in f"\n{taken}"
    )
    reasons, notes = list[str](), list[str]()
    for complaint in filter(None, map(str.strip, _COMPLAINT.split(complaints))):
        blamed, sentence = _judged(_PREFIX.sub("", " ".join(complaint.split()))[:_LIMIT])
        (reasons if blamed else notes).append(sentence)
    return Said(takes, tuple(reasons), tuple(notes))


def _judged(complaint: str) -> tuple[bool, str]:
    """Whether the spec is to blame, and what is told."""
    what = "workload" if "pytorchjob" in complaint[:60].lower() else "pods"
    if admission.is_rbac(complaint):
        return False, messages.KUBERNETES_FORBIDS.format(what=what)
    finding = admission.of_pod_creation(complaint, what)
    if finding.fault.verdict is Verdict.JOB:
        return True, finding.sentence
    return False, messages.KUBERNETES_UNSURE.format(said=complaint)
