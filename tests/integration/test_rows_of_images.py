"""Rows of images that do not come, by the registry's fault or by the node's: nobody pays for it but the job's time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .rows import Case, hindered
from .specs import container_job
from .stack import Stack

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
