"""Slurm's job states and flags, as far as a run's life depends on them.

A job shows one base state and any number of flags (`job_state` of slurmrestd). Unknown words decide
nothing: a run is over only when a word says so.
"""

from collections.abc import Set

RUNNING = "RUNNING"
WAITING = frozenset({"RUNNING", "CONFIGURING"})
"""What a job shows while its prolog runs; CONFIGURING while PrologSlurmctld or power-up goes on."""
ENDED = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
"""Base states that no run leaves again."""
REQUEUED = frozenset({"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"})
"""States and flags of a job that waits for another run: the run that had an allocation is over."""
RELEASING = frozenset({"COMPLETING", "LAUNCH_FAILED", "STAGE_OUT"})
"""Flags of an allocation that is being taken back."""

_OVER = ENDED | REQUEUED | RELEASING

# The first row whose word the job shows is the answer: a cause stands before its consequence.
_WHY = (
    (frozenset({"TIMEOUT", "DEADLINE"}), "time limit"),
    (frozenset({"PREEMPTED"}), "preempted"),
    (frozenset({"NODE_FAIL", "BOOT_FAIL"}), "node failure"),
    (frozenset({"OUT_OF_MEMORY"}), "out of memory"),
    (frozenset({"CANCELLED", "REVOKED"}), "cancelled"),
    (REQUEUED, "requeued"),
    (frozenset({"FAILED", "LAUNCH_FAILED"}), "failed"),
    (frozenset({"COMPLETED"}), "completed"),
)


def is_over(states: Set[str]) -> bool:
    """The run that had this job's allocation is over, or is being ended."""
    return not states.isdisjoint(_OVER)


def is_waiting_in_prolog(states: Set[str]) -> bool:
    """The job is as it should be while its prolog runs."""
    return not states.isdisjoint(WAITING) and not is_over(states)


def why_over(states: Set[str]) -> str:
    """One or two words for a person: why the run is over; `ended` where the states do not say."""
    return next((word for names, word in _WHY if not states.isdisjoint(names)), "ended")
