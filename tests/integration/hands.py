"""Hooks that a test starts by hand, as slurmd would, and hooks that it puts before the bridge's."""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .stack import Job, Stack

_PROLOG = "/etc/slurm/prolog.d/50-slurm-k8s-bridge"
_EPILOG = "/etc/slurm/epilog.d/50-slurm-k8s-bridge"
_AWAY = "/var/tmp/50-slurm-k8s-bridge"


def prolog(stack: Stack, node: str, job: Job) -> str:
    """The prolog of this job on this node alone, its owner as ``job`` names them, as a command."""
    uid, gid = (stack.exec(node, "id", which, job.user).strip() for which in ("-u", "-g"))
    told = {
        "SLURM_CLUSTER_NAME": "demo",
        "SLURM_CONF": "/etc/slurm/slurm.conf",
        "SLURMD_NODENAME": node,
        "SLURM_JOB_NODELIST": node,
        "SLURM_JOB_ID": job.id,
        "SLURM_JOB_START_TIME": int(time.time()),  # else it would be one run with that of an earlier test
        "SLURM_JOB_UID": uid,
        "SLURM_JOB_GID": gid,
        "SLURM_JOB_USER": job.user,
        "SLURM_JOB_PARTITION": "main",
        "SLURM_JOB_CPUS_PER_NODE": 1,
        "SLURM_JOB_WORK_DIR": job.directory,
        "SLURM_JOB_STDOUT": job.output,
        "SLURM_JOB_COMMENT": "k8s=job.yaml",
    }
    return shlex.join(["env", "-i", *(f"{name}={value}" for name, value in told.items()), _PROLOG])


def epilog(job: Job) -> str:
    """An epilog that knows nothing but the job's number, as a command."""
    return shlex.join(["env", "-i", f"SLURM_JOB_ID={job.id}", _EPILOG])


def started(stack: Stack, node: str, hook: str) -> str:
    """The process of a hook that nobody waits for."""
    return stack.sh(node, f"setsid {hook} </dev/null >/dev/null 2>&1 & echo $!").strip()


@contextmanager
def before_prolog(stack: Stack, node: str, lines: str) -> Iterator[None]:
    """slurmd of this node runs these lines of shell in the place of the bridge's prolog, which is $hook to them."""
    script = f"#!/bin/sh\nhook={_AWAY}\n{lines}\n"
    stack.exec(node, "cp", "-p", _PROLOG, _AWAY)
    try:
        stack.exec(node, "sh", "-c", f"cat > {_PROLOG}", stdin=script)
        yield
    finally:
        stack.sh(node, f"cat {_AWAY} > {_PROLOG}; rm {_AWAY}")
