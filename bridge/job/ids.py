"""Identity of a run and the names made from it."""

from dataclasses import dataclass

from bridge import wellknown


@dataclass(frozen=True, order=True)
class RunKey:
    """One start of one Slurm job, as far as Slurm's own numbers tell.

    Job ids come back when slurmctld loses its state; the start time that a run carries beside the key
    tells two runs with the same key apart.
    """

    cluster: str
    job_id: int
    restart: int

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id}.{self.restart}"


def workload_name(tag: str, key: RunKey) -> str:
    """Name of the workload: a DNS-1035 label, short enough for `-worker-N` behind it (63 in all)."""
    return f"slurm-{tag}-{key.job_id}-{key.restart}"


def pod_name(workload: str, rank: int) -> str:
    """Name that the operator gives the pod of a rank (replica index = rank, Worker-only)."""
    return f"{workload}-worker-{rank}"


def run_labels(tag: str, key: RunKey) -> dict[str, str]:
    """Labels of the workload and of every pod of a run."""
    return {
        wellknown.LABEL_MANAGED: "true",
        wellknown.LABEL_TAG: tag,
        wellknown.LABEL_JOB: str(key.job_id),
        wellknown.LABEL_RUN: workload_name(tag, key),
    }
