"""A FUSE file system of a user's that takes every question and answers none, as root mounts it for them (fusermount).

    hung_fs.py PLACE UID [allow_other]

Whoever asks it anything waits until this process ends, and no signal ends that. Without allow_other the kernel refuses
everybody but the user, root too.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

DEVICE = "/dev/fuse"
NOSUID, NODEV = 2, 4
HEAD = struct.Struct("<IIQ")  # of a request: length, opcode, number
REPLY = struct.Struct("<IiQ")
INIT = 26
VERSION = struct.pack("<16I", 7, 31, *[0] * 14)
LONGEST = 1 << 20


def mounted(place: str, uid: str, *options: str) -> int:
    """The kernel's end of a new mount."""
    if not Path(DEVICE).exists():
        os.mknod(DEVICE, 0o20600, os.makedev(10, 229))
    kernel = os.open(DEVICE, os.O_RDWR)
    words = [f"fd={kernel}", "rootmode=40000", f"user_id={uid}", f"group_id={uid}", *options]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hung", place.encode(), b"fuse.hung", NOSUID | NODEV, ",".join(words).encode()):
        raise OSError(ctypes.get_errno(), f"mount {place}: {os.strerror(ctypes.get_errno())}")
    return kernel


def main() -> None:
    """Until it is killed, at which all who wait are told that nobody is there."""
    kernel = mounted(*sys.argv[1:])
    print("mounted", flush=True)
    while True:
        _, opcode, number = HEAD.unpack_from(os.read(kernel, LONGEST))
        if opcode == INIT:
            os.write(kernel, REPLY.pack(REPLY.size + len(VERSION), 0, number) + VERSION)


if __name__ == "__main__":
    main()
