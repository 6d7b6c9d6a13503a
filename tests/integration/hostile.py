"""What a hostile account may lay before the hook, which is root: files, links and file systems of its own."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from .stack import Stack, eventually

HOSTILE = "other"
SECRET, THEIRS = "/root/skb/secret", "/home/ml/skb/secret"  # of root on the compute nodes, and of another account
_HUNG_FS = "/stack/compute/hung_fs.py"
_DENIED = "permission denied"


@dataclass(frozen=True)
class Trap:
    """Where a job's spec is, what its owner is told, and what makes it: shell, as the account, in its directory."""

    what: str
    spec: str
    words: str
    making: str = "true"


SPECS = (
    Trap("a link to root's file", "spec", _DENIED, f"ln -s {SECRET} spec"),
    Trap("a link to another's file", "spec", _DENIED, f"ln -s {THEIRS} spec"),
    Trap("a link to root's directory", "skb/secret", _DENIED, "ln -s /root/skb skb"),
    Trap("a link to itself", "spec", "too many symbolic links", "ln -s spec spec"),
    Trap("a fifo", "spec", "is a fifo", "mkfifo spec"),
    Trap("a device", "spec", "is a device", "ln -s /dev/zero spec"),
    Trap("a GPU", "/dev/fakegpu0", "is a device"),
    Trap("a directory", ".", "is a directory"),
    Trap("a socket", "spec", "cannot read", "python3 -c 'from socket import *; socket(AF_UNIX).bind(\"spec\")'"),
    Trap("a terabyte", "spec", "larger than 1 MiB", "truncate -s 1T spec"),
    Trap("what the reader was given", "/proc/self/environ", _DENIED),
    Trap("the reader's memory", "/proc/self/mem", _DENIED),
    Trap("the reader's descriptors", "/proc/self/fd/0", "is a device"),
    Trap("all that root sees", f"/proc/1/root{SECRET}", _DENIED),
    Trap("words for a shell", "$(touch${IFS}/tmp/skb-root)`id>/tmp/skb-root`", "no such file"),
    Trap("an option", "--help", "no such file"),
    Trap("a name without end", "a/" * 400 + "b", "no such file"),
)
# What takes the place of a job's output file, or of the file that its epilog leaves beside it.
OUTPUTS = {
    "a link to root's file": f"ln -s {SECRET} out",
    "a link to another's file": f"ln -s {THEIRS} out",
    "a link to what root could make": "ln -s /root/skb/new out; ln -s /etc/cron.d/skb out.k8s.json",
    "a link to what another could make": "ln -s /home/ml/skb/new out; ln -s /home/ml/skb/new out.k8s.json",
    "a fifo": "mkfifo out out.k8s.json",
    "a device": "ln -s /dev/fakegpu0 out; ln -s /dev/fakegpu1 out.k8s.json",
    "a directory": "mkdir out out.k8s.json",
    "nothing that can be made": "chmod 0500 .",
}
# Whatever a program of root's might load or run of the directory and of the environment that a job has chosen.
PLANTS = """
for name in os json bridge sitecustomize; do echo 'import posix; posix.system("id -u >>/tmp/skb-root")' >$name.py; done
for name in sh python3 scontrol env bridgectl; do printf '#!/bin/sh\\nid -u >>/tmp/skb-root\\n' >$name; done
echo 'id -u >>/tmp/skb-root' >startup
chmod +x *
"""
VARIABLES = ("PATH=.", "PYTHONPATH=.", "PYTHONHOME=.", "PYTHONSTARTUP=startup", "BASH_ENV=./startup", "ENV=./startup",
             "SLURM_CONF=./startup", "SLURM_JOB_UID=0", "SLURM_JOB_WORK_DIR=/root/skb")  # fmt: skip
