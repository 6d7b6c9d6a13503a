"""`bridgectl attach`: the training's output in the Slurm output file, its exit code as the script's."""

import argparse
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from bridge.cli.asked import without_run
from bridge.cli.ranks import RankWriter
from bridge.cli.signals import Signals
from bridge.errors import BridgeError, Misused
from bridge.hook import paths
from bridge.hook.token import lifespan
from bridge.messages import bridgectl as messages
from bridge.wire.client import DaemonGone, ask, ask_once

_RANKS = 1024  # that one may name
_PATIENCE = 120.0  # seconds without a daemon that takes the question, after which the job is given up
_RETRY = 0.5
_LOST_RETRY = 2.0  # while the daemon looks for the run that it has lost
_TOKEN_PATIENCE = 5.0


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """The options of `attach`."""
    which = verb.add_mutually_exclusive_group()
    which.add_argument("--rank", type=_ranks, default=(), metavar="N[,N...]", help="show only these ranks' output")
    which.add_argument(
        "--all", action="store_true", help="show every rank's; without it, above 16, the first's and the failing one's"
    )
    verb.add_argument("--prefix", action="store_true", help="begin each line with its rank")
    verb.set_defaults(command=attach)


def _ranks(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if len(words) > _RANKS or not all(re.fullmatch("[0-9]{1,7}", word) for word in words):
        raise argparse.ArgumentTypeError(messages.RANKS_UNLIKE.sentence(most=_RANKS, given=repr(text[:40])))
    return tuple(map(int, words))


def attach(options: argparse.Namespace) -> int:
    """Stream until the run is over; the training's exit code, 75 for a fault of the infrastructure, 143 where Slurm
    has told this script to end."""
    job = os.environ.get("SLURM_JOB_ID", "")
    if not job.isdigit():
        raise Misused(messages.ATTACH_OUTSIDE.sentence())
    restart = os.environ.get("SLURM_RESTART_COUNT", "")  # not set in a job's first run
    asked = {"job": int(job), "restart": int(restart) if restart.isdigit() else None}
    wanted = {"ranks": options.rank, "every": options.all}
    with Signals(asked) as signals:
        return signals.exit_code(_Reader(asked | wanted, RankWriter(sys.stdout.buffer, prefix=options.prefix)).run())


class _Reader:
    """One attach across restarts of the daemon: it remembers how far each rank's output came."""

    def __init__(self, asked: dict[str, Any], writer: RankWriter) -> None:
        """``asked``: of which run, and of which of its ranks."""
        self._asked = asked
        self._writer = writer
        self._after: dict[int, str] = {}
        self._greeted = False
        self._accepted = False  # on this connection
        self._waits_for = ""  # why this daemon cannot say yet how the run is
        self._fault = ""
        self._token: str | None = None

    def run(self) -> int:
        """The exit code. Raises BridgeError for a question that has no answer here, and when patience is over."""
        try:
            return self._read()
        finally:
            self._writer.finish()

    def _read(self) -> int:
        alone_since = time.monotonic()
        while True:
            code = self._listen()
            if code is not None:
                return code
            if self._accepted or self._waits_for:
                alone_since = time.monotonic()
            elif time.monotonic() > alone_since + _PATIENCE:
                raise DaemonGone(messages.ATTACH_ALONE.sentence(seconds=f"{_PATIENCE:.0f}", why=self._fault))
            # The socket is systemd's: the next connect waits until the next daemon accepts.
            time.sleep(_LOST_RETRY if self._waits_for else _RETRY)
            if self._accepted or self._token is None:
                self._token = _own_token()

    def _listen(self) -> int | None:
        """One connection: the exit code, or None when it ended before that was known."""
        waited_for, self._waits_for = self._waits_for, ""
        self._accepted, self._fault = False, messages.DAEMON_CLOSES
        question = {"verb": "attach", **self._asked, "after": dict(self._after), "token": self._token}
        try:
            for frame in ask(question):
                code = self._take(frame, waited_for)
                if code is not None:
                    return code
        except DaemonGone as error:
            if paths.never_set_up(paths.SYSTEM):
                raise BridgeError(_unconfigured()) from error
            self._fault = str(error)
        return None

    def _take(self, frame: dict[str, Any], waited_for: str) -> int | None:
        match frame.get("kind"):
            case "line":
                self._write(frame)
            case "gap":
                self._say(messages.LINES_SKIPPED.sentence(rank=frame["rank"]))
            case "attached":
                self._greet(frame)
            case "end":
                return self._end(frame)
            case "token":
                self._bring_token()
            case "busy" | "mismatch":
                self._fault = str(frame["sentence"])
            case "waiting":
                self._waits_for = str(frame["sentence"])
                if self._waits_for != waited_for:
                    self._say(f"{self._waits_for}; attach waits")
            case "error":
                why = without_run(self._asked["job"]) if frame.get("unknown") else ""
                raise BridgeError(why or str(frame["sentence"]))
        return None

    def _write(self, frame: dict[str, Any]) -> None:
        self._writer.write(int(frame["rank"]), frame["data"].encode("latin-1"))
        self._after[int(frame["rank"])] = frame["stamp"]

    def _greet(self, frame: dict[str, Any]) -> None:
        self._accepted = True
        if not self._greeted:
            for notice in frame["notices"]:
                self._say(f"note: {notice}")
        self._greeted = True

    def _bring_token(self) -> None:
        """The daemon asks again where this fails."""
        self._token = _own_token()
        if self._token is not None:
            with suppress(BridgeError):
                ask_once({"verb": "token", **self._asked, "token": self._token})

    def _end(self, frame: dict[str, Any]) -> int:
        self._writer.finish()
        code, unread = int(frame["exit"]), frame.get("unread")
        if unread:
            self._say(messages.LINES_LOST.sentence(ranks=", ".join(map(str, unread))))
        if code:
            self._say(frame["reason"])
        return code

    def _say(self, sentence: str) -> None:
        self._writer.make_way()
        print(f"slurm-k8s-bridge: {sentence}", file=sys.stderr, flush=True)


def _unconfigured() -> str:
    host = os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]
    return messages.NODE_UNCONFIGURED.sentence(host=host, path=paths.SYSTEM.config)


def _own_token() -> str | None:
    """A token of this user's own: a restarted daemon needs one to tell slurmctld how the job ended, and a daemon of a
    long job the next one."""
    if os.geteuid() == 0:
        return None  # root's may act for everybody
    end = os.environ.get("SLURM_JOB_END_TIME", "")
    seconds = lifespan(int(end) if end.isdigit() else None, time.time())
    # A site may let users have none that lives so long (max_token_lifespan): then one of the usual half hour.
    return _minted(f"lifespan={seconds}") or _minted()


def _minted(*options: str) -> str | None:
    command = ["scontrol", "token", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TOKEN_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    name, _, token = done.stdout.strip().partition("=")
    return token if name == "SLURM_JWT" and done.returncode == 0 else None
