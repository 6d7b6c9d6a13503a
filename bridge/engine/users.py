"""The user socket: what `bridgectl` asks. Everybody may connect; each verb looks at who is there."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from bridge import __version__, clock
from bridge.config import Config
from bridge.engine import connections, events, gc_answer, shown, tier
from bridge.engine.adoption import Adopter, Prospect
from bridge.engine.attachment import Attachment
from bridge.engine.health import SLURMRESTD
from bridge.engine.inbox import TokenBrought
from bridge.engine.logs import LogHub
from bridge.engine.loop import Engine
from bridge.engine.reconciler import Reconciler
from bridge.engine.state import Phase, Run
from bridge.errors import BridgeError, NotFound
from bridge.job.ids import pod_name
from bridge.kube.standing import Standing
from bridge.messages import bridged as messages
from bridge.messages.workloads import RUN_RELEARNT
from bridge.slurmrest.api import Credential
from bridge.slurmrest.service import ServiceToken
from bridge.wire.frames import Channel
from bridge.wire.messages import UserRequest, mismatch
from bridge.wire.peercred import Peer

_TURN = 5.0  # seconds in which the engine has taken in what it was told
_MOST_FOLLOWED = 128  # ranks at once: each costs the API server a stream, and this node two threads
_ROWS_LIMIT = 1024 * 1024  # bytes of all rows of an answer; a frame has twice that


class UserDoor:
    """Handler of `wire.server.Server` for user.sock."""

    def __init__(
        self,
        config: Config,
        engine: Engine,
        hub: LogHub,
        node: str,
        reconciler: Reconciler,
        adopter: Adopter,
        service: ServiceToken | None = None,
        standing: Callable[[], Standing] = Standing,
    ) -> None:
        self._config = config
        self._engine = engine
        self._hub = hub
        self._node = node
        self._reconciler = reconciler
        self._adopter = adopter
        self._service = service
        self._standing = standing
        self._naming = threading.Lock()

    def __call__(self, channel: Channel, peer: Peer) -> None:
        """One question and its answer."""
        frame = channel.receive()
        if frame is None:
            return
        unlike = mismatch(frame.get("v"), "bridgectl")
        if unlike is not None:
            # While an upgrade is under way the daemon that an `attach` is of may be the next one: it asks again.
            kind = "mismatch" if frame.get("verb") == "attach" else "error"
            channel.send({"kind": kind, "sentence": unlike})
            return
        try:
            request = UserRequest.model_validate(frame)
        except ValidationError:
            channel.send(_error(messages.QUESTION_UNLIKE.sentence()))
            return
        if request.verb == "attach":
            self._attach(channel, request, peer)
        else:
            channel.send(self._answer(request, peer))

    def _answer(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        match request.verb:
            case "status":
                return self._status(peer)
            case "ps":
                return {"kind": "runs", **_rows(self._visible(peer))}
            case "gc":
                return self._gc(request, peer)
            case "logs":
                return self._logs(request, peer)
            case "stop":
                return self._stop(request, peer)
            case "token":
                return self._token(request, peer)
        return self._show(request, peer)

    # -- what is there

    def _status(self, peer: Peer) -> dict[str, Any]:
        """Everybody may see how the node is; a run's words only its owner and root."""
        live = (run for run in self._visible(peer) if run.phase is not Phase.RELEASED)
        return {
            "kind": "status",
            "version": __version__,
            "node": self._node,
            "cluster": self._config.cluster.name,
            "tier": self._tier(),
            "connections": connections.contacts(self._engine.contacts()),
            "credential": connections.credential(self._standing()),
            "unknown": asdict(self._engine.unknown()),
            "slurmrest": None if self._config.slurmrest is None else self._config.slurmrest.url,
            "namespace": self._config.kubernetes.namespace,
            **_rows(live),
            "waiting_hooks": self._engine.waiting_hooks,
            "reconciler": gc_answer.summary(self._reconciler.report, peer.uid == 0, clock.now()),
            "last_fault": self._last_fault(peer),
        }

    def _last_fault(self, peer: Peer) -> dict[str, Any] | None:
        """Root's: it may name somebody's run."""
        fault = self._engine.last_fault
        return asdict(fault) if fault is not None and peer.may_see(0) else None

    def _tier(self) -> str:
        contact = self._engine.contacts().get(SLURMRESTD)
        return tier.told(self._config, contact, self._engine.unminted, self._service)

    def _visible(self, peer: Peer) -> Iterator[Run]:
        for run in self._engine.runs.values():
            # Of a run that only a job id tells of, nobody knows the owner: root may see it.
            owner = 0 if run.allocation is None else run.allocation.uid
            if peer.may_see(owner):
                yield run

    def _latest(self, request: UserRequest, peer: Peer) -> Run | None:
        found = [run for run in self._visible(peer) if run.key.job_id == request.job]
        return max(found, key=lambda run: (run.key.restart, run.began), default=None)

    def _show(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        run = self._latest(request, peer)
        if run is None:
            return _error(messages.NO_RUN_HERE.sentence(job=request.job))
        return {"kind": "run", "run": shown.row(run, clock.now()) | shown.detail(run) | self._place(run)}

    def _logs(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        """A rank's last lines, from its kubelet: what the hub keeps is `attach`'s, and is read once."""
        run = self._latest(request, peer)
        if run is None:
            return _error(messages.NO_RUN_HERE.sentence(job=request.job))
        if request.rank >= len(run.nodes):
            last = len(run.nodes) - 1
            return _error(messages.NO_SUCH_RANK.sentence(job=request.job, last=last, rank=request.rank))
        name = pod_name(run.name, request.rank)
        try:
            data = self._hub.last(self._place(run)["namespace"], name, request.lines)
        except NotFound:
            return {"kind": "gone", "sentence": messages.RANK_GONE.format(rank=request.rank), **_output(run)}
        except BridgeError as error:
            return _error(messages.RANK_UNREAD.sentence(rank=request.rank, why=error))
        return {"kind": "log", "data": data.decode("latin-1")}

    def _place(self, run: Run) -> dict[str, str]:
        """Where its objects are in Kubernetes."""
        return {"namespace": run.rules.namespace or self._config.kubernetes.namespace}

    def _gc(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        if peer.uid != 0:
            return _error(messages.GC_ROOT_ONLY.sentence())
        began = clock.now()
        try:
            report = self._reconciler.look() if request.dry_run else self._reconciler.collect()
        except BridgeError as error:
            return _error(messages.GC_UNKNOWN.sentence(why=error))
        return gc_answer.whole(report, began)

    def _stop(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        """Slurm has told the script to end: so does the run, before any epilog."""
        run = self._run_of(request, peer) or self._run_of(_of_any_start(request), peer)
        if run is None:
            return _error(messages.NO_RUN_HERE.sentence(job=request.job))
        self._engine.happened(run.key, events.StopAsked(clock.now()))
        return {"kind": "stopping"}

    # -- attach

    def _attach(self, channel: Channel, request: UserRequest, peer: Peer) -> None:
        found = self._attachable(request, peer)
        if not isinstance(found, Run):
            channel.send(found)
            return
        has_token = self._keep_token(request, found, peer)
        with self._naming:
            refusal = self._named(request, found, has_token)
        if refusal:
            channel.send(_error(refusal))
            return
        self._serve(channel, request, found)

    def _token(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        """The owner brings the next one, before the last one ends."""
        run = self._run_of(request, peer)
        if run is None:
            return _error(messages.NO_RUN_HERE.sentence(job=request.job))
        self._keep_token(request, run, peer)
        return {"kind": "kept"}

    def _keep_token(self, request: UserRequest, run: Run, peer: Peer) -> bool:
        """Whether its owner has brought one."""
        if not request.token or run.allocation is None or peer.uid != run.allocation.uid:
            return False
        self._engine.post(TokenBrought(run.key, Credential(run.allocation.user, request.token)))
        return True

    def _lacks_token(self, run: Run) -> bool:
        """Whether slurmctld is told nothing of this run for want of its owner's token alone."""
        rest = self._config.slurmrest
        return run.is_batch and not run.reporting and rest is not None and not rest.has_service

    def _named(self, request: UserRequest, run: Run, has_token: bool) -> str:
        """The ranks that are asked for by name will be followed; or why not. One at a time: each counts what those
        before it have named."""
        run = self._engine.runs.get(run.key, run)
        last = len(run.nodes) - 1
        if strange := [rank for rank in request.ranks if rank > last]:
            return messages.NO_SUCH_RANK.sentence(job=request.job, last=last, rank=strange[0])
        named = _ranks(request, run) if request.every or request.ranks else ()
        followed = run.asked_ranks.union(named)
        reporting = has_token and self._lacks_token(run)
        if not run.attached or followed != run.asked_ranks or reporting:
            if named and len(followed) > _MOST_FOLLOWED:
                return messages.TOO_MANY_RANKS.sentence(job=request.job, ranks=len(followed), most=_MOST_FOLLOWED)
            self._engine.happened(run.key, events.Attached(clock.now(), named, reporting))
            # In the journal before a line goes out: the next daemon must know that a reader will come again.
            self._until(
                lambda: (
                    (now := self._engine.runs.get(run.key)) is None or (now.attached and now.asked_ranks >= followed)
                )
            )
        return ""

    def _serve(self, channel: Channel, request: UserRequest, run: Run) -> None:
        channel.sock.settimeout(None)
        ranks = _ranks(request, run)
        attachment = Attachment(channel, self._engine, self._hub, run, ranks)
        attachment.resume({rank: position for rank, position in request.after.items() if rank in ranks})
        attachment.serve()

    def _until(self, taken_in: Callable[[], bool]) -> None:
        with self._engine.changed:
            self._engine.changed.wait_for(taken_in, _TURN)

    def _attachable(self, request: UserRequest, peer: Peer) -> Run | dict[str, Any]:
        """The run that an `attach` is of, or what it is told: never that a job which may be training has none."""
        if request.job is None:
            return _error(messages.ATTACH_WITHOUT_JOB.sentence())
        if (run := self._run_of(request, peer)) is not None:
            return run
        found = self._adopter.search(request.job, request.restart, peer, request.token)
        if found.prospect is Prospect.FOUND:
            self._until(lambda: self._run_of(request, peer) is not None)
            return self._run_of(request, peer) or _waiting(RUN_RELEARNT.sentence())
        if found.prospect is Prospect.OPEN:
            return _waiting(found.sentence)
        if (run := self._run_of(_of_any_start(request), peer)) is not None:
            return run
        why = self._engine.why_turned_away(request.job) if found.sentence else ""
        if why:
            return _error(messages.LET_GO.sentence(job=request.job, why=why))
        if found.sentence:
            return _error(found.sentence)
        return _error(messages.NO_BRIDGE_JOB.sentence(job=request.job)) | {"unknown": True}

    def _run_of(self, request: UserRequest, peer: Peer) -> Run | None:
        """The run that is asked for, where this node knows it and it is not over."""
        run = self._latest(request, peer)
        if run is None or run.phase is Phase.RELEASED or request.restart not in (None, run.key.restart):
            return None
        return run


def _of_any_start(request: UserRequest) -> UserRequest:
    """Before 23.02 Slurm tells its hooks no restart count: all runs of a job have 0 then."""
    return request.model_copy(update={"restart": None})


def _rows(runs: Iterable[Run]) -> dict[str, Any]:
    """The rows of these runs, the last ones where all of them would not fit into a frame, and how many were left out:
    of a job on a thousand nodes one row has 20 kB."""
    rows: list[dict[str, Any]] = []
    size, listed = 0, list(runs)
    for run in reversed(listed):
        row = shown.row(run, clock.now())
        size += len(json.dumps(row))
        if size > _ROWS_LIMIT:
            break
        rows.append(row)
    return {"runs": rows[::-1], "left_out": len(listed) - len(rows)}


def _ranks(request: UserRequest, run: Run) -> tuple[int, ...]:
    """Those whose output an `attach` is to have, where there is any of them."""
    return tuple(sorted(set(request.ranks))) or tuple(range(len(run.nodes)))


def _output(run: Run) -> dict[str, str]:
    """Where the output of the whole job is."""
    return {"output": "" if run.record is None else run.record.stdout}


def _error(sentence: str) -> dict[str, Any]:
    return {"kind": "error", "sentence": sentence}


def _waiting(sentence: str) -> dict[str, Any]:
    return {"kind": "waiting", "sentence": sentence}
