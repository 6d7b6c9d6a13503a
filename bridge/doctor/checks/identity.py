"""Whether Slurm's node, Kubernetes' Node and this machine are the same: the bridge opens no gate before that."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge import wellknown
from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError, NotFound
from bridge.job.faults.nodes import NodeFacts, node_facts
from bridge.messages import doctor as messages
from bridge.messages import doctor_kubernetes as kubernetes_messages


@dataclass(frozen=True)
class Identity:
    """``node`` is None where Kubernetes has none of this name; ``slurm_fault`` is why Slurm's side is not known."""

    name: str
    host: str
    boot_id: str
    node: NodeFacts | None
    taints: frozenset[tuple[str, str]] = frozenset()
    slurm_host: str = ""
    slurm_fault: str = ""


def look(place: Place) -> Identity:
    node, taints, slurm_host, fault = None, frozenset[tuple[str, str]](), "", ""
    try:
        shown = place.kubernetes.node(place.kubernetes_node)
        node = node_facts(shown, ())
        given = (shown.get("spec") or {}).get("taints") or []
        taints = frozenset((str(taint.get("key")), str(taint.get("effect"))) for taint in given)
    except NotFound:
        pass
    try:
        slurm_host = place.slurm_node.host
    except BridgeError as error:
        fault = clause(error)
    return Identity(place.kubernetes_node, place.host, place.boot_id, node, taints, slurm_host, fault)


def judge(facts: Identity) -> Iterator[Told]:
    if facts.node is None:
        yield kubernetes_messages.NODE_NONE.told(node=facts.name, host=facts.host)
    else:
        if facts.node.boot_id != facts.boot_id:
            yield kubernetes_messages.NODE_OTHER.told(
                node=facts.name, theirs=facts.node.boot_id or "none", own=facts.boot_id
            )
        if facts.node.ready != "True":
            yield kubernetes_messages.NODE_NOT_READY.told(
                node=facts.name, why=facts.node.ready_message or facts.node.ready
            )
        if (wellknown.TAINT, "NoSchedule") not in facts.taints:
            yield kubernetes_messages.TAINT_MISSING.told(node=facts.name, taint=wellknown.TAINT)
    if facts.slurm_fault:
        raise CannotLook(messages.SLURM_UNASKED.told(why=facts.slurm_fault))
    if facts.slurm_host.partition(".")[0] != facts.host:
        yield kubernetes_messages.SLURM_HOST_OTHER.told(host=facts.host, slurm=facts.slurm_host)


CHECK = Check("identity", "Slurm's NodeName, Kubernetes' Node and this machine's boot are one; its taint", look, judge)
