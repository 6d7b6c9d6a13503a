"""A piece of work in a detached child that may hang without hanging the hook.

File systems and name services can block for ever, in a state that not even SIGKILL ends. slurmd waits
for whoever holds its pipe, so the child has none of our descriptors; it is forked twice, so that nobody
has to wait for it; and the hook goes on at the deadline whether or not the child is gone.
"""

import os
import select
import time

from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Optional
else:
    import _signal as signal  # see `client`

OUTPUT_LIMIT = 2 * 1024 * 1024


def fill_standard_descriptors() -> None:
    """Where one of 0, 1 and 2 is closed, the next file would become it, and have in it what is said to slurmd's log."""
    fd = os.open("/dev/null", os.O_RDWR)
    while fd <= 2:
        fd = os.dup(fd)
    os.close(fd)


class LateError(Exception):
    """The child was not done at its deadline."""


class DiedError(Exception):
    """The child ended without a whole reply: killed, or the machine is out of something."""


class Child:
    """A started child; exactly one of :meth:`reply` and :meth:`output` may be called, once."""

    def __init__(self, pipe: int, seconds: float, become: "Optional[Callable[[], None]]" = None) -> None:
        self._pipe = pipe
        self._become = become
        self._end = time.monotonic() + seconds

    def output(self) -> bytes:
        """All that the child wrote until it closed its end. Raises LateError, DiedError."""
        try:
            pid, newline, text = self._drain().partition(b"\n")
        finally:
            os.close(self._pipe)
        if not newline or not pid.isdigit():
            raise DiedError(messages.CHILD_UNBORN)
        return text

    def reply(self) -> bytes:
        """What the child's work returned. Raises LateError, DiedError."""
        size, newline, text = self.output().partition(b"\n")
        if not newline or int(size) != len(text):
            raise DiedError(messages.CHILD_DIED)
        return text

    def _drain(self) -> bytes:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        data = b""
        while len(data) <= OUTPUT_LIMIT:
            left = self._end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                self._kill(data)
                raise LateError
            part = os.read(self._pipe, 65536)
            if not part:
                return data
            data += part
        self._kill(data)
        raise DiedError(messages.CHILD_LOUD.format(limit=OUTPUT_LIMIT))

    def _kill(self, data: bytes) -> None:
        number = data.partition(b"\n")[0]
        pid = int(number) if number.isdigit() else 0
        if pid <= 1:
            return
        if self._become is None:
            _end(pid)  # its end of the pipe is still open, so the number is still its own
            return
        # Of a program that runs as somebody else they may hold the pipe, and have given its number to another's
        # process: killed as they, for whom only what is theirs can be.
        killer = os.fork()
        if killer == 0:
            try:
                self._become()
                _end(pid)
            finally:
                os._exit(0)
        os.waitpid(killer, 0)


def start(work: "Callable[[], bytes]", seconds: float) -> "Child":
    """Run this in a detached child; collect with :meth:`Child.reply`. Raises OSError when fork fails."""

    def answer(pipe: int) -> None:
        text = work()
        _write(pipe, b"%d\n" % len(text) + text)

    return _start(answer, seconds)


def start_program(
    argv: "list[str]", environment: "dict[str, str]", seconds: float, become: "Optional[Callable[[], None]]" = None
) -> "Child":
    """Run this program so, stdout and stderr in one; collect with :meth:`Child.output`.

    ``become`` is called in the child first, to give up root; when it raises, nothing is run.
    """

    def execute(pipe: int) -> None:
        if become is not None:
            become()
        os.dup2(pipe, 1)
        os.dup2(pipe, 2)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, programs expect it
        os.execve(argv[0], argv, environment)

    return _start(execute, seconds, become)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def _start(work: "Callable[[int], None]", seconds: float, become: "Optional[Callable[[], None]]" = None) -> "Child":
    reader, writer = os.pipe()
    try:
        middle = os.fork()
    except OSError:
        os.close(reader)
        raise
    else:
        if middle == 0:
            _middle(work, seconds, writer)
    finally:
        os.close(writer)
    os.waitpid(middle, 0)
    return Child(reader, seconds, become)


def _middle(work: "Callable[[int], None]", seconds: float, pipe: int) -> None:
    """Be the parent that dies at once, or the child that does the work; never returns."""
    try:
        os.setsid()
        if os.fork() == 0:
            _detach(pipe)
            # Should the hook itself be killed, this ends the child; it survives an exec.
            signal.alarm(int(seconds) + 2)
            work(pipe)
    finally:
        os._exit(0)  # no handler, buffer or traceback of the hook's may run twice


def _detach(pipe: int) -> None:
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    _write(pipe, b"%d\n" % os.getpid())
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        if fd != pipe:
            os.dup2(null, fd)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != pipe:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor of this very listing
    os.chdir("/")
    os.umask(0o077)


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]
