"""Rows of pods that wait for something, and of pods that are taken away while the training runs."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from .rows import (
    Case,
    applied,
    await_training,
    given_up,
    hears,
    in_training,
    manifest,
    submitted,
    taken_away,
    told,
    worker,
)
from .specs import container_job
from .stack import Job, Stack, eventually

pytestmark = pytest.mark.usefixtures("soon_missed")


def somebodys_pod(stack: Stack, node: str, command: str, amounts: dict[str, str], **more: Any) -> dict[str, Any]:
    """A pod that no scheduler has placed."""
    container = {"name": "main", "image": stack.images["small"], "resources": {"limits": amounts}}
    placed = {"nodeName": node, "restartPolicy": "Never"}
    pod = {"containers": [container | {"command": ["sh", "-c", command]}], "terminationGracePeriodSeconds": 0, **placed}
    metadata = {"name": f"somebodys-{node}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod | more}


def claimed(stack: Stack, name: str, **source: Any) -> Iterator[dict[str, Any]]:
    """A volume, and a claim of it in the jobs' namespace."""
    what = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    claim = {"kind": "PersistentVolumeClaim", "name": name, "namespace": stack.namespace}
    size = {"storage": "1Gi"}
    volume = what | {"capacity": size, "claimRef": claim, "persistentVolumeReclaimPolicy": "Retain"} | source
    yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume}
    asked = what | {"volumeName": name, "resources": {"requests": size}}
    metadata = {"name": name, "namespace": stack.namespace}
    yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": asked}


def fails_to_attach(stack: Stack, name: str, message: str) -> None:
    """The storage system of this volume does not give it to the node that asks for it."""

    def asked() -> list[str]:
        items = json.loads(stack.kubectl("get", "volumeattachments", "-o", "json"))["items"]
        return [i["metadata"]["name"] for i in items if i["spec"]["source"]["persistentVolumeName"] == name]

    eventually(asked, 60, f"a node that asks for volume {name}")
    status = json.dumps({"status": {"attached": False, "attachError": {"message": message}}})
    stack.kubectl("patch", "volumeattachment", *asked(), "--subresource=status", "--type=merge", "-p", status)


def test_volumes_that_do_not_come_and_a_node_that_is_full(stack: Stack) -> None:
    names = ("unclaimed", "nowhere", "unattached")
    volumes = {name: {"claim": name, "mount_path": f"/{name}"} for name in names}
    nowhere = {"hostPath": {"path": "/no/such/directory", "type": "Directory"}}
    unattached = {"csi": {"driver": "nobody.example.com", "volumeHandle": "1"}}

    def using(name: str) -> str:
        return container_job(stack.images["small"], "true", volumes=[name])

    with (
        applied(
            stack,
            *claimed(stack, "nowhere", **nowhere),
            *claimed(stack, "unattached", **unattached),
            somebodys_pod(stack, "compute2", "sleep 600", {"nvidia.com/gpu": "2"}),
        ),
        stack.configured(timing={"poll_period": 1.0}, volumes=volumes),
    ):
        cases = (
            Case("claim-missing", using("unclaimed"), 'persistentvolumeclaim "unclaimed" not found', node="compute1"),
            Case("unschedulable-full", manifest(stack), "nvidia.com/gpu", ("--gpus-per-node=2",), node="compute2"),
            Case("volume-mount", using("nowhere"), "is not a directory", node="compute1"),
            Case("volume-attach", using("unattached"), "on strike", node="compute2"),
        )
        queue = submitted(stack, cases)
        fails_to_attach(stack, "unattached", "the storage is on strike")
        given_up(stack, queue)


@contextmanager
def no_room_for_logs(stack: Stack, job: Job, node: str) -> Iterator[None]:
    """The job's pod can get no directory for the log of its container."""
    look = f"ls -d /var/log/pods/*_{worker(job)}_*"
    eventually(lambda: stack.sh(node, look, check=False), 60, "the directory of the pod's logs")
    directory = stack.sh(node, look).strip()
    stack.sh(node, f"mount -t tmpfs -o nr_inodes=1 none {directory}")
    try:
        yield
    finally:
        stack.sh(node, f"umount {directory}")


def somebody_tells(stack: Stack, job: Job, reason: str, message: str) -> None:
    """An event about the job's pod of a controller that nobody has heard of."""
    words = ("-n", stack.namespace, "get", "pod", worker(job), "-o", "json")
    pod = json.loads(stack.kubectl(*words))
    metadata = {"name": f"somebodys-{job.id}", "namespace": stack.namespace}
    about = {"apiVersion": "v1", "kind": "Pod", **{key: pod["metadata"][key] for key in ("name", "namespace", "uid")}}
    now = stack.exec("login", "date", "-u", "+%Y-%m-%dT%H:%M:%SZ").strip()
    times = {"firstTimestamp": now, "lastTimestamp": now}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, **times}
    said = {"type": "Warning", "reason": reason, "message": message, "count": 1}
    stack.kubectl("create", "-f", "-", stdin=json.dumps(event | said))


def test_pods_that_wait_for_what_passes(stack: Stack) -> None:
    """For room on the node, and for something that no row describes: the jobs run as soon as it is over."""
    spec = manifest(stack, imagePullPolicy="Always")
    with ExitStack() as until_later:
        with stack.registry_answering("hang"):
            strange, roomless = (stack.submit(spec, "-N1", f"--nodelist={node}") for node in ("compute1", "compute2"))
            until_later.enter_context(no_room_for_logs(stack, roomless, "compute2"))
            hears(stack, strange, "image-pulling", "compute1")
            somebody_tells(stack, strange, "MoonInTheSeventhHouse", "wait for Jupiter")
            hears(stack, strange, "unknown", "compute1")
            assert "MoonInTheSeventhHouse: wait for Jupiter" in told(stack, strange, "compute1")
        hears(stack, roomless, "runtime-no-space", "compute2")
    stack.await_ended([strange, roomless], 120)
    assert [stack.state(job) for job in (strange, roomless)] == ["COMPLETED"] * 2


def test_pods_that_are_taken_away_while_they_run(stack: Stack) -> None:
    """By whoever may: of four jobs on two nodes each is told of its own, and no node pays for it."""
    deleted, evicted = in_training(stack, "compute1", "--mem=64M"), in_training(stack, "compute1", "--mem=2000M")
    failed, orphaned = (in_training(stack, "compute2", "--mem=64M") for _ in range(2))
    await_training(stack, deleted, evicted, failed, orphaned)
    here = ("-n", stack.namespace)
    stack.kubectl(*here, "delete", "pod", worker(deleted), "--wait=false")
    over = '{"status": {"phase": "Failed"}}'
    stack.kubectl(*here, "patch", "pod", worker(failed), "--subresource=status", "--type=merge", "-p", over)
    stack.kubectl(*here, "delete", "pytorchjob", f"slurm-demo-{orphaned.id}-0", "--wait=false")
    # All of the node's memory but half of what one of the two pods has: the kubelet makes room by ending that one.
    node = json.loads(stack.kubectl("get", "node", "compute1", "-o", "json"))
    memory = int(node["status"]["allocatable"]["memory"].removesuffix("Ki")) - 1000 * 1024
    critical = {"priorityClassName": "system-node-critical"}
    with applied(stack, somebodys_pod(stack, "compute1", "true", {"memory": f"{memory}Ki"}, **critical)):
        taken_away(stack, evicted, "evicted", "compute1")
    taken_away(stack, deleted, "pod-deleted", "compute1")
    taken_away(stack, failed, "pod-failed", "compute2")
    taken_away(stack, orphaned, "workload-deleted", "compute2")
