"""Which descriptors of a process lie where no device file can be opened, told without a question to their file system:
it may hang (FUSE, NFS), or refuse even root (FUSE).

Both must hold, for a user could hide an open device by the one: the kind of the file system, which is that of the
super block, and ``nodev``, which in a mount namespace of one's own can be added to /dev afterwards.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_ELSEWHERE = ("fuse", "nfs", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p", "virtiofs", "autofs")
_HEAD = 1024  # bytes of an fdinfo; of what is watched by an epoll it tells without end


class Mounts:
    """Of one process, by its directory in /proc; what cannot be read counts as a place that has devices."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._deviceless: "Optional[frozenset[str]]" = None

    def without_devices(self, fd: str) -> bool:
        """Whether this descriptor is of a file where no device can be."""
        mount = self._mount_of(fd)
        if mount is None:
            return False
        if self._deviceless is None:
            self._deviceless = frozenset(self._read())
        return mount in self._deviceless

    def _mount_of(self, fd: str) -> "Optional[str]":
        try:
            with open("%s/fdinfo/%s" % (self._process, fd), "rb", buffering=0) as file:
                words = file.read(_HEAD).decode("ascii", "replace").split()
        except OSError:
            return None
        return words[words.index("mnt_id:") + 1] if "mnt_id:" in words[:-1] else None

    def _read(self) -> "list[str]":
        """Lines of proc(5): ``ID PARENT DEVICE ROOT PLACE OPTIONS [MORE…] - KIND SOURCE OPTIONS``, blanks in octal."""
        try:
            with open(self._process + "/mountinfo", "rb") as file:
                lines = [line.split() for line in file.read().decode("utf-8", "replace").splitlines()]
        except OSError:
            return []
        return [words[0] for words in lines if _is_deviceless(words)]


def _is_deviceless(words: "list[str]") -> bool:
    if "-" not in words[6:-1]:
        return False
    return "nodev" in words[5].split(",") and words[words.index("-", 6) + 1].startswith(_ELSEWHERE)
