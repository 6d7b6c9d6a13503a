"""Daemons and hooks that fail where and when they are told to, in the place of the nodes' own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.failpoints import hooks
from tests.integration.stack import Stack

from .agent import FOLDER, LOCK, PODS, STAMPS
from .hands import on_each

_DAEMON = "/usr/sbin/bridged"
_DAEMON_ARMED = f"""#!/usr/lib/slurm-k8s-bridge/venv/bin/python -I
import sys

sys.path[:0] = ["/usr/lib/slurm-k8s-bridge", "{FOLDER}"]
from failpoints.armed import main

sys.exit(main())
"""
_HOOK = "/usr/lib/slurm-k8s-bridge/bridge/hook/__main__.py"
_HOOK_ARMED = f"""
import os
import sys
import time
sys.path.insert(0, "/usr/lib/slurm-k8s-bridge")
from bridge.hook import token
from bridge.hook.client import main
collect = token.Mint.collect
def collected(mint):
    try:
        return collect(mint)
    except token.NoTokenError:
        with open("{STAMPS}", "a") as file:
            print("tokenless", time.time(), file=file)
        raise
token.Mint.collect = collected
def armed():
    try:
        with open("{FOLDER}/armed") as file:
            return file.read().split()
    except OSError:
        return []
if armed():
    sys.path.append("{FOLDER}")
    from failpoints import hooks
    # All: who waits for minutes may be struck by what was armed meanwhile.
    names = [name for place in hooks.PLACES for name in hooks.possible(place)]
    names.sort(key=hash)  # of two that are armed at one place either may be the first
    who = sys.argv[1] + " " + os.environ["SLURM_JOB_ID"]
    hooks.arm(names, "{FOLDER}/struck", lambda name: name in armed(), who)
main(sys.argv)
"""
_FAILPOINTS = Path(hooks.__file__).parent


@contextmanager
def with_failpoints(stack: Stack) -> Iterator[None]:
    """Daemons and hooks that fail where and when they are told to."""

    def arm(node: str) -> None:
        stack.sh(node, f"mkdir -p {FOLDER} && chmod 755 {FOLDER} && cp -p {_DAEMON} {_HOOK} {FOLDER}/")
        for name in ("__init__", "failpoint", "armed", "hooks", "strike"):
            program = (_FAILPOINTS / f"{name}.py").read_text(encoding="utf-8")
            target = f"{FOLDER}/failpoints/{name}.py"
            stack.exec(node, "sh", "-c", f"mkdir -p {FOLDER}/failpoints && cat > {target}", stdin=program)
        for file, text in ((_DAEMON, _DAEMON_ARMED), (_HOOK, _HOOK_ARMED)):
            stack.exec(node, "sh", "-c", f"cat > {file}", stdin=text)
        stack.exec(node, "systemctl", "restart", "slurm-k8s-bridge")

    def disarm(node: str) -> None:
        for file in (_DAEMON, _HOOK):
            stack.sh(node, f"cat {FOLDER}/{Path(file).name} > {file}")
        stack.sh(node, f"rm -rf {FOLDER} {STAMPS} {LOCK} {PODS}; systemctl restart slurm-k8s-bridge")

    try:
        on_each(stack, arm)
        yield
    finally:
        on_each(stack, disarm)
