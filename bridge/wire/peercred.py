"""Who is at the other end of a UNIX socket, as the kernel says (SO_PEERCRED), not as the peer says."""

import socket
import struct
from dataclasses import dataclass

# struct ucred is {pid_t, uid_t, gid_t}: signed, unsigned, unsigned. "3i" would turn uids from 2**31 on negative.
_UCRED = struct.Struct("iII")


@dataclass(frozen=True)
class Peer:
    """Process, user and group that connected."""

    pid: int
    uid: int
    gid: int

    def may_see(self, owner: int) -> bool:
        """Whether this peer may act on what this user owns."""
        return self.uid in (0, owner)


def peer_of(sock: socket.socket) -> Peer:
    """The peer of a connected UNIX stream socket; raises OSError."""
    return Peer(*_UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)))


def has_left(sock: socket.socket) -> bool:
    """Whether the peer has closed its end; takes nothing of what it may have sent."""
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
