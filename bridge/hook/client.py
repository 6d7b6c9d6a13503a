"""From the hook's environment to its exit code.

Exit 0 lets Slurm go on; exit 1 drains this node, so it stands for a fault of this very node, or for
GPUs that are not proven free.
"""

import binascii
import os
import time

from bridge import __version__
from bridge.hook import child as children
from bridge.hook import conversation, core, markers, paths
from bridge.hook.job import Job
from bridge.hook.word import printable
from bridge.messages import hook as messages
from bridge.wire import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from typing import Optional

    from bridge.hook import account, token
    from bridge.hook.account import Account
    from bridge.hook.conversation import Message
    from bridge.hook.paths import Paths, Patience
else:
    import _signal as signal  # what `signal` adds to it is an enum, which takes milliseconds to import


def main(argv: "list[str]") -> None:
    """The process of a hook; never returns."""
    phase = argv[1] if len(argv) == 2 else ""
    if phase == "--version":
        os.write(1, ("slurm-k8s-bridge-hook %s\n" % __version__).encode())
        os._exit(0)
    # No clean-up of the interpreter: the job waits for it.
    os._exit(run(phase, os.environb, paths.SYSTEM, paths.Patience()))


def run(phase: str, environment: "Mapping[bytes, bytes]", places: "Paths", patience: "Patience") -> int:
    """Exit code of the hook; whatever happens, at most one line on stdout."""
    children.fill_standard_descriptors()
    core.forbid()
    hook = Hook(phase, environment, places, patience)
    signal.signal(signal.SIGTERM, hook.on_sigterm)
    try:
        return hook.prolog() if phase == "prolog" else hook.epilog()
    except (markers.MarkerError, conversation.NoAnswerError) as error:
        return hook.fail(str(error))
    except Exception as error:  # noqa: BLE001 - a traceback helps nobody at night; the exit code must be right
        return hook.fail(messages.HOOK_BUG.sentence(kind=type(error).__name__, why=error))