# Done by the account on a node: each has to fail, though a run is there.
WALLS = {
    "remove a marker": "rm -f /var/lib/slurm-k8s-bridge/runs/[0-9]*",
    "write a marker": "echo {} >>$(echo /var/lib/slurm-k8s-bridge/runs/[0-9]*)",
    "lay a marker": "touch /var/lib/slurm-k8s-bridge/runs/1",
    "lay a link as the next marker": "ln -s /etc/passwd /var/lib/slurm-k8s-bridge/runs/.1",
    "move the markers": "mv /var/lib/slurm-k8s-bridge/runs /var/lib/slurm-k8s-bridge/gone",
    "take the hook's socket": "mv /run/slurm-k8s-bridge/hook.sock /tmp/",
    "take the users' socket": "rm -f /run/slurm-k8s-bridge/user.sock",
    "read the journal": "ls /var/lib/slurm-k8s-bridge/journal",
    "read the credential": "cat /var/lib/slurm-k8s-bridge/credential/kubeconfig",
    "read the daemon's environment": "cat /proc/$(pgrep -f /usr/lib/slurm-k8s-bridge.*bridged)/environ",
    "end the daemon": "kill -9 $(pgrep -u slurm-k8s-bridge)",
    "change the hook": "echo >>/etc/slurm/prolog.d/50-slurm-k8s-bridge",
    "change its code": "touch /usr/lib/slurm-k8s-bridge/bridge/hook/__pycache__/x",
}


@contextmanager
def secrets(stack: Stack) -> Iterator[None]:
    """Files that the account may neither read nor write are there, and stay as they were."""
    lay = "rm -rf {0}; install -d -m 0700 -o {1} {0}; echo a secret of {1} >{0}/secret; chown {1} {0}/secret"
    places = [*((node, "/root/skb", "root") for node in stack.nodes), ("login", "/home/ml/skb", "ml")]
    for where, directory, owner in places:
        stack.sh(where, lay.format(directory, owner) + f"; chmod 600 {directory}/secret")
    try:
        yield
        for where, directory, owner in places:
            assert stack.sh(where, f"cd {directory} && ls -A && cat secret") == f"secret\na secret of {owner}\n"
        for node in stack.nodes:
            assert stack.sh(node, "ls /etc/cron.d/skb 2>/dev/null; grep -x 0 /tmp/skb-root; true") == "", "as root"
    finally:
        for where, directory, _ in places:
            stack.sh(where, f"rm -rf {directory} /etc/cron.d/skb /tmp/skb-root")


def that_succeed(stack: Stack, node: str, through: str, tries: Mapping[str, str]) -> list[str]:
    """The names of those lines of shell that do not fail on a node; ``through`` are the words by which sh is begun."""
    lines = [f"({line}) >/dev/null 2>&1 && echo {shlex.quote(name)}" for name, line in tries.items()]
    return stack.exec(node, "sh", "-c", f"{through} sh", stdin="\n".join([*lines, "true\n"])).splitlines()


def as_hostile(command: str) -> str:
    """A command of root's that runs as the account."""
    return f"setpriv --reuid={HOSTILE} --regid={HOSTILE} --clear-groups {command}"


@contextmanager
def hung(stack: Stack, node: str, place: str, *options: str) -> Iterator[None]:
    """A file system of the account's is mounted at this place of a node, and answers nobody."""
    uid, log = stack.exec(node, "id", "-u", HOSTILE).strip(), f"{place}.log"
    words = " ".join(["python3", _HUNG_FS, place, uid, *options])
    pid = stack.sh(node, f"mkdir -p {place} && setsid {words} >{log} 2>&1 </dev/null & echo $!").strip()
    try:
        eventually(lambda: "mounted" in stack.sh(node, f"cat {log}", check=False), 30, "a file system that hangs")
        yield
    finally:
        stack.sh(node, f"kill -9 {pid}; umount -l {place}; rmdir {place}; rm {log}", check=False)


@contextmanager
def held(stack: Stack, node: str, *places: str) -> Iterator[None]:
    """A process of the account's, in no job, has these places open, and nothing else."""
    opened = "".join(f"os.open('{place}', os.O_PATH); " for place in places)
    script = f"import os, time; {opened}os.closerange(0, 3); time.sleep(600)"
    pid = stack.sh(node, f'setsid {as_hostile("python3")} -c "{script}" & echo $!').strip()
    try:
        count = f"ls /proc/{pid}/fd | wc -l"
        eventually(lambda: stack.sh(node, count).strip() == str(len(places)), 30, "a process that holds them")
        yield
    finally:
        stack.exec(node, "kill", "-9", pid)
