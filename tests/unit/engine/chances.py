"""What may happen to a run, by chance: any event at any time, and what may come of each activity."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.activities import Activity
from bridge.engine.rules import Rules
from bridge.engine.state import Phase, Run, SpecFile
from bridge.job.faults import Verdict
from bridge.job.pods import Ended, PodFacts, WorkloadFacts
from bridge.slurm.environ import Allocation

from .story import CONFIG, SPEC, START, allocation, record
from .story import pod as gated

UIDS = ("workload-1", "workload-2")  # a second one: somebody made it anew under the same name
SHORT = {"prolog_deadline": 120.0, "epilog_deadline": 300.0}
CONFIGS = (
    CONFIG,
    CONFIG.model_copy(update={"on_job_fault": "hold", "timing": CONFIG.timing.model_copy(update=SHORT)}),
    CONFIG.model_copy(
        update={
            "node_fault_limit": 2,
            "slurmrest": CONFIG.slurmrest.model_copy(  # type: ignore[union-attr]
                update={"tier": "administrator", "service_user": "slurm", "extend_time_limit": True}
            ),
        }
    ),
)

_FAULTS_OF_NODES = ("", "node-not-ready", "kubelet-silent")
_SPECS = (
    SpecFile("/home/ml/job.yaml", base64.b64encode(SPEC).decode()),
    SpecFile("/home/ml/job.yaml", base64.b64encode(b"image: [").decode()),
    SpecFile("/home/ml/job.yaml", error="no such file"),
)
_RECORDS: tuple[Mapping[str, Any], ...] = (
    {},
    {"qos": "low", "time_limit_minutes": None},
    {"batch": False},
    {"states": frozenset({"CANCELLED", "COMPLETING"})},
    {"states": frozenset({"COMPLETED"})},
    {"restart_count": 1},
)
_SECONDS = st.floats(0.0, 4000.0, allow_nan=False).map(lambda seconds: round(seconds, 1))


def likely(*choices: tuple[int, st.SearchStrategy[events.Event]]) -> st.SearchStrategy[events.Event]:
    """One of these, each as often as its number says."""
    return st.sampled_from([one for times, one in choices for _ in range(times)]).flatmap(lambda one: one)


def allocations() -> st.SearchStrategy[Allocation]:
    """Of one to three nodes, as one of them sees it."""
    return st.integers(1, 3).flatmap(_as_one_of)


def _as_one_of(count: int) -> st.SearchStrategy[Allocation]:
    nodes = tuple(f"compute{number + 1}" for number in range(count))
    return st.builds(
        lambda node, gpus: allocation(nodes, node, gpus), st.sampled_from(nodes), st.sampled_from((0, 1, 2))
    )


def beginnings(config: Config, here: Allocation, at: float) -> st.SearchStrategy[events.Event]:
    """The first that a daemon hears of a run."""
    rules = Rules.of(config, here)
    spec = st.sampled_from((_SPECS[0],) * 8 + _SPECS[1:]) if here.is_batch else st.none()
    prologs = st.builds(
        lambda spec, reporting, older: events.PrologBegan(
            at, here, (2001,), spec, reporting, rules=rules, clock_offset=1e9, older=older
        ),
        spec,
        st.booleans(),
        st.booleans(),
    )
    adopted = st.builds(
        lambda opened, marked: events.Adopted(at, here, UIDS[0], opened, marked, reporting=not marked, rules=rules),
        st.sampled_from(("", f"pod-{here.rank}")),
        st.booleans(),
    )
    return likely((8, prologs), (1, adopted), (1, epilogs(here, at)))


def epilogs(here: Allocation, at: float) -> st.SearchStrategy[events.Event]:
    """Of a run with this allocation, which a bare one does not tell."""
    told = events.EpilogBegan(at, here, here.cluster, here.job_id, here.restart, here.start_time)
    bare = events.EpilogBegan(at, None, here.cluster, here.job_id, here.restart)
    return st.sampled_from((told, bare))


def pods(ranks: int) -> st.SearchStrategy[PodFacts]:
    """A pod of a run at any point of its life: the first of its rank, or one that was made in its place."""
    return st.builds(_pod, st.integers(0, ranks - 1), st.sampled_from(("", "-again")), st.sampled_from(_LIVES))


_ENDED = Ended(3, "Error", "", "2026-01-01T00:00:05Z")
_DONE = replace(_ENDED, exit_code=0, reason="Completed")
_LIVES: tuple[Mapping[str, Any], ...] = (
    {},
    {"gate": None, "phase": "Pending", "unschedulable": "0/2 nodes are available"},
    {"gate": None, "phase": "Pending", "waiting": "ErrImagePull", "waiting_message": "not found"},
    {"gate": None, "phase": "Running", "ready": True, "running": True},
    {"gate": None, "phase": "Running", "ready": True, "running": True, "deleting": True},
    {"gate": None, "phase": "Succeeded", "ended": _DONE},
    {"gate": None, "phase": "Failed", "ended": _ENDED},
    {"gate": None, "phase": "Failed", "failure": "UnexpectedAdmissionError", "failure_message": "no GPU"},
    {"deleting": True},
)


def _pod(rank: int, generation: str, life: Mapping[str, Any]) -> PodFacts:
    node = "" if life.get("gate", 0) == 0 else f"compute{rank + 1}"
    return gated(rank, uid=f"pod-{rank}{generation}", node=node, owner=UIDS[0], **life)


def lives_on(run: Run, rank: int, at: float) -> events.Event:
    """The next that a watch tells of this pod, where all is well."""
    pod = run.pods.get(rank)
    node = f"compute{rank + 1}"
    if pod is None or rank in run.lost:
        return events.PodSeen(at, gated(rank, owner=run.workload_uid or UIDS[0]))
    if pod.gate is not None:
        return events.PodSeen(at, replace(pod, gate=None, node=node, has_affinity=True))
    if not pod.started:
        return events.PodSeen(at, replace(pod, phase="Running", ready=True, running=True, waiting=""))
    return events.PodSeen(at, replace(pod, phase="Succeeded", running=False, ended=_DONE))


def anything(run: Run, at: float) -> st.SearchStrategy[events.Event]:
    """Whatever can be told of a run, whether anybody has asked for it or not."""
    ranks = max(1, len(run.nodes))
    return likely(*((times, strategy(run, at, ranks)) for times, strategy in _TOLD))


def _workloads(_run: Run, at: float, _ranks: int) -> st.SearchStrategy[events.Event]:
    facts = st.builds(
        lambda uid, deleting, failed, gated: WorkloadFacts(uid, str(START), "hash", deleting, failed, "", gated),
        st.sampled_from(UIDS),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    )
    return st.one_of(
        facts.map(lambda told: events.WorkloadSeen(at, told)),
        st.just(events.WorkloadGone(at)),
        st.sampled_from(UIDS).map(lambda uid: events.WorkloadCreated(at, uid)),
        st.sampled_from(UIDS).map(lambda uid: events.WorkloadDeleted(at, uid)),
        st.just(events.Listed(at, "workload")),
    )


def _of_pods(_run: Run, at: float, ranks: int) -> st.SearchStrategy[events.Event]:
    any_pod = pods(ranks)
    return st.one_of(
        any_pod.map(lambda facts: events.PodSeen(at, facts)),
        st.builds(lambda pod, proven: events.PodGone(at, pod.rank, pod.uid, proven), any_pod, st.booleans()),
        st.builds(
            lambda pod, why: events.PodTold(at, pod.rank, pod.uid, why), any_pod, st.sampled_from(("", "FailedMount"))
        ),
        any_pod.map(lambda pod: events.GateOpened(at, pod.uid)),
        st.just(events.ShareTold(at)),
        st.just(events.Listed(at, "pods")),
    )


def _of_the_node(_run: Run, at: float, _ranks: int) -> st.SearchStrategy[events.Event]:
    return st.one_of(
        st.sampled_from((0, 2)).map(lambda gpus: events.NodeProven(at, gpus)),
        st.just(events.NodeAccused(at, "another kernel", "node-mismatch")),
        st.builds(
            lambda name, lost: events.NodeLooked(at, name, name, lost), st.sampled_from(_FAULTS_OF_NODES), st.booleans()
        ),
        st.integers(0, 3).map(lambda others: events.NodeFaultsCounted(at, others)),
    )


def _of_slurm(run: Run, at: float, ranks: int) -> st.SearchStrategy[events.Event]:
    refusal = st.sampled_from(("", "slurmctld said no"))
    return st.one_of(
        st.sampled_from(_RECORDS).map(lambda changes: events.JobLearned(at, record(ranks, **changes))),
        st.sampled_from((events.JobUnknown(at), events.NotReporting(at, "no token"))),
        refusal.map(lambda why: events.Reported(at, run.sentence, why)),
        refusal.map(lambda why: events.ProgressTold(at, run.progress, why)),
        refusal.map(lambda why: events.Cancelled(at, why)),
        refusal.map(lambda why: events.Extended(at, why)),
        refusal.map(lambda why: events.Drained(at, why)),
        refusal.map(lambda why: events.Resumed(at, why)),
    )


def _of_activities(_run: Run, at: float, _ranks: int) -> st.SearchStrategy[events.Event]:
    return st.one_of(
        st.sampled_from(_TRIED).map(lambda what: events.Failed(at, what, f"{what} failed")),
        st.sampled_from(Verdict).map(lambda verdict: events.Refused(at, "refused", "quota", verdict)),
        st.just(events.ServerDown(at, "no answer", "api-down")),
    )


def _of_hooks(run: Run, at: float, _ranks: int) -> st.SearchStrategy[events.Event]:
    told: list[events.Event] = [
        events.Attached(at),
        events.Attached(at, (1,)),
        events.Attached(at, reporting=True),
        events.StopAsked(at),
        events.TakenUp(at),
        events.HookLeft(at),
        events.EpilogBegan(at, run.allocation, run.key.cluster, run.key.job_id),
    ]
    if run.allocation is not None:
        told.append(events.PrologBegan(at, run.allocation, rules=run.rules))
    return st.sampled_from(told)


def proofs(at: float) -> st.SearchStrategy[events.Event]:
    """That something of the run is there still, or nothing any more."""
    return st.sampled_from(
        (
            events.PodsClear(at),
            events.PodsClear(at, ("pod-0",)),
            events.PodsRemain(at, ("pod-0",), "pod-0 is there"),
            events.Scanned(at, ()),
            events.Scanned(at, ("process 17",)),
            events.Scanned(at, (), "the hook could not look"),
        )
    )


_TOLD: tuple[tuple[int, Callable[[Run, float, int], st.SearchStrategy[events.Event]]], ...] = (
    (3, _workloads),
    (4, _of_pods),
    (2, _of_the_node),
    (2, _of_slurm),
    (3, _of_activities),
    (2, _of_hooks),
    (1, lambda _run, at, _ranks: proofs(at)),
    (1, lambda _run, at, _ranks: _SECONDS.map(lambda seconds: events.Ticked(at + seconds))),
)
_TRIED = tuple(sorted({kind.what for kind in do.Retried.__args__}))


def well(activity: Activity, run: Run, at: float) -> events.Event | None:
    """What comes of an activity where everything is well; None for one that only looks on."""
    match activity:
        case do.ProveNode() | do.LookAtNode() | do.CountNodeFaults() | do.ScanNode():
            return _well_here(activity, at)
        case do.LearnJob():
            return events.JobLearned(at, record(max(1, len(run.nodes))))
        case do.CreateWorkload():
            return events.WorkloadCreated(at, UIDS[0])
        case do.OpenGate(uid=uid):
            return events.GateOpened(at, uid)
        case do.TellShare():
            return events.ShareTold(at)
        case do.DeleteWorkload(uid=uid):
            return events.WorkloadDeleted(at, uid or UIDS[0])
        case do.LookForWorkload() if run.phase is Phase.RELEASE:
            return events.WorkloadGone(at)
        case do.DeletePod(uid=uid):
            assert run.rank is not None
            return events.PodGone(at, run.rank, uid, proven=True)
        case do.SweepJob() | do.ProveGone():
            return events.PodsClear(at)
    return _well_told(activity, at)


def _well_here(activity: Activity, at: float) -> events.Event:
    match activity:
        case do.ProveNode():
            return events.NodeProven(at, 2)
        case do.LookAtNode():
            return events.NodeLooked(at)
        case do.ScanNode():
            return events.Scanned(at, ())
    return events.NodeFaultsCounted(at, 0)


def _well_told(activity: Activity, at: float) -> events.Event | None:
    match activity:
        case do.Report(sentence=sentence):
            return events.Reported(at, sentence)
        case do.TellProgress(sentence=sentence):
            return events.ProgressTold(at, sentence)
        case do.CancelJob():
            return events.Cancelled(at)
        case do.ExtendLimit():
            return events.Extended(at)
        case do.DrainNode():
            return events.Drained(at)
        case do.ResumeNode():
            return events.Resumed(at)
    return None
