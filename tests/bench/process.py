"""A node's daemon as the kernel sees it."""

import re

from tests.integration.stack import Stack

_TICKS = 100  # of a second in /proc/PID/stat


def memory(stack: Stack, node: str) -> float:
    """Resident megabytes."""
    return int(_line(stack, node, "status", "VmRSS")) * 1024 / 1e6


def threads(stack: Stack, node: str) -> int:
    """Living ones."""
    return int(_line(stack, node, "status", "Threads"))


def descriptors(stack: Stack, node: str) -> int:
    """Open ones, but for connections to the API server."""
    return int(stack.sh(node, f"ls /proc/{stack.main_pid(node)}/fd | wc -l")) - connections(stack, node)


def connections(stack: Stack, node: str) -> int:
    """To the API server, idle ones among them."""
    return len(traffic(stack, node))


def cpu(stack: Stack, node: str) -> float:
    """Milliseconds of a processor so far, of threads that have ended, too."""
    fields = stack.sh(node, f"cat /proc/{stack.main_pid(node)}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / _TICKS


def traffic(stack: Stack, node: str) -> dict[str, int]:
    """Bytes to and from the API server so far, by connection: those that are open now."""
    lines = stack.sh(node, "ss -tinpOH dport = :6443").split("\n")
    mine = [line for line in lines if f"pid={stack.main_pid(node)}," in line]
    return {line.split()[3]: sum(map(int, re.findall(r"bytes_(?:sent|received):(\d+)", line))) for line in mine}


def restart(stack: Stack, node: str) -> float:
    """The daemon anew; seconds from its first instruction until it said that it is ready."""
    stack.exec(node, "systemctl", "restart", "slurm-k8s-bridge")
    names = ("ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic")
    said = stack.exec(node, "systemctl", "show", "slurm-k8s-bridge", *(f"--property={name}" for name in names))
    began, ready = (int(re.findall(rf"{name}=(\d+)", said)[0]) for name in names)
    return (ready - began) / 1e6


def _line(stack: Stack, node: str, file: str, name: str) -> str:
    text = stack.sh(node, f"cat /proc/{stack.main_pid(node)}/{file}")
    return str(re.findall(rf"^{name}:\s*(\d+)", text, re.MULTILINE)[0])
