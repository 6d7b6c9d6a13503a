"""What is read of a pod."""

from bridge.job.pods import pod_facts


def test_a_novel_in_a_pod_is_cut() -> None:
    """A registry, an image or a webhook may have written it."""
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "x" * 100_000}}
    facts = pod_facts(
        {
            "metadata": {"name": "p", "uid": "u", "labels": {"training.kubeflow.org/replica-index": "0"}},
            "status": {
                "message": "y" * 100_000,
                "containerStatuses": [{"name": "pytorch", "state": waiting}],
            },
        }
    )
    assert facts is not None
    assert (len(facts.waiting_message), len(facts.failure_message)) == (1000, 1000)
