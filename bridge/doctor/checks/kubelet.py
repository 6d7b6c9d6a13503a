"""The kubelet of this machine, and the disks that containers are written to."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge.disks import Disks
from bridge.doctor.check import Check, Told
from bridge.doctor.place import Place
from bridge.kube.kubelet import KubeletProbe
from bridge.messages import doctor_kubernetes as kubernetes_messages


@dataclass(frozen=True)
class Kubelet:
    """Complaints, '' for none."""

    kubelet: str
    disk: str


def look(place: Place) -> Kubelet:
    access = place.site.kubernetes
    return Kubelet(KubeletProbe(access.kubelet_healthz).complaint(), Disks(access.disks).complaint())


def judge(facts: Kubelet) -> Iterator[Told]:
    if facts.kubelet:
        yield kubernetes_messages.KUBELET_UNWELL.told(why=facts.kubelet)
    if facts.disk:
        yield kubernetes_messages.DISK_FULL.told(why=facts.disk)


CHECK = Check("kubelet", "the kubelet's healthz on loopback, and room on the disks of containers", look, judge)
