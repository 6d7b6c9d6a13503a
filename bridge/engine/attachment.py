"""One `bridgectl attach` that is being served: the ranks' output as it comes, then how the run ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from bridge import clock, wellknown
from bridge.engine import shown
from bridge.engine.activities import FollowLog
from bridge.engine.logs import LogHub
from bridge.engine.loop import Engine
from bridge.engine.state import Outcome, Phase, Run
from bridge.engine.wanted import wanted
from bridge.job.faults import Verdict, images, row
from bridge.job.faults.runs import ENDED_BY_SLURM, ENDED_UNHEARD
from bridge.kube.api import LogPiece
from bridge.wire.frames import Channel
from bridge.wire.peercred import has_left

_TOKEN_AGAIN = 300.0  # seconds between two questions for a token: a site may let users make none
_POLL = 0.25  # seconds between two looks at the run while nothing new is said
_REPORT_GRACE = 3.0  # seconds without news that the job's comment is waited for, once the outcome is known
_REST_GRACE = 2.0  # the same for the other ranks' last lines
_FAILING_GRACE = 10.0  # the same for those of the rank that decided it


class Attachment:
    """One `attach`: sends what the ranks say, then how it ended."""

    def __init__(self, channel: Channel, engine: Engine, hub: LogHub, run: Run, ranks: Sequence[int]) -> None:
        """``ranks`` are those whose output is asked for."""
        self._channel = channel
        self._engine = engine
        self._hub = hub
        self._key = run.key
        self._ranks = ranks
        self._next = dict.fromkeys(ranks, 0)
        self._ended: set[int] = set()
        self._token_asked: float | None = None
        self._quiet_since: float | None = None  # with the outcome known, nothing new has come since
        channel.send({"kind": "attached", "ranks": len(run.nodes), "notices": shown.notices(run)})

    def resume(self, after: Mapping[int, str]) -> None:
        """The reader has had each rank's output up to these positions."""
        self._hub.resume(self._key, after)
        self._next |= {rank: self._hub.start(self._key, rank, after.get(rank, "")) for rank in self._ranks}

    def serve(self) -> None:
        """Until the run is over and its output has been sent, or the reader is gone; may raise OSError then."""
        while not has_left(self._channel.sock):
            self._ask_for_token()
            if self._send_news():
                self._quiet_since = None
            elif (end := self._end()) is not None:
                self._channel.send(end)
                return

    def _ask_for_token(self) -> None:
        """The answer comes by a question of its own, `token`; a reader of an older version leaves this out."""
        at = clock.now()
        asked = self._token_asked
        if (asked is None or at >= asked + _TOKEN_AGAIN) and self._engine.wants_token(self._key):
            self._token_asked = at
            self._channel.send({"kind": "token"})

    def _send_news(self) -> bool:
        with self._hub.changed:
            news = self._news()
            if not news:
                self._hub.changed.wait(_POLL)
                news = self._news()
        for rank, pieces in news.items():
            for piece in pieces:
                self._channel.send(_frame(rank, piece))
        return bool(news)

    def _news(self) -> dict[int, list[LogPiece]]:
        return {rank: pieces for rank in self._ranks if (pieces := self._take(rank))}

    def _take(self, rank: int) -> list[LogPiece]:
        pieces, self._next[rank], ended = self._hub.take(self._key, rank, self._next[rank])
        if ended and not pieces:
            self._ended.add(rank)
        return pieces

    def _end(self) -> dict[str, Any] | None:
        run = self._engine.runs.get(self._key)
        outcome = _outcome_of(run)
        if run is None or outcome is None:
            return None
        at = clock.now()
        self._quiet_since = at if self._quiet_since is None else self._quiet_since
        waited = at - self._quiet_since
        missing = self._missing(run)
        if not _has_said_enough(outcome, missing, waited) or (_is_reporting(run) and waited < _REPORT_GRACE):
            return None
        end = {"kind": "end", "exit": outcome.exit_code, "reason": outcome.reason}
        return end | ({"unread": sorted(missing)} if missing else {})

    def _missing(self, run: Run) -> set[int]:
        """The ranks whose last lines have not come yet."""
        followed = {item.rank for item in wanted(run, clock.now()) if isinstance(item, FollowLog)}
        return (followed & set(self._ranks)) - self._ended


def _frame(rank: int, piece: LogPiece) -> dict[str, Any]:
    if piece.gap:
        return {"kind": "gap", "rank": rank}
    # Of versions that read single lines: ``line``, and ``stamp`` for the position.
    return {"kind": "line", "rank": rank, "stamp": piece.position, "data": piece.data.decode("latin-1")}


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
        own_fault = run.judgement.verdict is Verdict.JOB and row(run.judgement.fault) not in images.ROWS
        return Outcome(1 if own_fault else wellknown.EXIT_INFRASTRUCTURE, f"failed: {run.judgement.sentence}")
    if run.outcome is None and run.phase in (Phase.RELEASE, Phase.RELEASED):
        return Outcome(wellknown.EXIT_INFRASTRUCTURE, f"ended: {ENDED_BY_SLURM.finding(ENDED_UNHEARD).sentence}")
    return run.outcome
