"""How full this machine's disks are that containers are written to."""

import os
from collections.abc import Iterable

_FULL_SHARE = 0.01  # of the blocks or inodes
_FULL_BYTES = 1 << 30  # a hundredth of a large disk is no want of space
_FULL_INODES = 10_000


class Disks:
    """The file systems of some directories. Safe to use from many threads."""

    def __init__(self, directories: Iterable[str]) -> None:
        """``directories`` that this machine does not have are passed over: each runtime has its own."""
        self._directories = tuple(directories)

    def complaint(self) -> str:
        """Which of them is full, and how full, as a clause; '' when none is."""
        return next(filter(None, map(_complaint, self._directories)), "")


def _complaint(directory: str) -> str:
    # Blocks that are free for root (f_bfree), as kubelet and runtime are. A file system without a fixed number of
    # blocks or inodes (overlayfs, btrfs, GPFS) shows 0 of 0.
    try:
        seen = os.statvfs(directory)
    except OSError:
        return ""
    size, free = seen.f_blocks * seen.f_frsize, seen.f_bfree * seen.f_frsize
    if size and free < min(_FULL_SHARE * size, _FULL_BYTES):
        return f"{directory} has {free >> 20} MiB free of {size >> 20}"
    if seen.f_files and seen.f_ffree < min(_FULL_SHARE * seen.f_files, _FULL_INODES):
        return f"{directory} has {seen.f_ffree} inodes free of {seen.f_files}"
    return ""
