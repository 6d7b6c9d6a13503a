"""Secrets where none may stand: all places that a session has written to, searched for what lived in it."""

import base64
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from .stack import Stack

# A JSON web token, what scontrol prints before one of Slurm's, and a private key, as it is and inside of base64.
SHAPES = (
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
    r"SLURM_JWT=[\w-]{16,}",
    r"BEGIN [A-Z ]*PRIVATE KEY",
    *(base64.b64encode(b"x" * before + b"PRIVATE KEY")[4 if before else 0 : 12].decode() for before in range(3)),
)
_SHOWN = 12  # characters of what was found
_NODE_FILES = (
    "/var/lib/slurm-k8s-bridge/journal",
    "/var/lib/slurm-k8s-bridge/runs",
    "/var/log",
    "/var/spool/slurmd",
    "/run/slurm-k8s-bridge",
)
_ACCOUNTS = (
    "sacct --allusers --starttime=now-1day --parsable2 --format=JobID,Comment,AdminComment,SystemComment,SubmitLine"
)
_KEYS = ("munge.key", "jwt_hs256.key", "db-password")


def pattern(keys: Iterable[bytes] = ()) -> str:
    """What grep -P is asked for: every shape, and each of these keys' beginning as it is, in hex and in base64."""
    begun = [key[:24] for key in keys]
    written = [text for key in begun for text in (key.hex().encode(), base64.b64encode(key), key)]
    return "|".join([*SHAPES, *("".join(f"\\x{byte:02x}" for byte in text) for text in written)])


def grep(*where: str) -> list[str]:
    """The command: its pattern comes by standard input, and so do the lines where ``where`` names no file."""
    return ["env", "LC_ALL=C", "grep", "-rsaoP", "-f", "-", *where]


def told(place: str, said: bytes) -> list[str]:
    """A line for each place; of the secret itself no more than its beginning."""
    found = {}
    for line in said.decode("latin-1").splitlines():
        file, _, secret = line.rpartition(":")
        found[file or "?"] = secret[:_SHOWN]
    return [f"{place}: {file} has a secret, {secret}…" for file, secret in sorted(found.items())]


def leaks(stack: Stack) -> list[str]:
    """Where a secret of this stack stands and may not; [] is what everybody hopes for."""
    run_dir = Path(str(stack.description["run_dir"]))
    wanted = pattern((run_dir / "keys" / name).read_bytes() for name in _KEYS).encode()
    found = told("here", _output(grep(str(run_dir / "audit")), wanted))
    for service in ("slurmctld", "slurmdbd", "slurmrestd"):
        found += _in(stack, service, wanted, "/var/log/slurm")
    found += _said(stack, "slurmctld", wanted, _ACCOUNTS)
    found += _in(stack, "login", wanted, "/home")
    for node in stack.nodes:
        found += _in(stack, node, wanted, *_NODE_FILES)
        found += _said(stack, node, wanted, "journalctl --no-pager --quiet --output=verbose")
    events = stack.kubectl("get", "events", "--all-namespaces", "-o", "json")
    return found + [f"events: {line}" for line in re.findall("|".join(SHAPES), events)]


def _in(stack: Stack, service: str, wanted: bytes, *folders: str) -> list[str]:
    """Not in what a test made huge on purpose, a spec without end."""
    files = f"find {' '.join(folders)} -type f -size -64M -exec env LC_ALL=C grep -asoHP -f /run/wanted {{}} +"
    script = f"cat > /run/wanted; {files} 2>/dev/null; rm /run/wanted; true"
    return told(service, _output(["docker", "exec", "-i", stack.container(service), "sh", "-c", script], wanted))


def _said(stack: Stack, service: str, wanted: bytes, command: str) -> list[str]:
    """Of what a command says. The pattern comes first, since it may be in no argument."""
    script = f"cat > /run/wanted; {command} | LC_ALL=C grep -aoP -f /run/wanted; rm /run/wanted"
    said = _output(["docker", "exec", "-i", stack.container(service), "sh", "-c", script], wanted)
    return told(service, b"".join(command.encode() + b":" + line for line in said.splitlines(keepends=True)))


def _output(command: Sequence[str], wanted: bytes) -> bytes:
    done = subprocess.run(command, capture_output=True, input=wanted, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
