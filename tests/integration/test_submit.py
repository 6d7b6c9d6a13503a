"""`bridgectl submit` on a login node: one command, two files, and the same job again by sbatch alone."""

from .stack import Job, Stack

_TRAINING = ("sh", "-c", "echo rank $RANK of $WORLD_SIZE, seed $SEED")
_RANKS = ["rank 0 of 2, seed 7", "rank 1 of 2, seed 7"]


def test_a_training_as_one_command_and_again_by_its_script(stack: Stack) -> None:
    directory = stack.new_directory("ml", "submit")
    options = ("--export=SEED", "-N2", f"--chdir={directory}", f"--output={directory}/out", "--job-name=first")
    words = ("env", "SEED=7", "bridgectl", "submit", "--image", stack.images["small"], "--follow", *options)
    number, *shown = stack.exec("login", *words, "--", *_TRAINING, user="ml").splitlines()
    job = Job(int(number), "ml", f"{directory}/out", directory)
    assert sorted(line for line in shown if line.startswith("rank")) == _RANKS
    assert stack.state(job) == "COMPLETED"
    stack.await_end(job)
    again = Job(int(stack.exec("login", "sbatch", "--parsable", f"{directory}/first.sh", user="ml")), *_of(job))
    stack.await_end(again)
    assert stack.state(again) == "COMPLETED"
    assert sorted(line for line in stack.output(again).splitlines() if line.startswith("rank")) == _RANKS


def _of(job: Job) -> tuple[str, str, str]:
    return job.user, job.output, job.directory


def test_it_exits_as_the_training_did(stack: Stack) -> None:
    directory = stack.new_directory("ml", "submit")
    words = f"bridgectl submit --image {stack.images['small']} --follow --chdir={directory} -- sh -c 'exit 9'"
    said = stack.exec("login", "sh", "-c", f"{words} 2>&1; echo exit $?", user="ml")
    assert said.endswith("exit 9\n")
    assert "has ended: FAILED, exit code 9" in said
    stack.await_idle()


def test_what_the_prolog_would_refuse_never_comes_to_the_queue(stack: Stack) -> None:
    directory = stack.new_directory("ml", "submit")
    words = f"cd {directory} && bridgectl submit --image x --volume nowhere -- true"
    said = stack.exec("login", "sh", "-c", f"{words} 2>&1; echo exit $?; ls", user="ml")
    assert "nowhere" in said
    assert said.endswith("exit 1\n")
    assert stack.exec("login", "squeue", "--noheader") == ""
