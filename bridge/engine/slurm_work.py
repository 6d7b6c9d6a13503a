"""The activities that speak to slurmctld, as the job's owner or, where the site allows it, with its service token."""

import random
from collections.abc import Callable
from typing import Any

import structlog

from bridge import clock
from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.executor import Task, Work
from bridge.errors import (
    FOREIGN_JOB,
    BridgeError,
    ConfigError,
    Forbidden,
    Invalid,
    NotFound,
    Observed,
    Unauthenticated,
    Unsupported,
)
from bridge.job.faults import observed
from bridge.job.faults.servers import SLURM_NO_TOKEN, of_slurm
from bridge.job.ids import RunKey
from bridge.messages.bridged import NO_SERVICE_TOKEN
from bridge.slurm import states
from bridge.slurm.comment import with_sentence
from bridge.slurmrest.api import Credential, JobRecord, SlurmRest
from bridge.slurmrest.service import ServiceToken

log = structlog.get_logger()

_POLL_LONGEST = 6  # periods between two polls of a slurmctld that does not answer

_FOR_GOOD = (Unauthenticated, Forbidden, Invalid, NotFound, Unsupported, ConfigError)


class SlurmWork:
    """slurmctld seen through slurmrestd. ``credentials`` gives the owner's token of a run, or None; ``service`` the
    site's own, where it has given the bridge one."""

    def __init__(
        self,
        config: Config,
        rest: SlurmRest,
        credentials: Callable[[RunKey], Credential | None],
        service: ServiceToken | None = None,
    ) -> None:
        self._config = config
        self._rest = rest
        self._credentials = credentials
        self._service = service

    def works(self) -> dict[type[do.Activity], Work]:
        """Which method does which activity."""
        return {
            do.LearnJob: _of(self._learn),
            do.PollJob: _of(self._poll),
            do.Report: _of(self._report),
            do.TellProgress: _of(self._tell_progress),
            do.CancelJob: _of(self._cancel),
            do.ExtendLimit: _of(self._extend),
            do.DrainNode: _of(self._drain),
            do.ResumeNode: _of(self._resume),
        }

    def _learn(self, task: Task, activity: do.LearnJob) -> events.Event:
        try:
            return events.JobLearned(clock.now(), self._job(task, self._who(task), activity.job_id))
        except NotFound:
            return events.JobUnknown(clock.now())
        except _FOR_GOOD as error:
            found = of_slurm(error)
            log.warning("not_reporting", fault=found.fault.name, error=str(error))
            return events.NotReporting(clock.now(), found.sentence, found.fault.name)

    def _poll(self, task: Task, activity: do.PollJob) -> events.Event | None:
        period = self._config.timing.poll_period
        # Many jobs start in the same second: each one's first look comes at a moment of its own.
        pause, misses = period * random.random(), 0
        while not task.stop.wait(pause):
            try:
                record = self._job(task, self._who(task), activity.job_id)
            except NotFound:
                return events.JobUnknown(clock.now())
            except BridgeError as error:
                misses += 1
                pause = period * min(misses, _POLL_LONGEST) * random.uniform(0.8, 1.2)
                fault = error.fault if isinstance(error, Observed) else of_slurm(error).fault.name
                log.warning("poll_failed", fault=fault, error=str(error))
                continue
            if states.is_over(record.states) or record.restart_count > task.run.key.restart:
                return events.JobLearned(clock.now(), record)
            pause, misses = period, 0
        return None

    def _report(self, task: Task, activity: do.Report) -> events.Event:
        try:
            who = self._who(task)
            record = self._record(task, who)
            self._rest.set_comment(who, record, with_sentence(record.comment, activity.sentence))
        except _FOR_GOOD as error:
            log.warning("report_given_up", error=str(error))
            return events.Reported(clock.now(), activity.sentence, given_up=of_slurm(error).sentence)
        return events.Reported(clock.now(), activity.sentence)

    def _tell_progress(self, task: Task, activity: do.TellProgress) -> events.Event:
        """Tried once: the next sentence is another one, and the verdict's must not find the way taken."""
        try:
            who = self._who(task)
            record = self._record(task, who)
            self._rest.set_comment(who, record, with_sentence(record.comment, activity.sentence))
        except Observed:
            return events.ProgressTold(clock.now(), activity.sentence, given_up=SLURM_NO_TOKEN.finding().sentence)
        except BridgeError as error:
            log.info("progress_not_told", error=str(error))
            return events.ProgressTold(clock.now(), activity.sentence, given_up=of_slurm(error).sentence)
        return events.ProgressTold(clock.now(), activity.sentence)

    def _cancel(self, task: Task, _activity: do.CancelJob) -> events.Event:
        try:
            who = self._who(task)
            record = self._record(task, who)
            self._rest.cancel(who, record)
        except _FOR_GOOD as error:
            log.warning("cancel_given_up", error=str(error))
            return events.Cancelled(clock.now(), given_up=of_slurm(error).sentence)
        return events.Cancelled(clock.now())

    def _extend(self, _task: Task, activity: do.ExtendLimit) -> events.Event:
        try:
            who = self._administrator()
            record = self._rest.job(who, activity.job_id)  # anew: it may have been lengthened, by us or another
            if record.time_limit_minutes is not None and record.time_limit_minutes < activity.minutes:
                self._rest.set_time_limit(who, record, activity.minutes)
        except _FOR_GOOD as error:
            log.warning("extend_given_up", error=str(error))
            return events.Extended(clock.now(), given_up=of_slurm(error).sentence)
        return events.Extended(clock.now())

    def _drain(self, task: Task, activity: do.DrainNode) -> events.Event:
        try:
            self._rest.drain(self._administrator(), _slurm_node(task), activity.reason)
        except _FOR_GOOD as error:
            log.warning("drain_given_up", error=str(error))
            return events.Drained(clock.now(), given_up=of_slurm(error).sentence)
        return events.Drained(clock.now())

    def _resume(self, task: Task, activity: do.ResumeNode) -> events.Event:
        try:
            who, name = self._administrator(), _slurm_node(task)
            if self._rest.node(who, name).reason == activity.reason:
                self._rest.resume(who, name)
        except _FOR_GOOD as error:
            log.warning("resume_given_up", error=str(error))
            return events.Resumed(clock.now(), given_up=of_slurm(error).sentence)
        return events.Resumed(clock.now())

    def _administrator(self) -> Credential:
        if self._service is None:
            raise ConfigError(NO_SERVICE_TOKEN.sentence())
        return self._service.credential()

    def _record(self, task: Task, who: Credential) -> JobRecord:
        allocation = task.run.allocation
        told = task.run.key.job_id if allocation is None else allocation.told_job_id
        return task.run.record or self._job(task, who, told)

    def _job(self, task: Task, who: Credential, job_id: int) -> JobRecord:
        """The run's own job. Raises Forbidden for another user's: what is written there would reach a stranger."""
        record, allocation = self._rest.job(who, job_id), task.run.allocation
        if allocation is not None and record.user_id != allocation.uid:
            sentence = f"job {job_id} of uid {record.user_id}, slurmd says {allocation.uid}"
            raise Forbidden(sentence, reason=FOREIGN_JOB)
        return record

    def _who(self, task: Task) -> Credential:
        who = self._credentials(task.run.key)
        if who is not None:
            return who
        if self._service is not None:
            return self._service.credential()
        # After a restart the token is gone until a hook brings it again: it lives in memory only.
        raise observed(SLURM_NO_TOKEN.finding())


def _slurm_node(task: Task) -> str:
    """Slurm's name of this node."""
    assert task.run.allocation is not None
    return task.run.allocation.node


def _of(method: Callable[[Task, Any], events.Event | None]) -> Work:
    return lambda task: method(task, task.activity)
