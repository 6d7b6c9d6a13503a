"""A run told event by event: `Story` folds `next_run` and answers what the run would want done."""

import base64
from dataclasses import replace
from typing import Any

from bridge.config import Config
from bridge.engine import events
from bridge.engine.activities import Activity
from bridge.engine.machine import next_run
from bridge.engine.recover import key_text
from bridge.engine.rules import Rules
from bridge.engine.state import Answer, Judgement, Outcome, Run, SpecFile
from bridge.engine.wanted import next_wake, wanted
from bridge.job.pods import Ended, PodFacts, WorkloadFacts
from bridge.slurm.environ import Allocation
from bridge.slurmrest.api import JobRecord

CONFIG = Config.model_validate(
    {
        "cluster": {"name": "demo", "tag": "demo"},
        "slurmrest": {"url": "https://slurmrestd:6820"},
        "kubernetes": {"kubeconfig": "/nowhere/kubeconfig"},
        "pod": {"max_cpus": 2, "max_memory": "4Gi"},
        "gpu": {"resource": "nvidia.com/gpu", "device_files": ["/dev/fakegpu*"]},
    }
)

SPEC = b"""
apiVersion: slurm-k8s-bridge/v1
kind: ContainerJob
image: registry:5000/skb/small:1
command: [sh, -c, "true"]
"""

START = 1_700_000_000


def allocation(nodes: tuple[str, ...] = ("compute1", "compute2"), node: str = "compute1", gpus: int = 2) -> Allocation:
    """What slurmd tells this node's hooks."""
    return Allocation(
        cluster="demo",
        job_id=7,
        restart=0,
        start_time=START,
        end_time=START + 3600,
        uid=2001,
        gid=2001,
        user="ml",
        account=None,
        partition="main",
        nodes=nodes,
        node=node,
        cpus=(2,) * len(nodes),
        gpus_here=gpus,
        work_dir="/home/ml",
        comment="k8s=job.yaml",
        extra="",
        het_job_id=None,
    )


def record(nodes: int = 2, **changes: Any) -> JobRecord:
    """What slurmctld tells of the job."""
    told = JobRecord(
        job_id=7,
        user_id=2001,
        user_name="ml",
        states=frozenset({"RUNNING"}),
        state_reason="Prolog",
        start_time=START,
        restart_count=0,
        nodes=f"compute[1-{nodes}]" if nodes > 1 else "compute1",
        batch=True,
        batch_host="compute1",
        het_job_id=None,
        array_job_id=None,
        array_task_id=None,
        gpus=(2,) * nodes,
        memory_mib=1024,
        comment="k8s=job.yaml",
        stdout="/home/ml/slurm-7.out",
        requeue=True,
        time_limit_minutes=60,
    )
    return replace(told, **changes)


def pod(rank: int, **changes: Any) -> PodFacts:
    """A pod as the operator makes it, gated; `changes` move it on."""
    made = PodFacts(
        name=f"slurm-demo-7-0-worker-{rank}",
        uid=f"pod-{rank}",
        rank=rank,
        node="",
        phase="Pending",
        ready=False,
        running=False,
        deleting=False,
        gate=0,
        has_affinity=False,
        waiting="",
        waiting_message="",
        image="registry:5000/skb/small:1",
        failure="",
        failure_message="",
        unschedulable="",
        ended=None,
    )
    return replace(made, **changes)


def ready(rank: int) -> PodFacts:
    """A pod whose container runs."""
    return pod(rank, gate=None, node=f"compute{rank + 1}", phase="Running", ready=True, running=True)


def ended(rank: int, code: int, reason: str = "", finished_at: str = "2026-01-01T00:00:05Z") -> PodFacts:
    """A pod whose container has ended by itself."""
    how = Ended(code, reason or ("Completed" if code == 0 else "Error"), "", finished_at)
    return pod(rank, gate=None, node=f"compute{rank + 1}", phase="Succeeded" if code == 0 else "Failed", ended=how)


