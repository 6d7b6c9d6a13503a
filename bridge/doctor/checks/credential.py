"""The kubeconfigs: whose they are, who may read them, whose Node they speak for, and how long."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bridge.doctor.check import Check, Told, clause
from bridge.doctor.files import FileFacts, seen
from bridge.doctor.place import Place
from bridge.engine.connections import credential
from bridge.errors import ConfigError, RemoteError
from bridge.messages import doctor_kubernetes as kubernetes_messages

_OWNER = "slurm-k8s-bridge"


@dataclass(frozen=True)
class Credential:
    """``node`` is the Node that it is bound to, '' where it says none; ``warnings`` as `bridgectl status` shows them;
    ``refused`` is why the API server does not take it, or does not answer."""

    file: FileFacts
    due: str
    node: str = ""
    warnings: tuple[tuple[str, str], ...] = ()
    refused: str = ""


def _of(place: Place, path: Path) -> Credential:
    node, refused = "", ""
    warnings: tuple[tuple[str, str], ...] = ()
    try:
        with closing(place.kubernetes_by(path)) as asked:
            try:
                asked.version()
            except RemoteError as error:
                refused = clause(error)
            node = asked.identity()
            told = credential(asked.standing())["warnings"]
            warnings = tuple((each["state"], each["sentence"]) for each in told if each["state"] != "clock-off")
    except ConfigError as error:
        refused = clause(error)
    return Credential(seen(path), place.kubernetes_node, node, warnings, refused)


def look(place: Place) -> tuple[Credential, ...]:
    of_jobs = [rule.kubeconfig for rule in place.site.jobs if rule.kubeconfig is not None]
    return tuple(_of(place, path) for path in dict.fromkeys([place.kubeconfig, *of_jobs]))


def judge(facts: tuple[Credential, ...]) -> Iterator[Told]:
    for found in facts:
        path, file = found.file.path, found.file
        if file.kind and (file.owner != _OWNER or file.mode & 0o077):
            yield kubernetes_messages.KUBECONFIG_OPEN.told(path=path, owner=file.owner, mode=f"{file.mode:04o}")
        if found.refused:
            yield kubernetes_messages.KUBERNETES_REFUSES.told(path=path, why=found.refused)
        if found.node and found.node != found.due:
            yield kubernetes_messages.KUBECONFIG_OF_ANOTHER.told(path=path, node=found.node, due=found.due)
        for _state, sentence in found.warnings:
            yield kubernetes_messages.CREDENTIAL_WARNS.told(path=path, sentence=sentence)


CHECK = Check(
    "credential", "kubeconfigs: mode, owner, taken by the API server, of this Node, not near their end", look, judge
)
