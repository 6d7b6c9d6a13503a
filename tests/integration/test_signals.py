"""What Slurm sends to a batch script: SIGTERM ends the training and brings its last words, others go to all ranks."""

from collections.abc import Iterable

from .nodes import without_daemon
from .rows import await_training, explained
from .specs import UNTIL_LET_GO, container_job, stubborn
from .stack import Job, Stack, eventually

_WORDS = "trap 'echo last words of $RANK; exit 0' TERM; echo here; until [ -e /tmp/let-go ]; do sleep 0.2; done"
# A launcher that knows nothing of USR1, and would end by it, and its worker.
_LAUNCHER = (
    "sh -c \"trap 'echo rank $RANK has USR1' USR1; echo here; until [ -e /tmp/let-go ]; do sleep 0.2; done\" & "
    "trap 'kill $!' TERM; wait $!; echo the launcher of rank $RANK is there"
)
_REFUSES = "echo 'srun: error: Unable to create step for job: Memory required by task is not available' >&2; exit 1"


def cancel(stack: Stack, job: Job, *options: str) -> None:
    stack.exec("login", "scancel", *options, str(job.id), user="ml")


def said(stack: Stack, job: Job, words: str) -> None:
    try:
        eventually(lambda: words in stack.output(job), 90, f"{words!r} in the output of job {job.id}")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{stack.output(job)}") from None


def ended(stack: Stack, jobs: Iterable[Job]) -> None:
    stack.await_ended(list(jobs), 120)
    stack.await_idle(60)


def test_what_slurm_ends_says_its_last_words(stack: Stack) -> None:
    """By scancel, by the time limit, by a signal to the script alone; and a rank that does not want to end."""
    spec = container_job(stack.images["small"], _WORDS)
    late = stack.submit(spec, "-N1", "-wcompute1")
    cancelled = stack.submit(spec, "-N2", "-n2")
    told = stack.submit(spec, "-N1", "-wcompute2")
    deaf_spec = stubborn(stack.images["small"], "echo here; while :; do sleep 1; done", 30)
    await_training(stack, late, cancelled, told)
    stack.exec("slurmctld", "scontrol", "update", f"jobid={late.id}", "endtime=now+5")
    cancel(stack, cancelled)
    cancel(stack, told, "--batch", "--signal=TERM")
    ended_first = [cancelled, told]
    stack.await_ended(ended_first, 60)
    deaf = stack.submit(deaf_spec, "-N1", "-wcompute2")
    await_training(stack, deaf)
    cancel(stack, deaf)
    ended(stack, [late, deaf])
    for job, ranks in ((cancelled, 2), (told, 1), (late, 1)):
        for rank in range(ranks):
            assert f"last words of {rank}\n" in stack.output(job)
    assert [stack.state(job) for job in (cancelled, told, late, deaf)] == [
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "CANCELLED",
    ]
    for job, why in ((cancelled, "cancelled"), (late, "time limit"), (told, "SIGTERM (scancel --batch, or --signal)")):
        sentence = f"ended: Slurm ended the job while its training ran: {why}"
        assert f"slurm-k8s-bridge: {sentence}\n" in stack.output(job)
        story = explained(stack, job, "compute2" if job is told else "compute1")
        assert (story["row"], story["sentence"]) == ("ended-by-slurm", sentence)
    assert stack.show(told)["ExitCode"] == "143:0" and "SIGTERM" in stack.comment(told)
    assert "the containers had not ended 25 s after Slurm told the job to end" in stack.output(deaf)


def test_a_daemon_that_is_away_keeps_nobody_from_ending(stack: Stack) -> None:
    job = stack.submit(container_job(stack.images["small"], _WORDS), "-N1", "-wcompute1")
    await_training(stack, job)
    with without_daemon(stack, "compute1"):
        cancel(stack, job)
        said(stack, job, "has not taken the order to end the run within 5 s")
    ended(stack, [job])
    assert stack.state(job) == "CANCELLED"


def test_a_signal_reaches_the_workers_of_all_ranks(stack: Stack) -> None:
    """And nobody who would end by it; where there is nobody else, or Slurm starts no step, that is said."""
    launched = container_job(stack.images["small"], _LAUNCHER)
    both = stack.submit(launched, "-N2", "-n2")
    # Thirty seconds after its start at the soonest: before attach listens, such a signal ends the script itself.
    soon = stack.submit(launched, "-N1", "-wcompute1", "-t2", "--signal=B:USR1@60")
    stepless = f"printf '#!/bin/sh\\n{_REFUSES.replace(chr(39), chr(34))}\\n' >srun; chmod +x srun\n"
    script = f"{stepless}PATH=$PWD:$PATH exec bridgectl attach"
    refused = stack.submit(container_job(stack.images["small"], f"echo here; {UNTIL_LET_GO}"), "-N1", script=script)
    await_training(stack, both, soon, refused)
    cancel(stack, both, "--batch", "--signal=USR1")
    cancel(stack, refused, "--batch", "--signal=HUP")
    for words in ("rank 0 has USR1", "rank 1 has USR1", "SIGUSR1 was sent to 2 processes of the ranks"):
        said(stack, both, words)
    cancel(stack, both, "--batch", "--signal=USR2")
    said(stack, both, "SIGUSR2 was sent to nobody: none of the ")
    said(stack, refused, "SIGHUP was sent to nobody: srun: error: Unable to create step")
    said(stack, soon, "rank 0 has USR1")
    for job in (both, soon, refused):
        stack.let_go(job)
    ended(stack, [both, soon, refused])
    assert [stack.sacct(job, "State,ExitCode") for job in (both, soon, refused)] == ["COMPLETED|0:0"] * 3
    assert stack.output(both).count("the launcher of rank") == 2
