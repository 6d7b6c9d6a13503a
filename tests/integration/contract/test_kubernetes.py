"""What the bridge relies on at the API server."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from bridge.errors import Conflict, Forbidden, Invalid, NotFound
from bridge.job.gate import opening
from bridge.job.pods import pod_facts
from bridge.kube.api import Change, Kubernetes, Object, Observation, Selector
from tests.integration.contract.kubernetes_worlds import World, workload
from tests.integration.stack import eventually


@contextmanager
def stopping() -> Iterator[Event]:
    stop = Event()
    try:
        yield stop
    finally:
        stop.set()


def until(observations: Iterator[Observation], change: Change, name: str) -> Object:
    """Reads on until this is told of the object."""
    for observation in observations:
        if observation.change is change and observation.object["metadata"]["name"] == name:
            return observation.object
    raise AssertionError(f"the watch ended before {name} was {change.value}")


def worker_of(kube: Kubernetes, namespace: str, name: str) -> Object:
    """The worker, as soon as the operator has made it."""
    found = eventually(lambda: kube.list_pods(namespace, Selector(name=f"{name}-worker-0")), 60, "the worker")
    return found[0]


def open_gate(world: World, name: str) -> None:
    facts = pod_facts(worker_of(world.kube, world.namespace, name))
    assert facts is not None
    world.kube.patch_pod(world.namespace, facts.name, opening(facts, world.node))


def test_a_workload_is_made_once_and_found(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    made = kube.create_workload(namespace, workload(world, "w", "true", labels={"a": "1"}))
    kube.create_workload(namespace, workload(world, "v", "true"))
    with pytest.raises(Conflict) as raised:
        kube.create_workload(namespace, workload(world, "w", "true"))
    assert raised.value.reason == "AlreadyExists"
    assert kube.workload(namespace, "w")["metadata"]["uid"] == made["metadata"]["uid"]
    assert [job["metadata"]["name"] for job in kube.list_workloads(namespace, {"a": "1"})] == ["w"]
    assert kube.list_workloads(namespace, {"a": "2"}) == []


def test_a_quota_refuses_before_it_is_seen_that_the_name_is_taken(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    world.limit_workloads(1)
    made = kube.create_workload(namespace, workload(world, "w", "true"))
    with pytest.raises(Forbidden, match="exceeded quota: q") as raised:
        kube.create_workload(namespace, workload(world, "w", "true"))
    assert raised.value.reason == "Forbidden"
    assert kube.workload(namespace, "w")["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_survey_shows_the_metadata_of_the_selected(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    made = kube.create_workload(namespace, workload(world, "w", "true", labels={"a": "1"}))
    kube.create_workload(namespace, workload(world, "v", "true"))
    # It may be a moment behind.
    (found,) = eventually(lambda: kube.survey_workloads(namespace, {"a": "1"}), 60, "the workload")
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert found["metadata"]["labels"] == {"a": "1"}
    assert "spec" not in found
    assert kube.survey_workloads(namespace, {"a": "2"}) == []


def test_what_is_not_there_is_not_found(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    for call in (
        lambda: kube.workload(namespace, "none"),
        lambda: kube.pod(namespace, "none"),
        lambda: kube.node("none"),
        lambda: kube.delete_workload(namespace, "none", "u"),
        lambda: kube.delete_pod(namespace, "none", "u"),
        lambda: kube.patch_pod(namespace, "none", []),
        lambda: next(kube.follow_log(namespace, "none", "pytorch", "", Event())),
        lambda: kube.last_log(namespace, "none", "pytorch", 1),
    ):
        with pytest.raises(NotFound):
            call()
    assert kube.list_pods(namespace, Selector(node="none")) == []
    assert kube.events_of(namespace, "none") == []


def test_an_event_is_told_once_and_found_by_its_reason(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    about = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "namespace": namespace, "name": "none"}
    told = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "Mine", "source": {"host": "n1"}}
    kube.create_event(namespace, told)
    kube.create_event(namespace, told | {"metadata": {"name": "other"}, "reason": "Other"})
    with pytest.raises(Conflict):
        kube.create_event(namespace, told)
    (event,) = kube.events_because(namespace, "Mine")
    assert event["source"]["host"] == "n1" and event["metadata"]["creationTimestamp"]


def test_only_the_uid_that_is_meant_is_deleted(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    made = kube.create_workload(namespace, workload(world, "w", "true"))
    pod = worker_of(kube, namespace, "w")["metadata"]
    with pytest.raises(NotFound):
        kube.delete_workload(namespace, "w", "00000000-0000-0000-0000-000000000000")
    with pytest.raises(NotFound):
        kube.delete_pod(namespace, pod["name"], "00000000-0000-0000-0000-000000000000")
    assert "deletionTimestamp" not in kube.workload(namespace, "w")["metadata"]
    with stopping() as stop:
        seen = kube.watch_workload(namespace, "w", stop)
        until(seen, Change.SEEN, "w")
        kube.delete_workload(namespace, "w", made["metadata"]["uid"])
        until(seen, Change.GONE, "w")
    with pytest.raises(NotFound):
        kube.workload(namespace, "w")
    assert kube.list_pods(namespace, Selector(name=pod["name"])) == [], "Foreground: the pods went first"


def test_a_gate_opens_only_for_the_pod_that_is_meant(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    kube.create_workload(namespace, workload(world, "w", "sleep", "60"))
    facts = pod_facts(worker_of(kube, namespace, "w"))
    assert facts is not None
    patch = opening(facts, world.node)
    for index, value in ((0, "another uid"), (1, "another gate")):
        wrong = [{**operation, "value": value} if at == index else operation for at, operation in enumerate(patch)]
        with pytest.raises(Invalid):
            kube.patch_pod(namespace, facts.name, wrong)
    kube.patch_pod(namespace, facts.name, patch)
    with pytest.raises(Invalid):
        kube.patch_pod(namespace, facts.name, patch)
    bound = eventually(lambda: kube.list_pods(namespace, Selector(node=world.node)), 60, "the binding")
    assert [pod["metadata"]["uid"] for pod in bound] == [facts.uid]
    assert bound[0]["metadata"]["annotations"]["slurm-k8s-bridge/nodes"] == world.node


def test_a_watch_tells_the_present_then_every_change(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    with stopping() as stop:
        seen = kube.watch_pods(namespace, Selector(labels={"training.kubeflow.org/job-name": "w"}), stop)
        assert next(seen).change is Change.SYNCED
        kube.create_workload(namespace, workload(world, "other", "true"))
        kube.create_workload(namespace, workload(world, "w", "sleep", "60"))
        told = next(seen)
        assert (told.change, told.object["metadata"]["name"]) == (Change.SEEN, "w-worker-0")
        open_gate(world, "w")
        while not (facts := pod_facts(until(seen, Change.SEEN, "w-worker-0"))) or not facts.started:
            pass
        kube.delete_pod(namespace, "w-worker-0", facts.uid)
        assert until(seen, Change.GONE, "w-worker-0")["metadata"]["uid"] == facts.uid
        for current in (True, False):
            again = kube.watch_pods(namespace, Selector(name="other-worker-0"), stop, current=current)
            assert [next(again).change, next(again).change] == [Change.SEEN, Change.SYNCED]


def test_stop_ends_a_watch(world: World) -> None:
    stop = Event()
    seen = world.kube.watch_workload(world.namespace, "w", stop)
    next(seen)
    consumer = Thread(target=lambda: list(seen))
    consumer.start()
    stop.set()
    consumer.join(1)
    assert not consumer.is_alive()


def test_a_log_is_followed_from_any_line_to_its_end(world: World) -> None:
    kube, namespace = world.kube, world.namespace
    script = r"echo one; echo; head -c 100000 /dev/zero | tr '\0' x; echo; printf '\377last\n'"
    kube.create_workload(namespace, workload(world, "w", "sh", "-c", script))
    open_gate(world, "w")
    world.print("w-worker-0", b"one\n", b"\n", b"x" * 100_000 + b"\n", b"\xfflast\n")
    with stopping() as stop:
        pieces = list(kube.follow_log(namespace, "w-worker-0", "pytorch", "", stop))
        assert b"".join(piece.data for piece in pieces) == b"one\n\n" + b"x" * 100_000 + b"\n\xfflast\n"
        later = list(kube.follow_log(namespace, "w-worker-0", "pytorch", pieces[0].position, stop))
        assert b"".join(piece.data for piece in later) == b"".join(piece.data for piece in pieces[1:])
        assert later[-1].position == pieces[-1].position
        assert kube.last_log(namespace, "w-worker-0", "pytorch", 1) == b"\xfflast\n"
        assert kube.last_log(namespace, "w-worker-0", "pytorch", 100).startswith(b"one\n\nxxx")
        with pytest.raises(Invalid):
            kube.last_log(namespace, "w-worker-0", "no-such", 1)
        with pytest.raises(Invalid):
            list(kube.follow_log(namespace, "w-worker-0", "no-such", "", stop))
