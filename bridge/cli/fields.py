"""The fields of a run that bridgectl reads: docs/reference/json.md names them, and they stay."""

from pydantic import BaseModel, ConfigDict, Field

from bridge import wellknown


class Pod(BaseModel):
    """One rank's pod."""

    model_config = ConfigDict(extra="ignore")

    name: str = ""
    node: str = ""
    phase: str = ""
    started: bool = False
    exit: int | None = None
    suspicion: str | None = None
    scheduled_at: str = ""
    sandbox_at: str = ""
    started_at: str = ""
    ready_at: str = ""
    finished_at: str = ""


class Slurm(BaseModel):
    """What slurmctld said of the job."""

    model_config = ConfigDict(extra="ignore")

    submitted: float = 0
    eligible: float = 0
    allocated: float = 0
    output: str = ""


class Outcome(BaseModel):
    """How the training ended."""

    model_config = ConfigDict(extra="ignore")

    exit: int
    reason: str = ""


class ShownRun(BaseModel):
    """A run as `show` tells it: the fields that `-o json` keeps. Whoever wrote it, a daemon of another version or the
    job's own user in a file, it is this or it is refused."""

    model_config = ConfigDict(extra="ignore")

    job: int
    id: str = ""
    restart: int | None = None
    workload: str | None = None
    phase: str = "unknown"
    rank: int | None = None
    nodes: list[str] = Field(default_factory=list)
    user: str | None = None
    sentence: str = ""
    progress: str = ""
    obstacle: str = ""
    verdict: str | None = None
    reason: str | None = None
    fault: str | None = None
    hindrance: str | None = None
    done: list[str] = Field(default_factory=list)
    workload_state: str = "unknown"
    workload_uid: str = ""
    namespace: str = ""
    pods: dict[int, Pod] = Field(default_factory=dict)
    pods_left_out: int = 0
    outcome: Outcome | None = None
    notices: list[str] = Field(default_factory=list)
    trouble: str = ""
    stations: dict[str, float] = Field(default_factory=dict)
    slurm: Slurm | None = None
    image: str = ""
    leftovers: list[str] = Field(default_factory=list)
    pod_uids_here: list[str] = Field(default_factory=list)


class File(BaseModel):
    """The file that an epilog left beside the output."""

    v: int = Field(le=wellknown.TIMELINE_VERSION)
    written: float
    run: ShownRun
