"""The tokens of the jobs' owners: how long they are used, and who brings the next one."""

import base64
import json
from typing import Any

import pytest

from bridge.engine.tokens import ASKED_BEFORE, Tokens
from bridge.job.ids import RunKey
from bridge.slurmrest.api import Credential

from .clients import OTHER, connected
from .node import Node, eventually
from .world import World

KEY = RunKey("demo", 7, 0)


def jwt(seconds: float, name: str = "ml") -> str:
    """As scontrol prints them; the signature is slurmctld's affair. Its clock is another one than this machine's."""
    claims = json.dumps({"exp": 5000 + seconds, "iat": 5000, "sun": name}).encode()
    return f"eyJ0eXAi.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.c2ln"


class Watch:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.tokens = Tokens(lambda: self.now)


def test_a_token_that_has_ended_is_none_and_the_next_one_is_asked_for_before() -> None:
    watch, brought = Watch(), Credential("ml", jwt(3600))
    assert watch.tokens.ends_soon(KEY) and watch.tokens.of(KEY) is None
    watch.tokens.keep(KEY, brought)
    assert watch.tokens.of(KEY) == brought and not watch.tokens.ends_soon(KEY)
    watch.now += 3600 - ASKED_BEFORE
    assert watch.tokens.of(KEY) == brought and watch.tokens.ends_soon(KEY)
    watch.now += ASKED_BEFORE
    assert watch.tokens.of(KEY) is None
    watch.tokens.keep(KEY, Credential("ml", jwt(7200)))
    assert watch.tokens.of(KEY) is not None and not watch.tokens.ends_soon(KEY)
    watch.tokens.forget(KEY)
    assert watch.tokens.of(KEY) is None


@pytest.mark.parametrize("token", ["sesame", "a.b.c", "a." + "x" * 50 + ".c", "a.e30.c", "a.bnVsbA.c", "a.W10.c", ".."])
def test_a_token_that_does_not_say_its_time_is_used_until_it_is_refused(token: str) -> None:
    watch = Watch()
    watch.tokens.keep(KEY, Credential("ml", token))
    watch.now += 10**9
    assert watch.tokens.of(KEY) == Credential("ml", token) and not watch.tokens.ends_soon(KEY)


def asks_for_a_token(node: Node) -> bool:
    """Whether an `attach` that comes now is asked for a token before anything else."""
    channel = connected(node.user_socket)
    try:
        channel.send({"v": 1, "verb": "attach", "job": 7})
        frames: list[Any] = [channel.receive(), channel.receive()]
    finally:
        channel.close()
    return [frame["kind"] for frame in frames] == ["attached", "token"]


def test_attach_is_asked_for_the_next_token_and_it_is_the_owners_alone(world: World) -> None:
    node, job, long = world.node(), world.job(), jwt(86400)
    assert node.prolog(job, token=jwt(ASKED_BEFORE)).exit() == 0
    assert asks_for_a_token(node)
    node.peer_uid = 0
    assert node.ask(verb="token", job=7, token=jwt(1)) == {"kind": "kept"}, "root's is not kept; nor does it matter"
    node.peer_uid = OTHER
    assert "has no run of yours" in node.ask(verb="token", job=7, token=jwt(1))["sentence"]
    node.peer_uid = 2001
    assert node.ask(verb="token", job=7, token=long) == {"kind": "kept"}
    world.ends(job, 0)
    node.until(lambda run: run.outcome and run.reported == run.sentence, job)
    assert world.rest.asked_as[-1] == Credential("ml", long)


def test_a_run_with_a_token_for_long_is_not_asked_for_one(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job, token=jwt(86400)).exit() == 0
    assert not node.engine.wants_token(job.key)
    node.crash()
    eventually(lambda: node.engine.wants_token(job.key))
