"""The user socket: what `bridgectl` asks. Everybody may connect; each verb looks at who is there."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from bridge import __version__, clock, wellknown
from bridge.config import Config
from bridge.engine import events, gc_answer, shown
from bridge.engine.activities import FollowLog
from bridge.engine.adoption import Adopter, Prospect
from bridge.engine.health import SLURMRESTD, Contact
from bridge.engine.inbox import TokenBrought
from bridge.engine.logs import LogHub
from bridge.engine.loop import Engine
from bridge.engine.reconciler import Reconciler
from bridge.engine.state import Outcome, Phase, Run
from bridge.engine.wanted import wanted
from bridge.errors import BridgeError, ConfigError, NotFound
from bridge.job.faults import Verdict
from bridge.job.faults.runs import ENDED_BY_SLURM
from bridge.job.ids import pod_name
from bridge.slurmrest.api import Credential
from bridge.slurmrest.service import ServiceToken
from bridge.wire.frames import Channel
from bridge.wire.messages import UserRequest, mismatch
from bridge.wire.peercred import Peer, has_left

_ADOPTION = 5.0  # seconds in which the engine has taken up a run that was found
_POLL = 0.25  # seconds between two looks at the run while nothing new is said
_REST_GRACE = 2.0  # seconds that the other ranks' last lines are waited for once the outcome is known
_ROWS_LIMIT = 1024 * 1024  # bytes of all rows of an answer; a frame has twice that
_REPORT_GRACE = 3.0  # seconds that the job's comment is waited for
_FAILING_GRACE = 10.0  # the same for the rank that decided it


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
    ) -> None:
        self._config = config
        self._engine = engine
        self._hub = hub
        self._node = node
        self._reconciler = reconciler
        self._adopter = adopter
        self._service = service

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
            channel.send(_error("the question is not understood; use bridgectl of the daemon's version"))
            return
        match request.verb:
            case "status":
                channel.send(self._status(peer))
            case "ps":
                channel.send({"kind": "runs", **_rows(self._visible(peer))})
            case "show":
                channel.send(self._show(request, peer))
            case "gc":
                channel.send(self._gc(request, peer))
            case "logs":
                channel.send(self._logs(request, peer))
            case "attach":
                self._attach(channel, request, peer)

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
            "connections": {name: _contact(contact) for name, contact in self._engine.contacts().items()},
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
        if self._config.slurmrest is None:
            return "none: bridge.toml has no section [slurmrest]"
        contact = self._engine.contacts().get(SLURMRESTD)
        if contact is not None and contact.for_good:
            return f"none: {contact.fault}"
        if self._service is None:
            return "owner"
        try:
            self._service.credential()
        except ConfigError as error:
            return f"owner: {error}"
        return self._config.slurmrest.tier

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
            return _error(_no_run(request))
        return {"kind": "run", "run": shown.row(run) | shown.detail(run) | self._place(run)}

    def _logs(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        """A rank's last lines, from its kubelet: what the hub keeps is `attach`'s, and is read once."""
        run = self._latest(request, peer)
        if run is None:
            return _error(_no_run(request))
        if request.rank >= len(run.nodes):
            return _error(f"job {request.job} has the ranks 0 to {len(run.nodes) - 1}, and no rank {request.rank}")
        name = pod_name(run.name, request.rank)
        try:
            data = self._hub.last(self._place(run)["namespace"], name, request.lines)
        except NotFound:
            return {"kind": "gone", "sentence": f"the pod of rank {request.rank} is gone", **_output(run)}
        except BridgeError as error:
            return _error(f"the output of rank {request.rank} cannot be read: {error}; try again")
        return {"kind": "log", "data": data.decode("latin-1")}

    def _place(self, run: Run) -> dict[str, str]:
        """Where its objects are in Kubernetes."""
        return {"namespace": run.rules.namespace or self._config.kubernetes.namespace}

    def _gc(self, request: UserRequest, peer: Peer) -> dict[str, Any]:
        if peer.uid != 0:
            return _error("gc shows and deletes everybody's workloads; run it as root")
        began = clock.now()
        try:
            report = self._reconciler.look() if request.dry_run else self._reconciler.collect()
        except BridgeError as error:
            return _error(f"the workloads of this node are not known, so nothing was deleted: {error}")
        return gc_answer.whole(report, began)

    # -- attach

    def _attach(self, channel: Channel, request: UserRequest, peer: Peer) -> None:
        found = self._attachable(request, peer)
        if not isinstance(found, Run):
            channel.send(found)
            return
        run = found
        channel.sock.settimeout(None)
        after = {rank: stamp for rank, stamp in request.after.items() if 0 <= rank < len(run.nodes)}
        self._hub.resume(run.key, after)
        if request.token and run.allocation is not None and peer.uid == run.allocation.uid:
            self._engine.post(TokenBrought(run.key, Credential(run.allocation.user, request.token)))
        if not run.attached:
            self._engine.happened(run.key, events.Attached(clock.now()))
        _Attachment(channel, self._engine, self._hub, run, after).serve()

    def _attachable(self, request: UserRequest, peer: Peer) -> Run | dict[str, Any]:
        """The run that an `attach` is of, or what it is told: never that a job which may be training has none."""
        if request.job is None:
            return _error("attach needs the number of a job")
        if (run := self._run_of(request, peer)) is not None:
            return run
        found = self._adopter.search(request.job, request.restart, peer, request.token)
        if found.prospect is Prospect.FOUND:
            with self._engine.changed:
                self._engine.changed.wait_for(lambda: self._run_of(request, peer) is not None, _ADOPTION)
            return self._run_of(request, peer) or _waiting("the run is being learnt again")
        if found.prospect is Prospect.OPEN:
            return _waiting(found.sentence)
        # Before 23.02 Slurm tells its hooks no restart count: all runs of a job have 0 then.
        if (run := self._run_of(request.model_copy(update={"restart": None}), peer)) is not None:
            return run
        why = self._engine.why_turned_away(request.job) if found.sentence else ""
        if why:
            return _error(f"job {request.job} was let go without pods: {why}")
        return _error(found.sentence) if found.sentence else _error(_no_bridge_job(request.job)) | {"unknown": True}

    def _run_of(self, request: UserRequest, peer: Peer) -> Run | None:
        """The run that is asked for, where this node knows it and it is not over."""
        run = self._latest(request, peer)
        if run is None or run.phase is Phase.RELEASED or request.restart not in (None, run.key.restart):
            return None
        return run


class _Attachment:
    """One `attach`: sends what the ranks say, then how it ended."""

    def __init__(self, channel: Channel, engine: Engine, hub: LogHub, run: Run, after: dict[int, str]) -> None:
        self._channel = channel
        self._engine = engine
        self._hub = hub
        self._key = run.key
        self._ranks = range(len(run.nodes))
        self._after = after
        self._position = dict.fromkeys(self._ranks, 0)
        self._ended: set[int] = set()
        self._known_at: float | None = None
        channel.send({"kind": "attached", "ranks": len(run.nodes), "notices": shown.notices(run)})

    def serve(self) -> None:
        """Until the run is over and its output has been sent, or the reader is gone; may raise OSError then."""
        while not has_left(self._channel.sock):
            said = self._send_lines()
            end = self._end()
            if end is not None and not said:
                self._channel.send(end)
                return

    def _send_lines(self) -> bool:
        with self._hub.changed:
            news = {rank: self._take(rank) for rank in self._ranks}
            if not any(news.values()):
                self._hub.changed.wait(_POLL)
                news = {rank: self._take(rank) for rank in self._ranks}
        said = False
        for rank, lines in news.items():
            for line in lines:
                if line.stamp > self._after.get(rank, ""):
                    said = True
                    self._channel.send(
                        {
                            "kind": "line",
                            "rank": rank,
                            "stamp": line.stamp,
                            "data": line.data.decode("latin-1"),
                        }
                    )
        return said

    def _take(self, rank: int) -> list[Any]:
        lines, self._position[rank], ended = self._hub.take(self._key, rank, self._position[rank])
        if ended and not lines:
            self._ended.add(rank)
        return lines

    def _end(self) -> dict[str, Any] | None:
        run = self._engine.runs.get(self._key)
        outcome = _outcome_of(run)
        if run is None or outcome is None:
            return None
        at = clock.now()
        self._known_at = at if self._known_at is None else self._known_at
        waited = at - self._known_at
        missing = self._missing(run)
        if not _has_said_enough(outcome, missing, waited) or (_is_reporting(run) and waited < _REPORT_GRACE):
            return None
        end = {"kind": "end", "exit": outcome.exit_code, "reason": outcome.reason}
        return end | ({"unread": sorted(missing)} if missing else {})

    def _missing(self, run: Run) -> set[int]:
        """The ranks whose last lines have not come yet."""
        followed = {item.rank for item in wanted(run, clock.now()) if isinstance(item, FollowLog)}
        return followed - self._ended


def _has_said_enough(outcome: Outcome, missing: set[int], waited: float) -> bool:
    if not missing or waited >= _FAILING_GRACE:
        return True
    return waited >= _REST_GRACE and outcome.rank is not None and outcome.rank not in missing


def _is_reporting(run: Run) -> bool:
    """Slurm takes no comment any more once the script has ended (ESLURM_JOB_FINISHED), so it has to come before."""
    return run.is_batch and run.reporting and run.reported != run.sentence


def _outcome_of(run: Run | None) -> Outcome | None:
    if run is None:
        return None
    if run.outcome is None and run.judgement is not None:
        own_fault = run.judgement.verdict is Verdict.JOB
        return Outcome(1 if own_fault else wellknown.EXIT_INFRASTRUCTURE, f"failed: {run.judgement.sentence}")
    if run.outcome is None and run.phase in (Phase.RELEASE, Phase.RELEASED):
        return Outcome(wellknown.EXIT_INFRASTRUCTURE, f"failed: {ENDED_BY_SLURM.cause}")
    return run.outcome


def _contact(contact: Contact) -> dict[str, Any]:
    now = clock.now()
    down = None if contact.down_since is None else round(now - contact.down_since, 1)
    return {"seconds_ago": round(now - contact.at, 1), "fault": contact.fault, "down_for": down}


def _rows(runs: Iterable[Run]) -> dict[str, Any]:
    """The rows of these runs, the last ones where all of them would not fit into a frame, and how many were left out:
    of a job on a thousand nodes one row has 20 kB."""
    rows: list[dict[str, Any]] = []
    size, listed = 0, list(runs)
    for run in reversed(listed):
        row = shown.row(run)
        size += len(json.dumps(row))
        if size > _ROWS_LIMIT:
            break
        rows.append(row)
    return {"runs": rows[::-1], "left_out": len(listed) - len(rows)}


def _no_run(request: UserRequest) -> str:
    return f"job {request.job} has no run of yours on this node"


def _output(run: Run) -> dict[str, str]:
    """Where the output of the whole job is."""
    return {"output": "" if run.record is None else run.record.stdout}


def _error(sentence: str) -> dict[str, Any]:
    return {"kind": "error", "sentence": sentence}


def _waiting(sentence: str) -> dict[str, Any]:
    return {"kind": "waiting", "sentence": sentence}


def _no_bridge_job(job_id: int) -> str:
    return (
        f"job {job_id} is no bridge job: no word k8s=FILE was found in its --comment or --extra when it started; "
        "correct the #SBATCH line and submit again"
    )
