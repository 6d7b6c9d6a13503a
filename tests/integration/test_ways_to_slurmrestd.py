"""The ways to slurmrestd: a socket of the node, and TLS whose certificate or authority is not good for a while."""

import json
from typing import Any

from .restd import ADDRESS, another_authority, expired_certificate, on_a_socket
from .rows import hears, manifest
from .specs import UNTIL_LET_GO, container_job
from .stack import NODES, Stack, eventually

_ON = ("-N1", "-c1", "-w")
_FINISHED = "k8s=job.yaml | k8s: finished: 1/1 ranks exited 0"


def status(stack: Stack, node: str) -> dict[str, Any]:
    """What `bridgectl status` says."""
    said: dict[str, Any] = json.loads(stack.exec(node, "bridgectl", "status", "-o", "json"))
    return said


def test_over_a_socket_of_the_node(stack: Stack) -> None:
    with on_a_socket(stack, "compute1"), stack.configured("compute1", slurmrest={"url": ADDRESS}):
        job = stack.run(container_job(stack.images["small"], "echo done"), *_ON, "compute1")
        assert (status(stack, "compute1")["slurmrest"], status(stack, "compute1")["tier"]) == (ADDRESS, "owner")
        assert status(stack, "compute1")["connections"]["slurmrestd"]["fault"] == ""
    assert stack.sacct(job, "Comment").startswith(_FINISHED)
    assert stack.output(job) == "done\n"


def test_a_certificate_that_is_not_accepted_is_told_until_it_is_renewed(stack: Stack) -> None:
    """On one node for its own authority file, on the other for slurmrestd's certificate; daemons that live on."""
    daemons = [stack.main_pid(node) for node in NODES]
    spec = manifest(stack, "sh", "-c", UNTIL_LET_GO)  # of a job that is over Slurm takes no comment
    with another_authority(stack, "compute1"):
        untrusted = stack.submit(spec, *_ON, "compute1")
        hears(stack, untrusted, "slurmrestd-certificate", "compute1")
        known = status(stack, "compute1")["connections"]["slurmrestd"]
        assert (
            "does not accept slurmrestd's certificate" in known["fault"]
            and "certificate verify failed" in known["fault"]
        )
        assert known["down_for"] is not None
    with expired_certificate(stack):
        expired = stack.submit(spec, *_ON, "compute2")
        hears(stack, expired, "slurmrestd-certificate", "compute2")
        assert "certificate has expired" in status(stack, "compute2")["connections"]["slurmrestd"]["fault"]
    for job in (untrusted, expired):
        stack.let_go(job)
    stack.await_ended([untrusted, expired], 90)
    for job, node in ((untrusted, "compute1"), (expired, "compute2")):
        assert stack.sacct(job, "State") == "COMPLETED" and stack.sacct(job, "Comment").startswith(_FINISHED)
        eventually(lambda node=node: not status(stack, node)["connections"]["slurmrestd"]["fault"], 10, "well again")  # type: ignore[misc]
    assert [stack.main_pid(node) for node in NODES] == daemons


def test_a_way_that_tokens_may_not_take_is_refused(stack: Stack) -> None:
    config = stack.exec("compute1", "cat", "/etc/slurm-k8s-bridge/bridge.toml")
    unsafe = config.replace("https://slurmrestd:6820", "http://slurmrestd:6820")
    script = "cat > /run/unsafe.toml; bridged --check-config --config /run/unsafe.toml 2>&1; rm /run/unsafe.toml"
    said = stack.exec("compute1", "sh", "-c", script, stdin=unsafe)
    assert "slurmrest.url: Value error, would send Slurm tokens to slurmrestd where the network can read them" in said