class Hook:
    """One run of the hook. ``fallback`` is the exit code should it fail at this point."""

    def __init__(self, phase: str, environment: "Mapping[bytes, bytes]", places: "Paths", patience: "Patience") -> None:
        self.phase = phase
        self.job = Job(environment)
        self.paths = places
        self.patience = patience
        self.fallback = 0 if phase == "prolog" and self.job.spec is None else 1
        self.talk: "conversation.Conversation | None" = None
        self._account: "Account | None" = None

    def prolog(self) -> int:
        """Exit code of the prolog."""
        if self.job.spec is None:
            return self._foreign()
        if self.job.id is None:
            return self.fail(messages.NO_JOB_ID.sentence())
        if paths.never_set_up(self.paths):
            return self._unequipped()
        asked = self._ask_around() if self.job.on_batch_node else None
        request = conversation.request("prolog", True, self.job.env)
        # Before anybody can start anything for this run: from here on only a proven epilog frees the node.
        markers.write(self.paths.markers, self.job.id, self.job.marker(request["began"]))
        if asked is not None:
            self._add_what_is_asked_once(request, *asked)
        return self._ask(request, self.patience.prolog)

    def epilog(self) -> int:
        """Exit code of the epilog."""
        present = markers.present(self.paths.markers)
        if self.job.id is None and present:
            return self.fail(messages.NO_JOB_ID.sentence())
        if self.job.id is None or self.job.id not in present:
            return 0  # the guard saw a marker that another epilog of this job has removed meanwhile
        marker = self._marker(self.job.id)
        self._check_owner(marker)
        request = conversation.request("epilog", True, self.job.env)
        run = markers.run_of(marker)
        if run is not None:
            request["marker"] = {"restart": run[0], "start": run[1]}
        return self._ask(request, self.patience.epilog)

    def fail(self, sentence: str) -> int:
        """Say why, and what to do; returns the exit code."""
        start = messages.WHERE.format(phase=self.phase, job=self.job.id, node=self.job.node or "this node")
        note = "; last known: " + self.talk.last_note if self.talk and self.talk.last_note else ""
        cure = ""
        if self.fallback:
            cure = messages.RESUME.format(node=self.job.node or "NODE")
        _say(start + sentence + note + cure)
        return self.fallback

    def on_sigterm(self, _number: int, _frame: object) -> None:
        """slurmd's time-out: SIGKILL follows in 10 ms."""
        code = self.fail(messages.STOPPED.sentence())
        os._exit(code or 1)

    def _unequipped(self) -> int:
        """A job of ours on a node with the package and nothing else: the node is as good as ever, for other jobs.

        Nothing starts here, so there is no marker; `bridgectl attach` ends the job, with the cause.
        """
        self.fallback = 0
        return self.fail(messages.NO_CONFIGURATION.sentence(path=self.paths.config))

    def _foreign(self) -> int:
        """A job that is not ours, while an earlier run may still hold what this job was given."""
        present = markers.present(self.paths.markers)
        if not present:
            return 0
        self.fallback = 1 if self.job.gpus else 0
        try:
            request = conversation.request("prolog", False, self.job.env)
            return self._ask(request, self.patience.foreign)
        except conversation.NoAnswerError as error:
            earlier = ", ".join(str(number) for number in present[:8])
            return self.fail(messages.EARLIER_UNASKED.sentence(why=error.cause, jobs=earlier))

    def _ask(self, request: "Message", patience: float) -> int:
        margin, last_word = self.patience.margin, self.patience.last_word
        self.talk = conversation.Conversation(self.paths.socket, request, self._scan, patience, margin, last_word)
        answer = self.talk.answer()
        if answer.get("linger") is True and self.phase == "epilog":
            self._linger(request)
        return self._act(answer)

    def _ask_around(self) -> "tuple[token.Mint, account.Lookup]":
        """What takes other programs and the name service their time, while the hook writes its marker."""
        from bridge.hook import account, token

        mint = token.Mint(self.job, time.time(), self.paths, self.patience.token)
        return mint, account.Lookup(self.job, self.patience.groups)

    def _add_what_is_asked_once(self, request: "Message", mint: "token.Mint", who: "account.Lookup") -> None:
        """By the batch node, for all."""
        self._account = who.collect()
        request["groups"] = self._account.groups
        request["spec"] = self._spec(self._account)
        self._add_token(request, mint)
        self._make_fit(request)

    def _spec(self, who: "Account") -> "dict[str, str]":
        from bridge.hook import spec_reader

        try:
            path, data = spec_reader.read(self.job, who, self.patience.spec)
        except spec_reader.UnreadableError as error:
            return {"path": printable((self.job.spec or b"").decode("utf-8", "replace")), "error": str(error)}
        return {"path": path, "data": binascii.b2a_base64(data, newline=False).decode()}

    @staticmethod
    def _make_fit(request: "Message") -> None:
        """A spec that just fits by itself and not beside the job's groups and nodes is the job's own fault."""
        try:
            conversation.framed(request)
        except frames.FrameError as error:
            spec = request["spec"]
            path = spec.get("path") if isinstance(spec, dict) else None
            sentence = messages.SPEC_TOO_LARGE_BESIDE.sentence(path=path, why=error)
            request["spec"] = {"path": path, "error": sentence}

    @staticmethod
    def _add_token(request: "Message", mint: "token.Mint") -> None:
        from bridge.hook import token

        try:
            request["token"] = mint.collect()
        except token.NoTokenError as error:
            request["token_error"] = str(error)

    def _marker(self, job_id: int) -> "Message":
        try:
            return markers.read(self.paths.markers, job_id)
        except FileNotFoundError:
            return {}

    def _check_owner(self, marker: "Message") -> None:
        """slurmd says root for the owner of a job that slurmctld has forgotten; the marker knows better."""
        owner = marker.get("uid")
        if isinstance(owner, int) and owner != self.job.uid:
            self.job.uid = self.job.gid = None

    def _scan(self, message: "Message") -> "Message":
        """The answer to a scan frame."""
        from bridge.hook import scan  # not while the daemon waits for the question; so below

        found: "list[dict[str, object]]" = []
        fault = None
        try:
            found = scan.detached(message, self.paths.proc, self.patience.scan)
        except scan.ScanError as error:
            fault = str(error)
        except children.LateError:
            fault = messages.SCAN_LATE.format(seconds=int(self.patience.scan))
        except (children.DiedError, OSError) as error:
            fault = messages.SCAN_DIED.format(why=error)
        return {"kind": "scanned", "id": message.get("id"), "leftovers": found, "error": fault}

    def _act(self, answer: "Message") -> int:
        message, path = answer.get("message"), answer.get("output")
        self._unmark(answer)
        order = answer.get("requeue")
        if isinstance(order, dict):
            self._requeue(order)
        if message and path:
            self._tell(str(path), str(message))
        story = answer.get("timeline")
        if isinstance(story, dict):
            self._leave(str(story.get("output") or ""), str(story.get("text") or ""))
        if answer.get("exit") == 0 and not isinstance(answer.get("exit"), bool):
            return 0
        _say(str(message or messages.NODE_AT_FAULT.sentence()))
        return 1

    def _linger(self, request: "Message") -> None:
        from bridge.hook import lingering

        try:
            lingering.stay(request, self.paths, self.patience, self._scan, self._unmark)
        except OSError as error:
            _say(messages.NO_SCANNER.sentence(why=error))

    def _unmark(self, answer: "Message") -> None:
        for job_id, run in _released(answer):
            fault = markers.remove(self.paths.markers, job_id, run)
            if fault:
                _say(fault)

    def _tell(self, path: str, message: str) -> None:
        """Best effort: the job's comment says the same."""
        from bridge.hook import output

        who = self._owner()
        if who is not None and output.is_of(self.job, path):
            output.append(path, message, self.job, who, self.patience.output)

    def _leave(self, path: str, text: str) -> None:
        """Best effort, and not a word about it: the epilog is over, and nobody would read it."""
        from bridge.hook import output, timeline

        try:
            if path and text and output.is_of(self.job, path):
                timeline.leave(path, text, self.job, self.patience)
        except (OSError, ValueError):
            pass

    def _requeue(self, order: "dict[str, object]") -> None:
        """Where it cannot be done the script starts, and `bridgectl attach` ends it with the reason."""
        from bridge.hook import scontrol

        who = self._owner()
        fault = messages.OWNER_UNKNOWN if who is None else ""
        if who is not None:
            fault = scontrol.requeue(order, self.job, who, self.paths, self.patience.token)
        if fault:
            _say(messages.NOT_REQUEUED.sentence(job=self.job.id, why=fault))

    def _owner(self) -> "Optional[Account]":
        from bridge.hook import account

        try:
            self._account = self._account or account.lookup(self.job, self.patience.groups)
        except ValueError:
            return None
        return self._account


def _released(answer: "Message") -> "list[tuple[int, Optional[tuple[int, int]]]]":
    """Whose markers go: each job with the run, restart and start, that its marker has to name.

    None where the daemon does not know which run it was, or is of a version that names the jobs alone.
    """
    runs = answer.get("released_runs")
    if not isinstance(runs, list):
        return [(number, None) for number in _integers(answer.get("released"))]
    released = []  # type: list[tuple[int, Optional[tuple[int, int]]]]
    for run in runs:
        numbers = _integers(run)
        if len(numbers) == 3:
            released.append((numbers[0], (numbers[1], numbers[2])))
        elif len(numbers) == 1:
            released.append((numbers[0], None))
    return released


def _integers(value: object) -> "list[int]":
    return [item for item in value if type(item) is int and item >= 0] if isinstance(value, list) else []


def _say(sentence: str) -> None:
    """One line on stdout, which slurmd logs when the hook fails. Bytes: the locale may be plain C."""
    line = "slurm-k8s-bridge: %s\n" % printable(sentence, 2000)
    try:
        os.write(1, line.encode("utf-8", "replace"))
    except OSError:
        pass  # slurmd went away; the exit code is what counts
