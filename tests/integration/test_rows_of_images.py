"""Rows of images that do not come, by the registry's fault or by the node's: nobody pays for it but the job's time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .rows import Case, explained, hindered, manifest, meets
from .specs import container_job
from .stack import Stack, eventually

pytestmark = pytest.mark.usefixtures("soon_missed")


@contextmanager
def no_room_for_images(stack: Stack, node: str) -> Iterator[None]:
    """The runtime of this node finds no room for what it pulls."""
    arriving = "/var/lib/containerd/io.containerd.content.v1.content/ingest"
    stack.sh(node, f"mount -t tmpfs -o size=4k none {arriving} && head -c 4k /dev/zero >{arriving}/filling")
    try:
        yield
    finally:
        stack.sh(node, f"umount -l {arriving}")


def pulling(image: str) -> str:
    """A job whose nodes have to pull this image."""
    return container_job(image, "true")


def test_images_that_do_not_come(stack: Stack) -> None:
    faulty = "registry:5000/faulty"
    with no_room_for_images(stack, "compute2"):
        hindered(
            stack,
            Case("image-throttled", pulling(f"{faulty}/throttled:1"), "429 Too Many Requests", node="compute1"),
            Case("image-broken", pulling(f"{faulty}/damaged:1"), "unexpected commit digest", node="compute1"),
            Case("image-no-space", pulling(f"{faulty}/sound:1"), "no space left on device", node="compute2"),
            Case("image-untrusted", pulling("slurmrestd:6820/x:1"), "x509: ", node="compute2"),
            Case("image-broken", pulling(f"{faulty}/short:1"), "unexpected EOF", node="compute1"),
            Case("image-broken", pulling(f"{faulty}/no-archive:1"), node="compute1"),
            Case("image-broken", pulling(f"{faulty}/no-gzip:1"), node="compute1"),
        )


def test_a_long_pull_is_told_while_it_lasts(stack: Stack) -> None:
    image = stack.images["small"]
    said = f"image {image} is being pulled on compute1, compute2 for "
    with stack.registry_answering("hang"):
        job = stack.submit(manifest(stack, imagePullPolicy="Always"), "-N2", "--mem=256M")
        eventually(lambda: f"k8s=job.yaml | k8s: {said}" in stack.comment(job), 120, f"a pull in the comment of {job}")
        story = explained(stack, job)
        assert story["progress"].startswith(said)
        assert meets("image-pulling", "\n".join(story["suspicions"].values()))
        assert explained(stack, job, "compute2")["progress"].startswith(
            f"image {image} is being pulled on compute2 for "
        )
        for verb in ("ps", "explain"):
            told = stack.exec("compute1", "bridgectl", verb, *([str(job.id)] if verb == "explain" else []), user="ml")
            assert said in " ".join(told.split())
        assert said in stack.exec("login", "bridgectl", "ps", user="ml")
    stack.await_end(job, 120)
    assert stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: 2/2 ranks exited 0; ready after ")
