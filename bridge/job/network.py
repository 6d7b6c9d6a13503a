"""The pod's network: Kubernetes' own, the site's networks beside it, or the node's, as the profile says."""

from typing import Any

from bridge.config import Config
from bridge.job import security
from bridge.job.findings import Findings, at, shown
from bridge.job.spec import JobSpec

Fields = dict[str, Any]

NETWORKS = "k8s.v1.cni.cncf.io/networks"
"""Multus' annotation of a pod."""
_POLICY = "ClusterFirstWithHostNet"


def fields(spec: JobSpec, config: Config, findings: Findings) -> Fields:
    """What of it the PodSpec says."""
    asked = bool(spec.pod.get("hostNetwork"))
    if config.pod.host_network:
        _tell_policy(spec, findings)
        # Without it a pod on the node's network could not resolve the name of rank 0's service.
        return {"hostNetwork": True, "dnsPolicy": _POLICY}
    if asked:
        _not_the_nodes(at(spec.pod_path, "hostNetwork"), config, findings)
    return {}


def annotations(given: dict[str, str], path: str, config: Config, findings: Findings) -> dict[str, str]:
    """The pod template's annotations with the site's networks, where it has some."""
    if not config.pod.networks:
        return given
    networks = ",".join(config.pod.networks)
    if given.get(NETWORKS, networks) != networks:
        where = f"{at(path, 'annotations')}[{NETWORKS}]"
        findings.notice(where, f"{shown(given[NETWORKS])} replaced by {networks}, as the site has set")
    return {name: value for name, value in given.items() if name != NETWORKS}


def site_annotations(config: Config) -> dict[str, str]:
    """What asks Multus for the site's networks."""
    return {NETWORKS: ",".join(config.pod.networks)} if config.pod.networks else {}


def _tell_policy(spec: JobSpec, findings: Findings) -> None:
    policy = spec.pod.get("dnsPolicy", _POLICY)
    if policy not in (_POLICY, "ClusterFirst"):
        findings.notice(
            at(spec.pod_path, "dnsPolicy"), f"{shown(policy)} replaced by {_POLICY}, or rank 0 would have no name"
        )


def _not_the_nodes(path: str, config: Config, findings: Findings) -> None:
    ways = [*config.pod.networks, *([security.given(config)] if config.pod.rdma else [])]
    if ways:
        findings.notice(path, f"true left out: this site's way to the fast network is {' and '.join(ways)}")
    else:
        findings.refuse(path, "true is not allowed", "remove it: pods have no namespaces of the host")
