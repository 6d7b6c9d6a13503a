"""What a row of the fault table is: an observation, who is to blame for it, and what is told about it."""

from dataclasses import dataclass
from enum import Enum

from bridge.job.words import plain


class Verdict(Enum):
    """Who is to blame, and so what the prolog does."""

    JOB = "job"  # the user: told, cancelled or held, exit 0, node in service
    NODE = "node"  # this very node, on local evidence: exit 1, Slurm drains it and requeues the job
    SHARED = "shared"  # something that all nodes share: told, exit 0, never a drain
    RETRY = "retry"  # passes by itself: again, within the deadline
    GONE = "gone"  # the job is over: clean up, exit 0
    NONE = "none"  # the run goes on without it: told by `status` and `show`, nobody is stopped


class Subject(Enum):
    """What the observation is about."""

    JOB = "job"
    HOOK = "hook"
    LOCAL_NODE = "local node"
    NODE = "node"
    WORKLOAD = "workload"
    ADMISSION = "admission"
    POD = "pod"
    CONTAINER = "container"
    API_SERVER = "API server"
    SLURMRESTD = "slurmrestd"


class Moment(Enum):
    """When in a run's life a row can be met."""

    PROLOG = "prolog"
    RUNNING = "running"
    EPILOG = "epilog"


PROLOG = (Moment.PROLOG,)
RUNNING = (Moment.RUNNING,)
EPILOG = (Moment.EPILOG,)
STARTED = (Moment.PROLOG, Moment.RUNNING)
ALWAYS = (Moment.PROLOG, Moment.RUNNING, Moment.EPILOG)

_TOLD = {
    Verdict.JOB: "owner",
    Verdict.NODE: "administrator",
    Verdict.SHARED: "owner and administrator",
    Verdict.RETRY: "owner and administrator, where it lasts",
    Verdict.GONE: "nobody: the job is over",
    Verdict.NONE: "administrator",
}

CONSEQUENCES = {
    Moment.PROLOG: {
        Verdict.JOB: "the job is cancelled, or held where the site says so; its nodes stay in service",
        Verdict.NODE: "the prolog fails here: Slurm takes this node out of service and requeues the job",
        Verdict.SHARED: "the job is requeued, held at the third time; its nodes stay in service",
        Verdict.RETRY: "tried again until the prolog's deadline",
        Verdict.GONE: "what was made for the run is deleted; a prolog that waits ends well",
        Verdict.NONE: "the run goes on without it",
    },
    Moment.RUNNING: {
        Verdict.JOB: "the training ends, and the job with the exit code that `bridgectl attach` gives",
        Verdict.NODE: "the training ends; the epilog decides about the node",
        Verdict.SHARED: "the training ends, `bridgectl attach` exits with 75",
        Verdict.RETRY: "the training goes on; tried again",
        Verdict.GONE: "what was made for the run is deleted",
        Verdict.NONE: "the run goes on without it",
    },
    Moment.EPILOG: {
        Verdict.JOB: "nothing: the job is over",
        Verdict.NODE: "the epilog fails at its deadline: Slurm takes this node out of service",
        Verdict.SHARED: "the epilog waits, Slurm shows COMPLETING",
        Verdict.RETRY: "the epilog waits, Slurm shows COMPLETING; at its deadline it fails",
        Verdict.GONE: "nothing: the job is over",
        Verdict.NONE: "the release goes on without it",
    },
}


@dataclass(frozen=True)
class Fault:
    """One row.

    ``verdict`` holds in the first of ``phases``, ``later`` (where it differs) in the others. ``patience``: seconds
    that the observation must last before it is believed; None: only the deadline ends the wait. ``timing`` names the
    key of [timing] in bridge.toml that replaces the patience. ``cause`` and ``cure`` are templates: together the
    sentence that is told. ``advice`` is what to do where the sentence has no cure, or one that the message brings; it
    stands in the catalogue and in `explain`, not in the job's comment. ``source``: where the fact comes from.
    """

    name: str
    subject: Subject
    verdict: Verdict
    cause: str
    cure: str
    source: str
    patience: float | None = 0.0
    phases: tuple[Moment, ...] = PROLOG
    later: Verdict | None = None
    timing: str = ""
    advice: str = ""

    @property
    def sentence(self) -> str:
        """The template of what is told."""
        return f"{self.cause}; {self.cure}" if self.cure else self.cause

    @property
    def told(self) -> str:
        """Who is told."""
        return _TOLD[self.verdict]

    def verdict_in(self, moment: Moment) -> Verdict | None:
        """The verdict in this phase, None where the row cannot be met in it."""
        if moment not in self.phases:
            return None
        return self.verdict if moment is self.phases[0] or self.later is None else self.later

    def finding(self, message: str = "", rank: int = -1, **words: object) -> "Finding":
        """The row as it was met, with these words in its sentence."""
        said = {name: plain(str(word)) for name, word in words.items()}
        sentence = self.sentence.format(rank=rank, message=plain(message) or "no message", **said)
        return Finding(self, sentence, rank)


@dataclass(frozen=True)
class Finding:
    """A row that was met: ``sentence`` has the observation's own words in it; ``rank`` is -1 where none is meant."""

    fault: Fault
    sentence: str
    rank: int = -1


UNKNOWN = Fault(
    "unknown",
    Subject.POD,
    Verdict.SHARED,
    "something that the bridge does not know: {message}",
    "bridgectl status counts it; tell the site's administrator",
    "whatever no other row describes, in the words of whoever said it",
    patience=None,
    phases=ALWAYS,
    later=Verdict.RETRY,
)
