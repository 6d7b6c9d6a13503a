"""The hooks that wait: who asked what, and how each is told. Belongs to the engine's thread."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import structlog

from bridge import clock
from bridge.engine.state import Answer, Mark
from bridge.job.ids import RunKey
from bridge.wire.frames import Channel, FrameError
from bridge.wire.messages import HookRequest

log = structlog.get_logger()

_SEND_SECONDS = 5.0  # a hook that does not read for so long is given up


@dataclass(eq=False)
class Hook:
    """One waiting hook. ``arrived`` is when its process began, so that a restarted daemon counts no second time;
    ``key`` is None until the door has let it in, ``decided`` what the door has to say."""

    channel: Channel
    request: HookRequest
    job_id: int
    key: RunKey | None = None
    arrived: float = field(init=False)
    scanning: int | None = None
    decided: Answer | None = None

    def __post_init__(self) -> None:
        now = clock.now()
        self.arrived = now if self.request.began is None else min(self.request.began, now)
        # The kernel's time-out, for sending alone: Python's own would be that of the thread which reads, too.
        self.channel.sock.settimeout(None)
        self.channel.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(_SEND_SECONDS))

    @property
    def phase(self) -> str:
        """ "prolog" or "epilog"."""
        return self.request.phase

    @property
    def run(self) -> str | None:
        """Its run, for people; None before the door has let it in."""
        return None if self.key is None else str(self.key)

    @property
    def waits_at_door(self) -> bool:
        """A prolog that has no run yet."""
        return self.phase == "prolog" and self.key is None

    def waits_for_release_of(self, key: RunKey) -> bool:
        """An epilog ends every run of its job."""
        return self.phase == "epilog" and self.job_id == key.job_id

    def send(self, message: dict[str, Any]) -> bool:
        """Whether the message went out; a hook that cannot be reached comes back by itself."""
        try:
            self.channel.send(message)
        except (OSError, FrameError) as error:
            log.info("hook_unreachable", job=self.job_id, run=self.run, phase=self.phase, cause=str(error))
            return False
        return True


class Desk:
    """All waiting hooks of this node."""

    def __init__(self) -> None:
        self._hooks: list[Hook] = []
        self._scans = 0

    def __iter__(self) -> Iterator[Hook]:
        return iter(list(self._hooks))

    def __len__(self) -> int:
        return len(self._hooks)

    def admit(self, hook: Hook) -> None:
        """A hook waits."""
        self._hooks.append(hook)

    def leave(self, hook: Hook) -> bool:
        """A hook's connection ended; whether it was still waiting."""
        if hook not in self._hooks:
            return False
        self._hooks.remove(hook)
        return True

    def waiting(self, key: RunKey, phase: str) -> bool:
        """Whether a hook that slurmd waits for waits for this run's answer."""
        return any(hook.key == key and hook.phase == phase and not hook.request.lingers for hook in self._hooks)

    def waits_for_release_of(self, key: RunKey) -> bool:
        """Whether an epilog of this run's job waits."""
        return any(hook.waits_for_release_of(key) for hook in self._hooks)

    def answer(
        self, hook: Hook, answer: Answer, released: tuple[Mark, ...] = (), timeline: dict[str, str] | None = None
    ) -> bool:
        """Tell a hook its answer, whose markers go and what it shall leave for the owner, and see it off; whether it
        could be told."""
        self._hooks.remove(hook)
        seconds = round(clock.now() - hook.arrived, 3)
        told = {"phase": hook.phase, "exit": answer.exit, "message": answer.message, "seconds": seconds}
        log.info("hook_answered", job=hook.job_id, run=hook.run, **told)
        left = {} if timeline is None else {"timeline": timeline}
        return hook.send(
            left
            | {
                "kind": "answer",
                "exit": answer.exit,
                "message": answer.message,
                "output": answer.output,
                "requeue": None if answer.requeue is None else asdict(answer.requeue),
                "linger": answer.linger,
                "released": sorted({mark.job_id for mark in released}),
                "released_runs": sorted(_words(mark) for mark in released),
            }
        )

    def ask_for_scan(self, key: RunKey, message: dict[str, Any]) -> int | None:
        """Have a hook scan the node: the run's own epilog, else any hook that waits. The scan's number, or None."""
        own = [hook for hook in self._hooks if hook.key == key and hook.phase == "epilog"]
        for hook in own or self._hooks:
            if hook.scanning is not None:
                continue
            self._scans += 1
            if hook.send({"kind": "scan", "id": self._scans, **message}):
                hook.scanning = self._scans
                return self._scans
        return None


def _words(mark: Mark) -> list[int]:
    """``released`` names the jobs alone, for hooks that read no more."""
    return [mark.job_id] if mark.start is None else [mark.job_id, mark.restart, mark.start]


def _timeval(seconds: float) -> bytes:
    return struct.pack("@ll", int(seconds), int(seconds % 1 * 1_000_000))
