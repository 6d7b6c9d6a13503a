"""What a training finds in its container: who it is, where it may write, and Slurm's facts of the job."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from .specs import container_job
from .stack import NODES, Stack

_SECRET = "hf_" + "Q1w2E3r4T5y6U7i8O9p0"
_SCRIPT = r"""
say() { echo "rank $SLURM_NODEID: $*"; }
say id $(id -u) $(id -g) $(id -G | tr ' ' '\n' | sort -n)
say home $(touch $HOME/mine && stat -c %u:%g $HOME/mine)
say name $USER $LOGNAME
say filled $FILLED
say job ${SLURM_JOB_ID} ${SLURM_JOB_NAME} ${SLURM_ARRAY_TASK_ID} ${SLURM_JOB_NODELIST} $SLURM_ARRAY_JOB_ID ${OWN:-kept}
say steps $(env | grep -cE '^SLURM_(PROCID|NTASKS|STEP)')
[ ${#HF_TOKEN} -gt 9 ] && say token
"""


@contextmanager
def group_of(stack: Stack, user: str, number: int) -> Iterator[None]:
    """The account databases of the nodes have the user in one more group."""
    try:
        for node in NODES:
            stack.sh(node, f"groupadd -g {number} project{number} && gpasswd -a {user} project{number}")
        yield
    finally:
        for node in NODES:
            stack.sh(node, f"groupdel project{number}", check=False)


def test_the_training_is_the_jobs_user_and_knows_its_job(stack: Stack) -> None:
    env = {"HF_TOKEN": _SECRET, "FILLED": "${SLURM_JOB_NAME}"}
    spec = container_job(stack.images["small"], _SCRIPT, env=env)
    with group_of(stack, "ml", 3001):
        on_node = stack.sh("compute1", "id -u ml; id -g ml; id -G ml | tr ' ' '\\n' | sort -n")
        job = stack.run(spec, "-N2", "--array=5-5", "--job-name=two words", seconds=120)
    output = stack.output(job)
    uid, gid, *groups = on_node.split()
    for rank in ("0", "1"):
        said = dict(re.findall(rf"rank {rank}: (\w+) ?(.*)", output))
        assert said.pop("id").split() == [uid, gid, *groups], output
        assert said == {
            "home": f"{uid}:{gid}",
            "name": "ml ml",
            "filled": "two words",
            "job": f"{job.id} two words 5 compute1,compute2 {job.id} kept",
            "steps": "0",
            "token": "",
        }
    assert "3001" in groups
    assert "env[HF_TOKEN]: looks like a secret" in output
    assert _SECRET not in output
