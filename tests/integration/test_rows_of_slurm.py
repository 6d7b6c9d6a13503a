"""Rows of what Slurm says, or does not say, on the real stack. Slurm in trouble costs no node and no training."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from .hands import epilog, prolog
from .nodes import without_scontrol
from .rows import done, explained, hears, manifest, meets
from .stack import Job, Stack, eventually

_ON = ("-N1", "-c1", "-w")
_TOKEN = "/etc/slurm-k8s-bridge/other-token"
_SERVICE = {"tier": "service", "service_user": "other", "service_token_file": _TOKEN}


def keep_token(stack: Stack, node: str, token: str) -> None:
    """The file with the site's own token holds this."""
    words = ("install", "-m", "0600", "-o", "slurm-k8s-bridge", "/dev/stdin", _TOKEN)
    stack.exec(node, *words, stdin=token)


@contextmanager
def tokens_of_nobody(stack: Stack) -> Iterator[None]:
    """The owners' tokens cannot be had; the site's is of a user without rights on compute1, and of nobody on
    compute2."""
    try:
        keep_token(stack, "compute1", stack.exec("slurmctld", "scontrol", "token", "username=other", "lifespan=1800"))
        keep_token(stack, "compute2", "SLURM_JWT=none")
        with (
            without_scontrol(stack, "compute1"),
            without_scontrol(stack, "compute2"),
            stack.configured(slurmrest=_SERVICE),
        ):
            yield
    finally:
        for node in stack.nodes:
            stack.exec(node, "rm", "-f", _TOKEN)


def goes_on(stack: Stack, job: Job, row: str, node: str) -> None:
    """The job ends well, and nothing but its comment is missing."""
    stack.await_ended([job], 60)
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert meets(row, done(stack, job, node)), done(stack, job, node)
    assert stack.sacct(job, "Comment") == "k8s=job.yaml"


def test_tokens_that_are_of_no_use(stack: Stack) -> None:
    with tokens_of_nobody(stack):
        denied = stack.submit("kind: Sonata", *_ON, "compute1")
        refused = stack.submit(manifest(stack), *_ON, "compute2")
        stack.await_ended([denied], 90)
        assert stack.sacct(denied, "State,ExitCode") == "FAILED|1:0"
        assert "kind" in stack.output(denied), "attach tells what nobody else could"
        said = done(stack, denied, "compute1")
        assert meets("slurm-denied", said) and "the job could not be cancelled" in said
        goes_on(stack, refused, "slurm-token", "compute2")
        stack.exec("compute1", "rm", _TOKEN)
        missing = stack.submit(manifest(stack), *_ON, "compute1")
        goes_on(stack, missing, "slurm-service-token", "compute1")


def test_another_server_in_the_place_of_slurmrestd(stack: Stack) -> None:
    """The kubelet, which knows none of its paths; and slurmrestd itself, asked for something else."""
    with (
        stack.configured("compute1", slurmrest={"url": "http://127.0.0.1:10248"}),
        stack.configured("compute2", slurmrest={"url": "https://slurmrestd:6820/slurm/v0.0.42/ping#"}),
    ):
        unlike, empty = (stack.submit(manifest(stack), *_ON, node) for node in ("compute1", "compute2"))
        hears(stack, empty, "slurmrestd-empty", "compute2")
        goes_on(stack, unlike, "slurmrestd-version", "compute1")
    stack.await_ended([empty], 90)
    assert stack.state(empty) == "COMPLETED"


def test_jobs_of_nobody_and_of_somebody_else(stack: Stack) -> None:
    """As when slurmrest.url is that of another cluster."""
    directory = stack.new_directory("ml", "hands")
    stack.write(f"{directory}/job.yaml", manifest(stack))
    unknown = Job(7_000_000, "ml", "", directory)
    stack.sh("compute1", prolog(stack, "compute1", unknown))
    story = explained(stack, unknown)
    assert (story["row"], story["verdict"]) == ("job-unknown", "gone")
    stack.sh("compute1", epilog(unknown))
    theirs = stack.submit(None, *_ON, "compute2", "--comment=mine", script="exec sleep 600", user="other")
    stack.await_state(theirs, "RUNNING")
    ours = replace(theirs, user="ml", directory=directory)
    stack.sh("compute2", prolog(stack, "compute2", ours))
    assert meets("slurm-foreign-job", done(stack, ours, "compute2"))
    assert stack.comment(theirs) == "mine"
    stack.exec("login", "scancel", str(theirs.id), user="other")
    stack.await_end(theirs)


def test_a_slurmrestd_and_a_slurmctld_that_hang(stack: Stack) -> None:
    """The first until a job has been cancelled, so that its comment cannot be set any more; the second while a prolog
    asks about its job: slurmrestd gives up before the bridge does."""
    stack.registry({"mode": "hang", "match": "/skb/small/"})
    spec = manifest(stack, imagePullPolicy="Always")
    with stack.configured(timing={"image_patience": 0.1}, slurmrest={"timeout": 60.0}):
        late = stack.submit(spec, *_ON, "compute1")
        hears(stack, late, "image-pulling")
        with stack.paused("slurmrestd"):
            stack.exec("login", "scancel", str(late.id), user="ml")
            eventually(lambda: stack.show(late)["JobState"] in ("CANCELLED", "COMPLETING"), 30, "a job that is over")
            stack.registry({"mode": "404", "match": "/skb/small/"})
            eventually(lambda: explained(stack, late).get("row") == "image-missing", 60, "a verdict")
        eventually(lambda: meets("slurm-refused", done(stack, late, "compute1")), 30, "a comment that is refused")
        stack.registry({"mode": "ok"})
        stack.await_ended([late], 60)
        stack.await_idle(60)
        with ExitStack() as later:
            with stack.paused("slurmrestd"):
                waits = stack.submit(manifest(stack), *_ON, "compute2")
                eventually(lambda: explained(stack, waits, "compute2").get("phase") == "prolog", 60, "a prolog")
                later.enter_context(stack.paused("slurmctld"))
            hears(stack, waits, "slurmctld-silent", "compute2", 120)
    stack.await_ended([waits], 60)
    assert stack.state(waits) == "COMPLETED"
