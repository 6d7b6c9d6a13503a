"""What the policies must refuse, tried."""

from pathlib import Path

from bridge.doctor.checks.policies import CHECK
from bridge.kube.api import Object

from .given import UNKNOWN, Somewhere, judged

_DENIED = "ValidatingAdmissionPolicy '{0}' with binding '{0}' denied request: not rank 0"


class Server:
    """Refuses with these words."""

    def __init__(self, workload: str, event: str) -> None:
        self._workload, self._event = workload, event
        self.objects: list[Object] = []

    def refusal_of_workload(self, _namespace: str, manifest: Object) -> str:
        self.objects.append(manifest)
        return self._workload

    def refusal_of_event(self, _namespace: str, event: Object) -> str:
        self.objects.append(event)
        return self._event


def _names(tmp_path: Path, workload: str, event: str) -> list[str]:
    return judged(CHECK, CHECK.look(Somewhere(tmp_path, Server(workload, event))))


def test_each_is_in_force_by_its_own_word(tmp_path: Path) -> None:
    workload, event = (_DENIED.format(f"slurm-k8s-bridge-{name}") for name in ("workload", "event"))
    assert _names(tmp_path, workload, event) == []
    assert _names(tmp_path, "", event) == ["policy-not-in-force"]
    assert _names(tmp_path, workload, "") == ["policy-not-in-force"]
    other = "admission webhook denied the request"
    assert _names(tmp_path, workload, other) == [UNKNOWN + "policy-unseen"], "somebody else's refusal proves nothing"
    assert _names(tmp_path, "", other) == ["policy-not-in-force", UNKNOWN + "policy-unseen"]


def test_what_is_tried_is_in_nobodys_name(tmp_path: Path) -> None:
    server = Server("", "")
    CHECK.look(Somewhere(tmp_path, server))
    workload, event = server.objects
    assert workload["metadata"]["annotations"] == {"slurm-k8s-bridge/nodes": "slurm-k8s-bridge-doctor"}
    assert event["source"]["host"] == "slurm-k8s-bridge-doctor"
