"""How a node's share is divided among the containers of a pod."""

from typing import Any

import pytest

from bridge.config import Config
from bridge.job.findings import Findings
from bridge.job.placement import Placement
from bridge.job.resources import divide
from bridge.job.spec import JobSpec, Part
from tests.unit.job.given import placement, site


def part(name: str, limits: dict[str, Any] | None = None, **fields: Any) -> Part:
    return Part(name, {"name": name, "resources": {"limits": limits or {}}, **fields})


def divided(spec: JobSpec, where: Placement, config: Config) -> tuple[dict[str, Any], Findings]:
    findings = Findings()
    shares = divide(spec, where, config, findings)
    return {name: share.to_manifest()["limits"] for name, share in shares.items()}, findings


@pytest.mark.parametrize(
    ("cpus", "memory", "gpus", "expected"),
    [
        (8, 16384, 2, {"cpu": "8", "memory": "16384Mi", "nvidia.com/gpu": "2"}),
        (8, 16384, 0, {"cpu": "8", "memory": "16384Mi"}),
        (64, 16384, 0, {"cpu": "14", "memory": "16384Mi"}),
        (8, 99999, 0, {"cpu": "8", "memory": "61440Mi"}),
        (8, None, 0, {"cpu": "8", "memory": "61440Mi"}),
        (1, 200, 1, {"cpu": "1", "memory": "200Mi", "nvidia.com/gpu": "1"}),
    ],
)
def test_the_training_alone_gets_everything(cpus: int, memory: int | None, gpus: int, expected: dict[str, str]) -> None:
    where = placement(cpus_per_node=cpus, memory_mib=memory, gpus_per_node=gpus)
    shares, findings = divided(JobSpec(part("main")), where, site())
    assert shares == {"main": expected}
    assert not findings.reasons
    assert not findings.notices


def test_others_take_theirs_out_of_it_and_the_training_keeps_whole_cpus() -> None:
    spec = JobSpec(
        part("main"),
        sidecars=(part("logs"), part("big", {"cpu": "1500m", "memory": "1Gi"})),
        inits=(part("proxy", restartPolicy="Always"), part("fetch", {"cpu": 1})),
    )
    shares, findings = divided(spec, placement(gpus_per_node=0), site())
    assert shares == {
        "logs": {"cpu": "100m", "memory": "128Mi"},
        "big": {"cpu": "1500m", "memory": "1024Mi"},
        "proxy": {"cpu": "100m", "memory": "128Mi"},
        "main": {"cpu": "6", "memory": f"{16384 - 1024 - 256}Mi"},
        "fetch": {"cpu": "6", "memory": f"{16384 - 1024 - 256}Mi"},
    }
    assert findings.notices == ["fetch.resources.limits.cpu: replaced by 6, the job's share of a node"]


def test_the_larger_of_request_and_limit_counts_and_equal_ones_pass_in_silence() -> None:
    main = Part("main", {"resources": {"limits": {"cpu": "8"}, "requests": {"cpu": 9, "memory": "16Gi"}}})
    _, findings = divided(JobSpec(main), placement(), site())
    assert [reason.split(":")[0] for reason in findings.reasons] == ["main.resources.requests.cpu"]
    main = Part("main", {"resources": {"requests": {"cpu": "8000m", "memory": "16Gi", "nvidia.com/gpu": "2"}}})
    _, findings = divided(JobSpec(main), placement(), site())
    assert (findings.reasons, findings.notices) == ([], [])


def test_more_than_the_site_lets_a_pod_have_but_not_more_than_slurm_gave_is_replaced() -> None:
    _, findings = divided(JobSpec(part("main", {"cpu": 16})), placement(cpus_per_node=16), site())
    assert findings.notices == ["main.resources.limits.cpu: replaced by 14, the job's share of a node"]
    assert not findings.reasons


def test_other_resources_stay_as_the_site_allows() -> None:
    spec = JobSpec(part("main", {"rdma/hca": 1, "ephemeral-storage": "10Gi"}))
    shares, findings = divided(spec, placement(gpus_per_node=0), site())
    assert shares["main"]["rdma/hca"] == "1"
    assert shares["main"]["ephemeral-storage"] == "10Gi"
    _, findings = divided(spec, placement(), site(extra_resources=["rdma/*"]))
    assert [reason.split(":")[0] for reason in findings.reasons] == ["main.resources.limits.ephemeral-storage"]


def test_an_init_container_may_use_the_jobs_gpus_and_no_others() -> None:
    shares, findings = divided(JobSpec(part("main"), inits=(part("i", {"nvidia.com/gpu": 2}),)), placement(), site())
    assert shares["i"]["nvidia.com/gpu"] == "2"
    assert not findings.reasons
    _, findings = divided(JobSpec(part("main"), inits=(part("i", {"nvidia.com/gpu": 4}),)), placement(), site())
    assert len(findings.reasons) == 1


def test_a_share_of_less_than_one_cpu_is_refused() -> None:
    _, findings = divided(JobSpec(part("main"), sidecars=(part("s"),)), placement(cpus_per_node=1), site())
    assert "leave the training no whole CPU" in findings.reasons[0]
