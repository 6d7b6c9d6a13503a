"""Hooks that a test starts by hand, as slurmd would, and hooks that it puts before the bridge's."""

import shlex
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from .stack import Job, Stack

PROLOG = "/etc/slurm/prolog.d/50-slurm-k8s-bridge"
EPILOG = "/etc/slurm/epilog.d/50-slurm-k8s-bridge"
_AWAY = "/var/tmp/%s-50-slurm-k8s-bridge"


def environment(stack: Stack, node: str, job: Job) -> dict[str, str]:
    """What slurmd tells the prolog of this job on this node alone, its owner as ``job`` names them."""
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
    return {name: str(value) for name, value in told.items()}


def prolog(stack: Stack, node: str, job: Job) -> str:
    """That prolog, as a command."""
    told = environment(stack, node, job)
    return shlex.join(["env", "-i", *(f"{name}={value}" for name, value in told.items()), PROLOG])


def epilog(job: Job) -> str:
    """An epilog that knows nothing but the job's number, as a command."""
    return shlex.join(["env", "-i", f"SLURM_JOB_ID={job.id}", EPILOG])


def started(stack: Stack, node: str, hook: str) -> str:
    """The process of a hook that nobody waits for."""
    return stack.sh(node, f"setsid {hook} </dev/null >/dev/null 2>&1 & echo $!").strip()


@contextmanager
def before_hook(stack: Stack, node: str, hook: str, lines: str) -> Iterator[None]:
    """slurmd of this node runs these lines of shell in the place of PROLOG or EPILOG, which is $hook to them."""
    away = _AWAY % ("prolog" if hook == PROLOG else "epilog")
    stack.exec(node, "cp", "-p", hook, away)
    try:
        stack.exec(node, "sh", "-c", f"cat > {hook}", stdin=f"#!/bin/sh\nhook={away}\n{lines}\n")
        yield
    finally:
        stack.sh(node, f"cat {away} > {hook}; rm {away}")


@contextmanager
def without_hooks(stack: Stack, node: str) -> Iterator[None]:
    """slurmd of this node has none but the site's own, which does nothing."""
    away = "/var/tmp/%s-away"
    try:
        stack.sh(node, f"mv {PROLOG} {away % 'prolog'} && mv {EPILOG} {away % 'epilog'}")
        yield
    finally:
        stack.sh(node, f"mv {away % 'prolog'} {PROLOG} && mv {away % 'epilog'} {EPILOG}")


def before_prolog(stack: Stack, node: str, lines: str) -> AbstractContextManager[None]:
    """The same in the place of the prolog."""
    return before_hook(stack, node, PROLOG, lines)
