"""Telling hooks: a hook that is gone or does not read harms nobody else."""

import socket
import threading
from collections.abc import Iterator

import pytest

from bridge.engine import desk
from bridge.engine.desk import Hook
from bridge.wire.frames import Channel
from bridge.wire.messages import HookRequest

Pair = tuple[Hook, Channel]


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """A waiting hook as the daemon holds it, and the hook's own end; sending gives up after 0.1 s."""
    monkeypatch.setattr(desk, "_SEND_SECONDS", 0.1)
    ours, theirs = socket.socketpair()
    theirs.settimeout(5)
    request = HookRequest(v=1, phase="prolog", bridge=False, env={"SLURM_JOB_ID": "7"})
    yield Hook(Channel(ours), request, 7), Channel(theirs)
    ours.close()
    theirs.close()


def test_a_hook_that_is_gone_cannot_be_told(pair: Pair) -> None:
    hook, other_end = pair
    other_end.close()
    assert not hook.send({"kind": "answer"})


def test_a_hook_whose_connection_was_closed_on_our_side_cannot_be_told(pair: Pair) -> None:
    hook, _ = pair
    hook.channel.close()
    assert not hook.send({"kind": "answer"})


def test_sending_to_a_hook_that_does_not_read_does_not_end_the_reading_from_it(pair: Pair) -> None:
    hook, other_end = pair
    heard: list[object] = []
    reader = threading.Thread(target=lambda: heard.append(hook.channel.receive()))
    sender = threading.Thread(target=lambda: heard.append(hook.send({"kind": "scan", "pods": ["x" * 1_000_000]})))
    sender.start()
    reader.start()
    sender.join(5)
    assert heard == [False]
    other_end.send({"kind": "scanned"})
    reader.join(5)
    assert heard == [False, {"kind": "scanned"}]
