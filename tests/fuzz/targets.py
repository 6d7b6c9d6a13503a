"""What the bridge does with bytes from outside: one function for each border, for any bytes.

Each raises only what its border may raise, which is caught here. All else is a finding: an exception that nobody
expects, a hang, memory without bound. `make fuzz` runs them under atheris, the unit tests replay the corpora.
"""

import json
import socket
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from bridge.cli.fields import ShownRun
from bridge.config import Config
from bridge.errors import AllocationError, BridgeError, SpecError
from bridge.job.faults import finding
from bridge.job.faults.admission import of_creation, of_pod_creation
from bridge.job.faults.nodes import node_facts
from bridge.job.faults.servers import of_kubernetes, of_slurm
from bridge.job.pods import pod_facts, workload_facts
from bridge.job.render import render
from bridge.kube.answers import decoded, refusal, slim
from bridge.kube.log_reading import Position, Reading
from bridge.slurm.environ import from_environ
from bridge.slurm.hostlist import count_list, expand
from bridge.slurmrest import adapters, errors
from bridge.wire.frames import Channel, FrameError
from bridge.wire.messages import HookRequest, ScanReply, UserRequest, mismatch
from tests.unit.job.given import placement, site

Target = Callable[[bytes], None]
_SITE: Config = site()
_PLACEMENT = placement()
_LIMIT = 64 * 1024  # bytes of one input: a socket's buffer takes them at once


def hook_socket(data: bytes) -> None:
    """What root's hook, of whatever version, sends; root alone may connect, but its environment is the user's."""
    for frame in _frames(data):
        if mismatch(frame.get("v"), "hook") is None:
            _understood(HookRequest, frame)
            _understood(ScanReply, frame)


def user_socket(data: bytes) -> None:
    """What anybody on the node may send."""
    for frame in _frames(data):
        if mismatch(frame.get("v"), "bridgectl") is None:
            question = _understood(UserRequest, frame)
            for told in question.after.values() if isinstance(question, UserRequest) else ():
                assert Position.of(told) == Position.of(str(Position.of(told)))
        _understood(ShownRun, frame)


def spec(data: bytes) -> None:
    """The spec file, to the manifest."""
    try:
        made = render(data[:_LIMIT], _PLACEMENT, _SITE)
    except SpecError:
        return
    json.dumps(made.manifest).encode()


def environment(data: bytes) -> None:
    """SLURM_*: NAME=value, apart by NUL, as the kernel keeps it."""
    words = (item.partition("=") for item in data[:_LIMIT].decode("utf-8", "surrogateescape").split("\0"))
    try:
        allocation = from_environ({f"SLURM_{name}": value for name, _, value in words})
    except AllocationError as error:
        str(error).encode()
        return
    json.dumps(allocation.to_dict()).encode()
    assert allocation.nodes[allocation.rank] == allocation.node


def node_list(data: bytes) -> None:
    """Node lists and counts, in Slurm's own shorthand."""
    text = data[:_LIMIT].decode("utf-8", "surrogateescape")
    for read in (expand, count_list):
        try:
            assert len(read(text, 1000)) <= 1000
        except AllocationError as error:
            str(error).encode("utf-8", "surrogateescape")


def slurmrest_answer(data: bytes) -> None:
    """What stands behind slurmrestd's address: a status in the first two bytes, then the body."""
    status, body = 100 + int.from_bytes(data[:2], "big") % 500, data[2:]
    for kind in ("application/json", "text/plain"):
        try:
            answer = errors.content(status, kind, body)
        except errors.UnknownPath:
            continue
        except BridgeError as error:
            of_slurm(error)
            continue
        for item in _items(answer, "jobs"):
            _told(lambda item=item: adapters.job_record(item))  # type: ignore[misc]
        for item in _items(answer, "nodes"):
            _told(lambda item=item: adapters.node_record(item))  # type: ignore[misc]


def kubernetes_answer(data: bytes) -> None:
    """What stands behind the API server's address: a status in the first two bytes, then the body."""
    status, body = 100 + int.from_bytes(data[:2], "big") % 500, data[2:]
    error = refusal(status, {"Retry-After": body[:20].decode("latin-1")}, body)
    of_kubernetes(error)
    of_creation(error)
    of_pod_creation(str(error))
    try:
        item = slim(decoded(body))
        facts = pod_facts(item)
        if facts is not None:
            finding(facts)
        workload_facts(item)
        node_facts(item, ("nvidia.com/gpu",))
    except BridgeError:
        pass


def log(data: bytes) -> None:
    """A container's log as the kubelet streams it, in two pieces, and read again from where it broke."""
    half = len(data) // 2
    reading = Reading(Position())
    first = [*reading.feed(data[:half], 0.0)]
    whole = [*first, *reading.feed(data[half:], 0.0), *reading.rest()]
    at = Position.of(first[-1].position) if first else Position()
    list(Reading(at).feed(data, 1.0))
    assert sum(len(piece.data) for piece in whole) <= len(data)


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        hook_socket,
        user_socket,
        spec,
        environment,
        node_list,
        slurmrest_answer,
        kubernetes_answer,
        log,
    )
}


def _frames(data: bytes) -> list[dict[str, Any]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data[:_LIMIT])
        theirs.shutdown(socket.SHUT_WR)
        channel, frames = Channel(ours, _LIMIT), []
        try:
            while (frame := channel.receive()) is not None:
                frames.append(frame)
        except FrameError:
            pass
        return frames


def _understood(model: Any, frame: dict[str, Any]) -> Any:
    try:
        return model.model_validate(frame)
    except ValidationError:
        return None


def _items(answer: dict[str, Any], key: str) -> list[Any]:
    found = answer.get(key)
    return found if isinstance(found, list) else []


def _told(read: Callable[[], object]) -> None:
    try:
        read()
    except BridgeError as error:
        of_slurm(error)
