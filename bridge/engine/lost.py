"""Of which runs a marker on this node is all that is left: the journal was lost, or never heard of them."""

from collections.abc import Mapping

from bridge.engine.state import Phase, Run
from bridge.job.ids import RunKey
from bridge.store.markers import Marker


def is_known(job_id: int, marker: Marker | None, runs: Mapping[RunKey, Run]) -> bool:
    """Whether the run of this job's marker is among ``runs``, or another one of the job that is not proven gone: the
    end of the job ends that one and what its marker says. That an earlier run of a requeued job was proven gone says
    nothing of a later one, whose hooks may both have been killed before they came here. A damaged marker (None) may be
    of any run."""
    of_job = [run for run in runs.values() if run.key.job_id == job_id]
    if marker is None:
        return bool(of_job)
    return any(run.key.restart == marker.restart or run.phase is not Phase.RELEASED for run in of_job)
