"""The hook socket's side of a connection: reads frames, hands them to the engine. Root only."""

import structlog
from pydantic import ValidationError

from bridge import wellknown
from bridge.engine.desk import Hook
from bridge.engine.inbox import HookArrived, HookClosed, HookScanned
from bridge.engine.loop import Engine
from bridge.wire.frames import Channel, FrameError
from bridge.wire.messages import HookRequest, ScanReply
from bridge.wire.peercred import Peer

log = structlog.get_logger()


class HookDoor:
    """Handler of `wire.server.Server` for hook.sock."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(self, channel: Channel, peer: Peer) -> None:
        """One hook, from its question to the end of its connection."""
        if peer.uid != 0:
            log.warning("hook_refused", uid=peer.uid, pid=peer.pid)
            return
        first = channel.receive()
        if first is None:
            return
        hook = _hook(channel, first)
        if hook is None:
            return
        log.info("hook_arrived", job=hook.job_id, phase=hook.phase, bridge=hook.request.bridge)
        self._engine.post(HookArrived(hook))
        try:
            self._listen(channel, hook)
        finally:
            self._engine.post(HookClosed(hook))

    def _listen(self, channel: Channel, hook: Hook) -> None:
        while (frame := channel.receive()) is not None:
            try:
                self._engine.post(HookScanned(hook, ScanReply.model_validate(frame)))
            except ValidationError as error:
                raise FrameError("the hook sent a frame that is no scan reply") from error


def _hook(channel: Channel, frame: dict[str, object]) -> Hook | None:
    """The hook behind a first frame; None after it was told why it is not understood."""
    if frame.get("v") != wellknown.PROTOCOL:
        _refuse(channel, frame, f"the daemon speaks protocol {wellknown.PROTOCOL}, the hook {frame.get('v')}")
        return None
    try:
        request = HookRequest.model_validate(frame)
        return Hook(channel, request, int(request.env["SLURM_JOB_ID"]))
    except (ValidationError, KeyError, ValueError) as error:
        _refuse(channel, frame, "the hook's question is not understood")
        log.error("hook_not_understood", error=type(error).__name__)
        return None


def _refuse(channel: Channel, frame: dict[str, object], why: str) -> None:
    """A hook that does not fit its daemon: the node is half installed, and no job may start or end on it."""
    message = f"{why}; install hook and daemon of the same version on this node"
    log.error("hook_mismatch", cause=why)
    code = 0 if frame.get("phase") == "prolog" and frame.get("bridge") is False else 1
    channel.send({"kind": "answer", "exit": code, "message": message, "output": None, "released": []})
