"""The hook socket's side of a connection: reads frames, hands them to the engine. Root only."""

import structlog
from pydantic import ValidationError

from bridge import __version__, wellknown
from bridge.engine.desk import Hook
from bridge.engine.inbox import HookArrived, HookClosed, HookScanned
from bridge.engine.loop import Engine
from bridge.messages import bridged as messages
from bridge.wire.frames import Channel, FrameError
from bridge.wire.messages import HookRequest, ScanReply, mismatch
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
                raise FrameError("no scan reply") from error


def _hook(channel: Channel, frame: dict[str, object]) -> Hook | None:
    """The hook behind a first frame; None after it was told why it is not understood."""
    unlike = mismatch(frame.get("v"), "hook")
    if unlike is not None:
        _send_away(channel, unlike)
        return None
    try:
        request = HookRequest.model_validate(frame)
        return Hook(channel, request, int(request.env["SLURM_JOB_ID"]))
    except (ValidationError, KeyError, ValueError) as error:
        log.error("hook_not_understood", error=type(error).__name__)
        _send_away(channel, messages.HOOK_UNLIKE.sentence(version=__version__))
        return None


def _send_away(channel: Channel, why: str) -> None:
    """No verdict: while an upgrade is under way the daemon that this hook is of may be the next one. The hook comes
    again, and what becomes of its job when its patience is over is its own affair."""
    log.error("hook_mismatch", cause=why)
    channel.send({"kind": "mismatch", "v": wellknown.PROTOCOL, "oldest": wellknown.OLDEST_PROTOCOL, "sentence": why})
