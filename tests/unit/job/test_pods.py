"""What is read of a pod."""

from bridge.job.pods import pod_facts

LABELS = {"training.kubeflow.org/replica-index": "0"}


def test_devices_are_what_any_container_asks_for() -> None:
    def asking(**limits: str) -> dict[str, object]:
        return {"name": "c", "resources": {"limits": {name.replace("_", "/"): count for name, count in limits.items()}}}

    spec = {
        "containers": [asking(**{"nvidia.com_gpu": "2", "cpu": "1"}), asking(**{"amd.com_gpu": "0"}), {"name": "bare"}],
        "initContainers": [asking(**{"rdma_hca": "1"})],
    }
    facts = pod_facts({"metadata": {"name": "p", "uid": "u", "labels": LABELS}, "spec": spec})
    assert facts is not None and facts.devices == ("nvidia.com/gpu", "rdma/hca")


def test_a_novel_in_a_pod_is_cut() -> None:
    """A registry, an image or a webhook may have written it."""
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "x" * 100_000}}
    facts = pod_facts(
        {
            "metadata": {"name": "p", "uid": "u", "labels": LABELS},
            "status": {
                "message": "y" * 100_000,
                "containerStatuses": [{"name": "pytorch", "state": waiting}],
            },
        }
    )
    assert facts is not None
    assert (len(facts.waiting_message), len(facts.failure_message)) == (1000, 1000)
