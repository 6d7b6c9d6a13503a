"""The demo, step by step: the stack, the job, the way it goes, what it leaves behind."""

import subprocess
import sys
import time
from collections.abc import Sequence

from tests.demo import checks
from tests.demo.errors import DemoError
from tests.demo.moments import Moment, Story, What
from tests.demo.watchers import Watchers
from tests.integration.stack import NODES, STACK, Job, Stack, eventually

_USER = "ml"
_TOKEN = "k8s=train.yaml"
_SCRIPT = f"""\
#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=2 --exclusive
#SBATCH --comment="{_TOKEN}"
exec bridgectl attach
"""
_SPEC = STACK.parent / "images" / "train" / "examples" / "pytorchjob.yaml"

_UNTIL_END = 180.0  # seconds from submit to the script's end; the training itself takes a few
_UNTIL_FREE = 60.0  # seconds from there to free nodes and an empty namespace
_UNTIL_ACCOUNTED = 15.0  # seconds from there to slurmdbd's knowledge of it
_KINDS = ("pytorchjobs", "pods", "services")
_SACCT = "JobID,User,NNodes,NodeList%16,State,ExitCode,Start,End,Elapsed"


def main() -> int:
    """Show the job; 0 when everything was as it should be."""
    try:
        _show(_started())
    except (DemoError, AssertionError) as error:
        _say(f"\ndemo: not as it should be: {error}")
        return 1
    except KeyboardInterrupt:
        _say("\ndemo: interrupted; `make stack-down` removes the stack")
        return 130
    _say("\nEverything is as it should be. The stack stays up: `tests/stack/stack exec login` is a shell in it,")
    _say("`make stack-down` removes it.")
    return 0


def _say(text: str) -> None:
    """At once, for the person who watches."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _head(text: str) -> None:
    _say(f"\n== {text}")


def _started() -> Stack:
    _head("The stack: a real Slurm and a real Kubernetes with two nodes")
    if subprocess.run([STACK, "up"], check=False).returncode:
        raise DemoError("the stack did not start, for the reason above")
    stack = Stack(Stack.describe())
    stack.await_idle(60)
    for kind in _KINDS:
        if names := stack.names(kind):
            raise DemoError(f"before the job there are {kind} in the jobs' namespace already: {', '.join(names)}")
    return stack


def _show(stack: Stack) -> None:
    starts = _starts(stack)
    directory = _write(stack)
    story = _follow(stack, directory)
    job = Job(story.job, _USER, f"{directory}/slurm-{story.job}.out", directory)
    if not story.node_list:
        raise DemoError(f"job {job.id} never got its nodes: {story.ended}")
    nodes = stack.exec("login", "scontrol", "show", "hostnames", story.node_list).split()
    output, comment = _show_results(stack, job)
    _show_emptiness(stack)
    checks.daemons(starts, _starts(stack))
    checks.timeline(story, nodes)
    checks.placement(story, nodes)
    checks.accounting(stack.sacct(job, "State"), stack.sacct(job, "ExitCode"))
    checks.output(output, nodes)
    checks.comment(comment, _TOKEN, len(nodes))
    stack.assert_clean()


def _starts(stack: Stack) -> dict[str, str]:
    """When each node's daemon was started last."""
    words = ["systemctl", "show", "slurm-k8s-bridge.service", "--value", "--property=ExecMainStartTimestamp"]
    return {node: stack.exec(node, *words).strip() for node in NODES}


# -- the job


def _write(stack: Stack) -> str:
    """The user's two files; returns their directory."""
    directory = stack.new_directory(_USER, "demo")
    for name, text in (("train.sh", _SCRIPT), ("train.yaml", _SPEC.read_text())):
        stack.write(f"{directory}/{name}", text, _USER)
        _head(f"What the user has: {name}")
        _say(text.rstrip())
    return directory


def _follow(stack: Stack, directory: str) -> Story:
    """Submit, and tell each station of the job as its watcher is told of it."""
    _head("The way of the job, as independent watchers of Slurm and of Kubernetes see it")
    watchers = Watchers(stack)
    with watchers.watching():
        submitted = time.monotonic()
        number = int(stack.exec("login", "sh", "-c", f"cd {directory} && sbatch --parsable train.sh", user=_USER))
        story = Story(number, moments=[Moment(submitted, What.SUBMITTED, f"job {number}, by {_USER} on login")])
        _tell(story.moments, submitted)
        while not story.ended:
            _take_next(stack, watchers, story, submitted + _UNTIL_END)
        with watchers.watching_nodes():
            latest = time.monotonic() + _UNTIL_FREE
            while not (story.is_free and story.is_empty_again):
                _take_next(stack, watchers, story, latest)
    return story


def _take_next(stack: Stack, watchers: Watchers, story: Story, latest: float) -> None:
    told = watchers.next(latest - time.monotonic())
    if told is not None:
        _tell(story.take(told), story.moments[0].at)
        return
    slurm = stack.show(Job(story.job, _USER, "", ""))
    state, reason = slurm.get("JobState", "unknown"), slurm.get("Reason", "None")
    last = story.moments[-1]
    raise DemoError(
        f"job {story.job} went no further than '{last.what.value}' ({last.detail}); Slurm's state of it is {state}, "
        f"reason {reason}, comment '{slurm.get('Comment', '')}', of the nodes {stack.node_states()}"
    )


def _tell(moments: Sequence[Moment], submitted: float) -> None:
    for moment in moments:
        _say(f"{moment.at - submitted:8.2f} s  {moment.what.value:15} {moment.detail}")


# -- what it has left


def _show_results(stack: Stack, job: Job) -> tuple[str, str]:
    """What the user finds; returns the output file and the job's comment."""
    _head(f"What the user gets: {job.output.rpartition('/')[2]}")
    output = stack.output(job)
    _say(output.rstrip())
    _head("What Slurm accounts for")
    eventually(lambda: stack.sacct(job, "End") not in ("", "Unknown"), _UNTIL_ACCOUNTED, f"job {job.id} in sacct")
    _say(stack.exec("login", "sacct", "-X", "-j", str(job.id), "-o", _SACCT).rstrip())
    comment = stack.comment(job)
    _say(f"\nComment: {comment}")
    return output, comment


def _show_emptiness(stack: Stack) -> None:
    _head("What is left: nothing")
    for kind in _KINDS:
        eventually(lambda kind=kind: not stack.names(kind), 10, f"no {kind} left")  # type: ignore[misc]
    for node, state in stack.node_states().items():
        _say(f"{node:15} {state} in Slurm")
    for kind in _KINDS:
        _say(f"{kind:15} {', '.join(stack.names(kind)) or 'none'} in namespace {stack.namespace}")