def pulling(rank: int, message: str) -> PodFacts:
    """A pod whose image does not come."""
    return pod(rank, gate=None, node=f"compute{rank + 1}", waiting="ErrImagePull", waiting_message=message)


class Story:
    """One run on one node."""

    def __init__(self, here: Allocation, config: Config = CONFIG, rules: Rules | None = None) -> None:
        self.config = config
        self.rules = Rules.of(config) if rules is None else rules
        self.at = 100.0
        self.told: list[events.Event] = []
        self._run: Run | None = None
        self.here = here

    @property
    def run(self) -> Run:
        """The run as it is now."""
        assert self._run is not None
        return self._run

    # As methods: what mypy has seen to be None, it would take to be None for ever.

    def outcome(self) -> Outcome | None:
        """How the training ended, so far."""
        return self.run.outcome

    def judgement(self) -> Judgement | None:
        """The prolog's verdict, so far."""
        return self.run.judgement

    def answer(self) -> Answer | None:
        """The prolog's answer, so far."""
        return self.run.prolog_answer

    def tell(self, event: events.Event) -> "Story":
        """One event, at its own time."""
        self.at = event.at
        self._run = next_run(self.config, self._run, event)
        self.told.append(event)
        return self

    def began(self, spec: SpecFile | None = None, reporting: bool = True, older: bool = False) -> "Story":
        """The prolog's hook arrives, which may be older than the daemon."""
        if spec is None and self.here.is_batch:
            spec = SpecFile("/home/ml/job.yaml", base64.b64encode(SPEC).decode())
        began = events.PrologBegan(self.at, self.here, (2001,), spec, reporting, rules=self.rules, older=older)
        return self.tell(began)

    def learned(self, **changes: Any) -> "Story":
        """slurmctld has told about the job, and the node is proven."""
        self.tell(events.JobLearned(self.at, record(len(self.here.nodes), **changes)))
        return self.tell(events.NodeProven(self.at, 2))

    def created(self, gpus: int = 2) -> "Story":
        """The batch node's way until the workload exists."""
        self.began().learned(gpus=(gpus,) * len(self.here.nodes))
        return self.tell(events.WorkloadCreated(self.at, "job-uid"))

    def sees(self, *pods: PodFacts) -> "Story":
        """The watch tells of these pods."""
        for facts in pods:
            self.tell(events.PodSeen(self.at, facts))
        return self

    def workload(self, **changes: Any) -> "Story":
        """The watch tells of the workload."""
        facts = WorkloadFacts("job-uid", str(START), "hash", deleting=False, failed=False, message="")
        return self.tell(events.WorkloadSeen(self.at, replace(facts, **changes)))

    def looked(self, fault: str = "", sentence: str = "", batch_lost: bool = False) -> "Story":
        """The daemon looked at its own node, and this is what it found."""
        return self.tell(events.NodeLooked(self.at, fault, sentence, batch_lost))

    def counted(self, others: int = 0) -> "Story":
        """So many other nodes told of a fault of theirs."""
        return self.tell(events.NodeFaultsCounted(self.at, others))

    def after(self, seconds: float) -> "Story":
        """Time passes."""
        return self.tell(events.Ticked(self.at + seconds))

    def wants(self, kind: type[Activity]) -> list[Activity]:
        """Activities of this kind that the run wants now."""
        return [item for item in wanted(self.run, self.at) if isinstance(item, kind)]

    @property
    def wake(self) -> float | None:
        """Seconds until time alone changes something."""
        moment = next_wake(self.config, self.run, self.at)
        return None if moment is None else moment - self.at

    def replayed(self, config: Config | None = None) -> Run:
        """The same events through their journal form, by a daemon of this configuration."""
        run: Run | None = None
        for event in self.told:
            run = next_run(config or self.config, run, events.from_json(events.to_json(event)))
        assert run is not None
        assert key_text(run.key)
        return run


def batch(nodes: int = 2) -> Story:
    """A story on the batch node."""
    return Story(allocation(tuple(f"compute{i + 1}" for i in range(nodes))))


def member() -> Story:
    """A story on the second of two nodes."""
    return Story(allocation(node="compute2"))
