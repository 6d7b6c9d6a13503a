"""The hook is root, and a job chooses what it reads and writes: a hostile account gets nothing by it that it could not
have alone, and keeps no other account's jobs waiting."""

from .hostile import (
    HOSTILE,
    OUTPUTS,
    PLANTS,
    SECRET,
    SPECS,
    VARIABLES,
    WALLS,
    as_hostile,
    held,
    hung,
    secrets,
    that_succeed,
)
from .rows import await_training, in_training
from .specs import container_job
from .stack import Job, Stack, eventually

_HERE = ("-N1", "-c1", "-w", "compute1")
_MISSING = "--comment=k8s=no-such-file"


def laid(stack: Stack, making: str, *options: str, script: str = "exec bridgectl attach") -> Job:
    """A job of the hostile account's in a directory where this was done before."""
    directory = stack.new_directory(HOSTILE, "trap")
    stack.exec("login", "sh", "-ec", f"cd {directory}\n{making}", user=HOSTILE)
    words = ["sbatch", "--parsable", f"--chdir={directory}", "-N1", "-c1", f"--output={directory}/out", *options]
    number = stack.exec("login", *words, stdin=f"#!/bin/bash\n{script}\n", user=HOSTILE)
    return Job(int(number.split(";")[0]), HOSTILE, f"{directory}/out", directory)


def done(stack: Stack, *options: str) -> Job:
    """A job of another account's."""
    return stack.submit(container_job(stack.images["small"], "echo done"), *options)


def ended_well(stack: Stack, *jobs: Job) -> None:
    """Their trainings, and nothing was in their way."""
    assert [(stack.state(job), stack.output(job)) for job in jobs] == [("COMPLETED", "done\n")] * len(jobs)


def test_a_spec_is_read_as_its_owner_whatever_it_is(stack: Stack) -> None:
    with secrets(stack):
        jobs = {trap: laid(stack, trap.making, f"--comment=k8s={trap.spec}") for trap in SPECS}
        others = done(stack)
        stack.await_ended([*jobs.values(), others], 300)
        for trap, job in jobs.items():
            said = stack.output(job)
            assert stack.state(job) == "CANCELLED" and said.count("\n") == 1, f"{trap.what}: {said}"
            assert trap.words in said and "secret of" not in said + stack.comment(job), f"{trap.what}: {said}"
        ended_well(stack, others)


# One name is by turns a good spec, a link to what only root may read, a fifo, a device and nothing.
_SWAPS = f"""
import os, itertools, time
end = time.monotonic() + 200
os.mkfifo("fifo")
for target in itertools.cycle(["good", "{SECRET}", "fifo", "/dev/zero", "gone"]):
    os.symlink(target, "next")
    os.rename("next", "spec")
    if time.monotonic() > end:
        break
"""


def test_a_spec_that_is_another_at_every_look_is_its_owners_all_the_same(stack: Stack) -> None:
    with secrets(stack):
        directory = stack.new_directory(HOSTILE, "race")
        good = container_job(stack.images["small"], "echo harmless")
        stack.exec("login", "sh", "-c", f"cat >{directory}/good", stdin=good, user=HOSTILE)
        pid = stack.sh(
            "compute1",
            f"cd {directory} && setsid {as_hostile('python3')} -c '{_SWAPS}' >/dev/null 2>&1 </dev/null & echo $!",
        )
        try:
            jobs = [laid(stack, "true", f"--comment=k8s={directory}/spec") for _ in range(6)]
            stack.await_ended(jobs, 180)
        finally:
            stack.exec("compute1", "kill", "-9", pid.strip())
        for job in jobs:
            said = stack.output(job)
            assert said == "harmless\n" or f"cannot read {directory}/spec as user {HOSTILE}: " in said, said
            assert "secret of" not in said + stack.comment(job)


def test_what_is_written_beside_a_job_is_written_as_its_owner(stack: Stack) -> None:
    with secrets(stack):
        jobs = {what: laid(stack, making, _MISSING) for what, making in OUTPUTS.items()}
        shared = stack.new_directory(HOSTILE, "setgid")
        stack.exec("login", "sh", "-c", f"chgrp ml {shared} && chmod 2777 {shared}")
        inherits = laid(stack, "true", _MISSING, f"--output={shared}/out")
        others = done(stack)
        stack.await_ended([*jobs.values(), inherits, others], 300)
        stack.await_idle(60)
        for what, job in jobs.items():
            assert stack.state(job) == "CANCELLED" and "no such file" in stack.comment(job), what
            assert stack.exec("login", "find", job.directory, "!", "-user", HOSTILE) == "", what
        eventually(lambda: stack.exec("login", "ls", shared).split() == ["out", "out.k8s.json"], 30, "both files")
        assert set(stack.sh("login", f"stat -c '%U %G' {shared}/*").splitlines()) == {f"{HOSTILE} ml"}
        ended_well(stack, others)


def test_a_file_system_that_hangs_keeps_only_its_owners_jobs(stack: Stack) -> None:
    """And those for as long as the hook waits for a spec, and for a line in an output file."""
    place = "/run/hung"
    with hung(stack, "compute1", place, "allow_other"):
        spec = laid(stack, "true", f"--comment=k8s={place}/spec", *_HERE)
        eventually(lambda: stack.show(spec)["Reason"] == "Prolog", 60, "a prolog that reads")
        beside = [done(stack, *_HERE) for _ in range(2)]
        output = laid(stack, "true", _MISSING, f"--output={place}/out", *_HERE)
        stack.await_ended([spec, output, *beside], 180)
        stack.await_idle(60)
        ended_well(stack, *beside)
        assert f"cannot read {place}/spec as user {HOSTILE}: took longer than 10 s on compute1" in stack.output(spec)
        assert "no such file" in stack.comment(output)
    left = "pgrep -f [b]ridge/hook/__main__ || true"
    eventually(lambda: stack.sh("compute1", left) == "", 60, "an end of what hung")


def test_a_process_in_a_file_system_that_hangs_or_refuses_root_does_not_keep_a_node(stack: Stack) -> None:
    places, spec = ("/run/hung", "/run/shut"), container_job(stack.images["small"], "echo done")
    with (
        hung(stack, "compute1", places[0], "allow_other"),
        hung(stack, "compute1", places[1]),
        held(stack, "compute1", *places),
    ):
        gpus = stack.submit(spec, "--gpus-per-node=2", *_HERE, user=HOSTILE)
        stack.await_ended([gpus], 120)
        stack.await_idle(60)
        ended_well(stack, gpus)


def test_nothing_of_a_jobs_directory_and_environment_runs_as_root(stack: Stack) -> None:
    with secrets(stack):
        good = container_job(stack.images["small"], "echo done")
        export = "--export=ALL," + ",".join(VARIABLES)
        planted = laid(
            stack, f"cat >spec <<'END'\n{good}\nEND\n{PLANTS}", "--comment=k8s=spec", export, *_HERE, script=":"
        )
        refused = laid(stack, PLANTS, _MISSING, export, *_HERE)
        training = in_training(stack, "compute1")
        await_training(stack, training)
        assert that_succeed(stack, "compute1", as_hostile(""), WALLS) == []
        stack.let_go(training)
        stack.await_ended([planted, refused, training], 120)
        assert [stack.state(job) for job in (planted, refused, training)] == ["COMPLETED", "CANCELLED", "COMPLETED"]
