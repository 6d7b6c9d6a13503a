"""Commands of the node, Slurm's above all, run as whoever asks. None may hang a terminal: each has a deadline."""

import os
import subprocess

from bridge.errors import BridgeError
from bridge.messages import bridgectl as messages

_ENDING = 3.0  # seconds that a command has for its own end after SIGTERM
_KEPT = ("HOME", "LANG", "PATH", "SLURM_CONF", "TZ", "USER")  # nothing of a job that this may run in


def run(
    words: list[str], seconds: float, *, whole: bool = False, given: str = ""
) -> "subprocess.CompletedProcess[str]":
    """With a small environment, or with the ``whole`` of who asks; ``given`` is what it reads.

    Raises BridgeError where it cannot be run, or does not end in time.
    """
    environment = {name: os.environ[name] for name in os.environ if whole or name in _KEPT} | {"LC_ALL": "C.UTF-8"}
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, text=True, errors="replace"
        )
    except OSError as error:
        raise BridgeError(messages.NO_SLURM_COMMAND.sentence(command=words[0], why=error.strerror)) from error
    with process:
        try:
            out, err = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            raise BridgeError(messages.SLURM_SILENT.sentence(command=words[0], seconds=f"{seconds:.0f}")) from None
        except BaseException:
            _end(process)
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _end(process: "subprocess.Popen[str]") -> None:
    """SIGTERM first: srun takes its step back then. Nothing more is read: a second communicate() fails where Ctrl-C has
    ended the first before its first read (python/cpython#74389)."""
    process.terminate()
    try:
        process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
