"""slurmctld in memory, behind the Protocol of `bridge.slurmrest.api`."""

from dataclasses import replace
from threading import Lock

from bridge.errors import Forbidden, NotFound, Unauthenticated
from bridge.slurmrest.api import Credential, JobRecord, NodeRecord
from tests.fakes.faults import Faults


def a_job(job_id: int = 13, **changes: object) -> JobRecord:
    """A running job of two nodes with two GPUs each."""
    job = JobRecord(
        job_id=job_id,
        user_id=2001,
        user_name="ml",
        states=frozenset({"RUNNING"}),
        state_reason="None",
        start_time=1_795_000_000,
        restart_count=0,
        nodes="n[1-2]",
        batch=True,
        batch_host="n1",
        het_job_id=None,
        array_job_id=None,
        array_task_id=None,
        gpus=(2, 2),
        memory_mib=1024,
        comment="k8s=train.yaml",
        stdout=f"/home/ml/slurm-{job_id}.out",
        requeue=True,
        time_limit_minutes=60,
    )
    return replace(job, **changes)  # type: ignore[arg-type]


class FakeSlurmRest:
    """``jobs`` is what slurmctld knows; ``revoked`` has the tokens that it does not take (any more), and
    ``operators`` the users who may act on everybody's jobs, ``administrators`` those who may act on nodes, too;
    ``asked_as`` who has asked so far; ``nodes`` the drained ones and why."""

    def __init__(self, *jobs: JobRecord) -> None:
        self.faults = Faults()
        self.jobs = {job.job_id: job for job in jobs}
        self.revoked: set[str] = set()
        self.operators: set[str] = set()
        self.administrators: set[str] = set()
        self.asked_as: list[Credential] = []
        self.nodes: dict[str, str] = {}
        self._lock = Lock()

    def update(self, job_id: int, **changes: object) -> None:
        """Something happened to the job."""
        with self._lock:
            self.jobs[job_id] = replace(self.jobs[job_id], **changes)  # type: ignore[arg-type]

    def job(self, who: Credential, job_id: int) -> JobRecord:
        with self.faults.call("job"):
            self._admit(who)
            return self._known(job_id)

    def set_comment(self, who: Credential, job: JobRecord, comment: str) -> None:
        with self.faults.call("set_comment"):
            self._own(who, job)
            self.update(job.job_id, comment=comment)

    def cancel(self, who: Credential, job: JobRecord) -> None:
        with self.faults.call("cancel"):
            if "RUNNING" in self._own(who, job).states or "PENDING" in self._known(job.job_id).states:
                self.update(job.job_id, states=frozenset({"CANCELLED"}))

    def set_time_limit(self, who: Credential, job: JobRecord, minutes: int) -> None:
        with self.faults.call("set_time_limit"):
            self._admit(who)
            if not self._is_operator(who):
                raise _not_permitted()
            self.update(job.job_id, time_limit_minutes=minutes)

    def node(self, who: Credential, name: str) -> NodeRecord:
        with self.faults.call("node"):
            self._admit(who)
            with self._lock:
                drained = name in self.nodes
                return NodeRecord(name, frozenset({"IDLE", "DRAIN"} if drained else {"IDLE"}), self.nodes.get(name, ""))

    def drain(self, who: Credential, name: str, reason: str) -> None:
        with self.faults.call("drain"):
            self._administer(who)
            with self._lock:
                self.nodes[name] = reason

    def resume(self, who: Credential, name: str) -> None:
        with self.faults.call("resume"):
            self._administer(who)
            with self._lock:
                self.nodes.pop(name, None)

    def _administer(self, who: Credential) -> None:
        self._admit(who)
        if who.user not in self.administrators:
            raise _not_permitted()

    def _is_operator(self, who: Credential) -> bool:
        return who.user in self.operators | self.administrators

    def _admit(self, who: Credential) -> None:
        self.asked_as.append(who)
        if not who.token or who.token in self.revoked:
            raise Unauthenticated("Slurm: Protocol authentication error (error 1007)", status=511, reason="1007")

    def _own(self, who: Credential, job: JobRecord) -> JobRecord:
        self._admit(who)
        known = self._known(job.job_id)
        if known.user_name != who.user and not self._is_operator(who):
            raise _not_permitted()
        return known

    def _known(self, job_id: int) -> JobRecord:
        with self._lock:
            if job_id not in self.jobs:
                raise NotFound("Slurm: Invalid job id specified (error 2017)", status=404, reason="2017")
            return self.jobs[job_id]


def _not_permitted() -> Forbidden:
    return Forbidden("Slurm: Invalid user id (error 2010)", status=500, reason="2010")
