"""Proof that nothing of a run is left on this node. Whatever cannot be looked at is an error, never "clean".

Counted as left over:
- a process of one of the run's pods: any line of /proc/PID/cgroup names the pod's uid, with dashes
  (cgroupfs driver) or underscores (systemd driver), cgroup v1 or v2;
- a process of the job's user, in whatever cgroup, that holds one of the device files. Other accounts
  hold them for good reasons: nvidia-persistenced, DCGM and device plugins, those as pods too. Where the
  job's uid is not known, every account from 1000 on counts.

Not counted: zombies. A zombie has given back memory and descriptors, and one whose parent forgot it
would hold the node for ever. A zombie leader whose other threads live on is no zombie here.

A process can hide from one walk by forking between the listing and the look at it, so clean means two
walks in a row without a find.
"""

import errno
import json
import os
import stat

from bridge.hook import child, mounts
from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

_WALKS = 2
_SHOWN = 50
_FIRST_USER = 1000
# A frozen process of cgroup v1 is in D, too, and takes no SIGKILL before it is thawed.
_HARD_TO_END = {"D": messages.FROZEN, "T": messages.HALTED}


class ScanError(Exception):
    """Something could not be looked at; one sentence."""


class _VanishedError(Exception):
    """The process ended while we looked at it."""


def leftovers(
    pods: "Sequence[str]", devices: "Sequence[str]", uid: "Optional[int]", proc: str = "/proc"
) -> "list[dict[str, object]]":
    """``{"pid", "command", "why"}`` of what is left (the first 50); empty is the proof.

    Raises ScanError.
    """
    names = _pod_names(pods)
    held = _identities(devices)
    found: "list[dict[str, object]]" = []
    for _ in range(_WALKS):
        for pid in _pids(proc):
            try:
                why = _why(proc + "/" + pid, names, held, uid)
                if why:
                    command, _, state = _status(proc + "/" + pid)
                    found.append({"pid": int(pid), "command": command, "why": why + _HARD_TO_END.get(state, "")})
            except _VanishedError:
                continue
        if found:
            break
    return found[:_SHOWN]


def detached(message: "dict[str, object]", proc: str, seconds: float) -> "list[dict[str, object]]":
    """:func:`leftovers` of a scan frame, in a child with a deadline: a look at a descriptor may hang.

    Raises ScanError, child.LateError, child.DiedError, OSError.
    """

    def work() -> bytes:
        try:
            found = leftovers(*_question(message), proc=proc)
        except ScanError as error:
            return json.dumps({"error": str(error)}).encode()
        return json.dumps({"found": found}).encode()

    result = json.loads(child.start(work, seconds).reply().decode())
    if "error" in result:
        raise ScanError(result["error"])
    return list(result["found"])


def _question(message: "dict[str, object]") -> "tuple[list[str], list[str], Optional[int]]":
    pods, devices, uid = message.get("pods"), message.get("devices"), message.get("uid")
    if not isinstance(pods, list) or not isinstance(devices, list) or not isinstance(uid, (int, type(None))):
        raise ScanError(messages.SCAN_UNLIKE)
    return pods, devices, uid


def _pod_names(pods: "Sequence[str]") -> "dict[str, str]":
    """What a cgroup line of each pod contains, and that pod's uid."""
    names = {}
    for uid in pods:
        if not isinstance(uid, str) or len(uid) < 8:
            raise ScanError(messages.SCAN_NO_UID.format(uid=repr(uid)))
        names["pod" + uid] = uid
        names["pod" + uid.replace("-", "_")] = uid
    return names


def _identities(patterns: "Sequence[str]") -> "dict[tuple[int, ...], str]":
    """Every device file by what it really is.

    A container has a device node of its own, with another inode and the same device number.
    """
    if not patterns:
        return {}
    import glob

    held = {}
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            try:
                held[_identity(os.stat(path))] = path
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise ScanError(messages.SCAN_UNSEEN.format(path=path, why=error.strerror))
    return held


def _identity(status: "os.stat_result") -> "tuple[int, ...]":
    kind = stat.S_IFMT(status.st_mode)
    if kind in (stat.S_IFCHR, stat.S_IFBLK):
        return (kind, status.st_rdev)
    return (kind, status.st_dev, status.st_ino)


def _pids(proc: str) -> "list[str]":
    try:
        names = os.listdir(proc)
    except OSError as error:
        raise ScanError(messages.SCAN_UNLISTED.format(path=proc, why=error.strerror))
    if "1" not in names:
        raise ScanError(messages.SCAN_BLIND.format(path=proc))
    return [name for name in names if name.isdigit()]


def _why(process: str, names: "dict[str, str]", held: "dict[tuple[int, ...], str]", uid: "Optional[int]") -> str:
    if names:
        text = _text(process + "/cgroup")
        for name, pod in names.items():
            if name in text and _alive(process):
                return messages.IN_POD.format(uid=pod)
    if held:
        return _holds(process, held, uid)
    return ""


def _holds(process: str, held: "dict[tuple[int, ...], str]", uid: "Optional[int]") -> str:
    owners = _status(process)[1]
    if not any(owner == uid if uid is not None else owner >= _FIRST_USER for owner in owners):
        return ""
    places = mounts.Mounts(process)
    for fd in _listing(process + "/fd"):
        if places.without_devices(fd):
            continue
        try:
            path = held.get(_identity(os.stat(process + "/fd/" + fd)))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ESRCH):
                continue  # this descriptor was closed meanwhile
            raise ScanError(messages.SCAN_UNSEEN.format(path=process + "/fd/" + fd, why=error.strerror))
        if path:
            return messages.HOLDS.format(path=path, uid=owners[0])
    return ""


def _status(process: str) -> "tuple[str, list[int], str]":
    """Command name, all four uids, state. The owner of the directory would be root where not dumpable."""
    fields = {}
    for line in _text(process + "/status").splitlines():
        name, _, value = line.partition(":")
        fields[name] = value.strip()
    try:
        return fields["Name"], [int(word) for word in fields["Uid"].split()], fields["State"][:1]
    except (KeyError, ValueError):
        raise ScanError(messages.SCAN_UNFIT.format(path=process))


def _alive(process: str) -> bool:
    """Whether any thread of it still runs."""
    if _status(process)[2] not in "ZX":
        return True
    for thread in _listing(process + "/task"):
        try:
            if _status(process + "/task/" + thread)[2] not in "ZX":
                return True
        except _VanishedError:
            continue
    return False


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise _fault(path, error)


def _listing(path: str) -> "list[str]":
    try:
        return os.listdir(path)
    except OSError as error:
        raise _fault(path, error)


def _fault(path: str, error: "OSError") -> "Exception":
    if error.errno in (errno.ENOENT, errno.ESRCH):
        return _VanishedError()
    return ScanError(messages.SCAN_UNREAD.format(path=path, why=error.strerror))
