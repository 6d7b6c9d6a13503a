"""More ranks than are followed unasked: `make many-ranks`, on seventeen nodes. Not a part of `make test`."""

import re

from ..specs import UNTIL_LET_GO, container_job
from ..stack import Job, Stack, eventually

_FAILING = 9
_SCRIPT = f"echo begins; {UNTIL_LET_GO}; echo ends; [ $PET_NODE_RANK != {_FAILING} ] || exit 3; sleep 20"


def ranks_in(output: str) -> dict[int, list[str]]:
    """What each rank has said, of an output with prefixes."""
    said: dict[int, list[str]] = {}
    for rank, line in re.findall(r"^\[rank (\d+)\] (.*)$", output, flags=re.MULTILINE):
        said.setdefault(int(rank), []).append(line)
    return said


def submit(stack: Stack, *verbs: str) -> Job:
    """A job on all nodes; each of these `attach`es writes to a file of its number."""
    script = "\n".join(f"bridgectl attach --prefix {verb} > {number} 2>&1 &" for number, verb in enumerate(verbs))
    spec = container_job(stack.images["small"], _SCRIPT)
    return stack.submit(spec, "-N17", "-c1", script=f"{script}\nwait -n; code=$?; wait; exit $code")


def said(stack: Stack, job: Job, number: int) -> dict[int, list[str]]:
    """What this `attach` has shown."""
    return ranks_in(stack.exec("login", "cat", f"{job.directory}/{number}", check=False))


def test_above_sixteen_ranks_the_first_is_shown_and_the_one_that_fails_and_those_that_are_named(stack: Stack) -> None:
    assert len(stack.nodes) == 17
    unasked, asked = submit(stack, ""), submit(stack, "--rank 5", "--all")
    eventually(lambda: said(stack, unasked, 0) == {0: ["begins"]}, 180, "rank 0 is shown")
    eventually(lambda: len(said(stack, asked, 1)) == 17, 120, "every rank is shown")
    for job in (unasked, asked):
        stack.let_go(job)
    stack.await_ended([unasked, asked], 180)
    stack.await_idle(60)
    whole = ["begins", "ends"]
    assert said(stack, unasked, 0) == {0: whole, _FAILING: whole}
    assert said(stack, asked, 0) == {5: whole}
    assert said(stack, asked, 1)[_FAILING] == whole
    assert said(stack, asked, 1).keys() == set(range(17))
    assert {stack.sacct(job, "State,ExitCode") for job in (unasked, asked)} == {"FAILED|3:0"}
