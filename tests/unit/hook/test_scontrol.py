"""The requeue that the daemon orders: as the job's owner, and never anything else."""

import pytest

from tests.unit.hook.stage import Stage, needs_root


@needs_root
@pytest.mark.parametrize(("hold", "verb"), [(False, "requeue"), (True, "requeuehold")])
def test_the_owner_requeues(stage: Stage, hold: bool, verb: str) -> None:
    told = ordered(stage, {"job": "7_3", "hold": hold}, f'echo "$(/usr/bin/id -u) $@" > {stage.home}/asked')
    assert told == (0, "")
    assert (stage.home / "asked").read_text() == f"2001 {verb} 7_3\n"


@needs_root
@pytest.mark.parametrize("job", ["7 8", "all", "-1", "7_", "7_3_4"])
def test_nothing_but_a_job_is_requeued(stage: Stage, job: str) -> None:
    code, said = ordered(stage, {"job": job, "hold": False}, f"/usr/bin/touch {stage.home}/asked")
    assert code == 0 and "is not how scontrol names a job" in said
    assert not (stage.home / "asked").exists()


@needs_root
@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("JobId=7 JobName=a UserId=ml(2001)", "7"),
        ("JobId=8 ArrayJobId=7 ArrayTaskId=0 JobName=a\nJobId=7 ArrayJobId=7 ArrayTaskId=1 JobName=a", "7_1"),
    ],
)
def test_scontrol_is_asked_for_the_name(stage: Stage, shown: str, name: str) -> None:
    script = f"case $1 in show) echo '{shown}';; *) echo $@ > {stage.home}/asked;; esac"
    assert ordered(stage, {"job": "", "hold": False}, script) == (0, "")
    assert (stage.home / "asked").read_text() == f"requeue {name}\n"


@needs_root
def test_a_job_that_scontrol_does_not_know_is_not_requeued(stage: Stage) -> None:
    code, said = ordered(stage, {"job": "", "hold": False}, "echo Invalid job id specified")
    assert code == 0 and "job 7 is not requeued: scontrol show job said: Invalid job id specified" in said


@needs_root
def test_what_scontrol_complains_of_is_told_and_the_prolog_ends_well(stage: Stage) -> None:
    code, said = ordered(stage, {"job": "7", "hold": False}, "echo slurm_suspend error: no such job; exit 1")
    assert code == 0 and "job 7 is not requeued: scontrol requeue said: slurm_suspend error: no such job" in said


@needs_root
def test_nothing_is_requeued_as_root(stage: Stage) -> None:
    """Who may requeue anybody's job."""
    job = stage.job(SLURM_JOB_UID="0", SLURM_JOB_GID="0", SLURM_JOB_USER="root")
    code, said = ordered(stage, {"job": "7", "hold": False}, f"/usr/bin/touch {stage.home}/asked", job)
    assert code == 0 and "job 7 is not requeued" in said
    assert not (stage.home / "asked").exists()


def ordered(stage: Stage, order: dict[str, object], script: str, job: dict[str, str] | None = None) -> tuple[int, str]:
    """The hook's exit code and words when the daemon's answer orders this."""
    stage.spec()
    stage.scontrol_says(f'case "$1" in token) echo SLURM_JWT=t;; *) {script};; esac')
    stage.daemon_starts()
    hook = stage.hook("prolog", job or stage.job())
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=0, message=None, output=None, released=[], requeue=order)
    return hook.ends()
