"""The pod's network is Kubernetes' own; a wish for the node's is a wish for RDMA, and has the site's answer to that."""

from typing import Any

from bridge.config import Config
from bridge.job import security
from bridge.job.findings import Findings, at
from bridge.job.spec import JobSpec

Fields = dict[str, Any]


def fields(spec: JobSpec, config: Config, findings: Findings) -> Fields:
    """What of it the PodSpec says."""
    if spec.pod.get("hostNetwork"):
        path = at(spec.pod_path, "hostNetwork")
        if config.pod.rdma:
            what = f"true left out: this site's way to the fast network is {security.given(config)}"
            findings.notice(path, what)
        else:
            findings.refuse(path, "true is not allowed", "remove it: pods have no namespaces of the host")
    return {}
