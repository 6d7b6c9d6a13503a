"""A node and an API server that do not take each other: `status` says which state it is, jobs wait, no node is drained;
what is mended is taken by daemons that live on."""

import base64
import json
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bridge import wellknown
from tests.certificates import DAY, Authority

from .detours import (
    Detour,
    change_kubeconfig,
    client_pair,
    detours,
    kubeconfig,
    led,
    with_authority,
    with_client_certificate,
    with_token,
)
from .rows import hears
from .specs import container_job
from .stack import NODES, Stack, eventually

_KUBECONFIG = wellknown.KUBECONFIG


def status(stack: Stack, node: str) -> dict[str, Any]:
    """As a monitoring system reads it."""
    told: dict[str, Any] = json.loads(stack.exec(node, "bridgectl", "status", "-o", "json"))
    return told


def comes_to(stack: Stack, node: str, state: str) -> None:
    """The node says by itself how it and the API server are to each other, whoever asks, and with a cure."""

    def look() -> dict[str, Any]:
        contact = status(stack, node)["connections"].get("Kubernetes", {})
        return contact if contact.get("state") == state else {}

    contact = eventually(look, 60, f"{state} on {node}, where {status(stack, node)['connections']}")
    if state != "good":
        said = stack.exec(node, "bridgectl", "status", user="other")
        assert f"Kubernetes: {contact['fault'].split(' (')[0]}" in said and f"[{state}]" in said, said
        assert "so: prolog: the job is requeued" in said, said
        assert "; the site " in contact["fault"] or "; where the authority" in contact["fault"], contact
        assert not re.search(r"SSL|_ssl\.c|VERIFY|Traceback", said), said


def expired(text: str) -> str:
    """A kubeconfig whose token ended a moment ago."""
    found = re.search(r"\btoken: *(\S+)", text)
    assert found
    head, payload, signature = found[1].split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    claims |= {"iat": int(time.time()) - 90_000, "nbf": int(time.time()) - 90_000, "exp": int(time.time()) - 5}
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return with_token(text, f"{head}.{payload}.{signature}")


def shown_one_after_the_other(stack: Stack, way: Detour, authority: Authority) -> None:
    """Certificates of the API server; the last one is of an authority that the node is given afterwards."""
    new = Authority()
    for pair, state in (
        (authority.issue(begins=DAY, ends=3 * DAY), "api-clock"),
        (authority.issue(begins=-3 * DAY, ends=-DAY), "api-server-expired"),
        (authority.issue(host="127.0.0.2"), "api-certificate"),
        (authority.issue(), "good"),
        (new.issue(), "api-authority"),
    ):
        way.shows(pair.certificate, pair.key)
        comes_to(stack, way.node, state)
    change_kubeconfig(stack, way.node, lambda text: led(with_authority(text, new.own.certificate)))
    comes_to(stack, way.node, "good")


def given_one_after_the_other(stack: Stack, node: str) -> None:
    """Credentials of the node."""
    client = client_pair(stack, f"slurm-k8s-bridge:{node}", 0)
    given: tuple[tuple[Callable[[str], str], str], ...] = (
        (expired, "api-token-expired"),
        (lambda text: with_client_certificate(text, *client), "api-client-expired"),
        (lambda text: with_token(text, "nobody's"), "api-credential"),
        (lambda text: text, "good"),
    )
    for change, state in given:
        change_kubeconfig(stack, node, change)
        comes_to(stack, node, state)


def test_what_is_not_trusted_is_one_state_until_it_is_mended(stack: Stack) -> None:
    """With a job on each node that waits for it: on one node the API server's certificate is at fault, on the other the
    node's own credential."""
    daemons = [stack.main_pid(node) for node in NODES]
    authority = Authority()
    spec = container_job(stack.images["small"], "true")
    with detours(stack, "compute1") as (way,), kubeconfig(stack, "compute2", expired):
        change_kubeconfig(stack, "compute1", lambda text: led(with_authority(text, authority.own.certificate)))
        early = authority.issue(begins=DAY, ends=3 * DAY)
        way.shows(early.certificate, early.key)
        jobs = [stack.submit(spec, "-N1", f"--nodelist={node}") for node in NODES]
        hears(stack, jobs[0], "api-clock", "compute1")
        hears(stack, jobs[1], "api-token-expired", "compute2")
        with ThreadPoolExecutor() as both:
            told = [
                both.submit(shown_one_after_the_other, stack, way, authority),
                both.submit(given_one_after_the_other, stack, "compute2"),
            ]
        for each in told:
            each.result()
        stack.await_ended(jobs, 120)
    assert [stack.state(job) for job in jobs] == ["COMPLETED"] * 2
    assert [stack.main_pid(node) for node in NODES] == daemons
    for node in NODES:
        comes_to(stack, node, "good")


def warned(stack: Stack, node: str) -> list[str]:
    """Of what the node's `status` warns."""
    return [warning["state"] for warning in status(stack, node)["credential"]["warnings"]]


def test_what_will_be_a_fault_is_told_before_it_is_one(stack: Stack) -> None:
    """A clock that is two hours behind, and a kubeconfig that nobody can read: what was read before serves, until a
    daemon is started anew."""
    with detours(stack, "compute1") as (way,), kubeconfig(stack, "compute2", lambda text: text):
        way.obeys(ahead=7200)
        stack.sh("compute2", f"mv {_KUBECONFIG} {_KUBECONFIG}.away")
        asks(stack, "compute1")
        eventually(lambda: warned(stack, "compute1") == ["clock-off"], 30, "a warning of the clock")
        said = stack.exec("compute1", "bridgectl", "status")
        assert re.search(r"the clock of this node is 7,\d\d\d s behind the API server's", said), said
        way.obeys()
        asks(stack, "compute1")
        eventually(lambda: warned(stack, "compute1") == [], 30, "no warning")

        assert warned(stack, "compute2") == ["kubeconfig-unusable"]
        assert stack.run(container_job(stack.images["small"], "true"), "-N1", "--nodelist=compute2")
        stack.kill_daemon("compute2")
        comes_to(stack, "compute2", "api-kubeconfig")
        job = stack.submit(container_job(stack.images["small"], "true"), "-N1", "--nodelist=compute2")
        hears(stack, job, "api-kubeconfig", "compute2")
        daemon = stack.main_pid("compute2")
        stack.sh("compute2", f"mv {_KUBECONFIG}.away {_KUBECONFIG}; chown root: {_KUBECONFIG}")
        eventually(lambda: "Permission denied" in str(status(stack, "compute2")["credential"]), 30, "another reason")
        stack.sh("compute2", f"chown slurm-k8s-bridge: {_KUBECONFIG}")
        comes_to(stack, "compute2", "good")
        stack.await_end(job, 120)
        assert stack.state(job) == "COMPLETED"
        assert stack.main_pid("compute2") == daemon
        assert warned(stack, "compute2") == []


def asks(stack: Stack, node: str) -> None:
    """Something of the API server."""
    stack.exec(node, "bridgectl", "gc", "--dry-run")
