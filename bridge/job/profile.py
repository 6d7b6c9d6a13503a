"""Which of the site's profiles a job runs by: the one that its spec picks among those open to it, else the site's."""

from bridge.config import Config
from bridge.job.findings import Findings, shown
from bridge.job.placement import Placement
from bridge.job.spec import JobSpec


def chosen(spec: JobSpec, placement: Placement, config: Config, findings: Findings) -> str:
    """Name of the profile, '' for [pod] alone. A wish that cannot be granted is refused."""
    wish = spec.profile
    if wish is None:
        return placement.profile
    if wish in placement.profiles:
        return wish
    what = "is not open to this job" if wish in config.profiles else "is no profile of this site"
    names = ", ".join(placement.profiles)
    cure = f"write one of: {names}" if names else "remove it; there is none that this job may pick"
    findings.refuse(spec.profile_path, f"{shown(wish)} {what}", cure)
    return placement.profile
