"""The ways to slurmrestd that a Slurm token may take: whoever reads one on its way acts in its owner's name."""

import ipaddress
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_UNIX = "unix:"


def socket_path(url: str) -> str | None:
    """Path of the socket that this address names; None where it names a host."""
    return "/" + url.removeprefix(_UNIX).lstrip("/") if url.startswith(_UNIX) else None


def _checked(url: str) -> str:
    if url.startswith(_UNIX):
        return _checked_socket(url)
    try:
        parts = urlsplit(url)
        host, named, _port = parts.hostname or "", "@" in parts.netloc, parts.port
    except ValueError as error:
        raise ValueError(f"is no address ({error})") from error
    if named:
        raise ValueError("has a name or password in it, which everybody on the node would be shown; leave it out")
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("must be https://HOST:PORT, unix:/PATH, or http on loopback")
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError(
            f"would send Slurm tokens to {host} where the network can read them; use https://, or unix:/PATH, "
            "or http on loopback (127.0.0.1, [::1], localhost)"
        )
    return url


def _checked_socket(url: str) -> str:
    path = url.removeprefix(_UNIX)
    if not path.strip("/") or not path.startswith("/") or (path.startswith("//") and not path.startswith("///")):
        raise ValueError("names no absolute path of a socket; write unix:/run/slurmrestd.sock")
    return url


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine is behind this name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


SlurmrestUrl = Annotated[str, AfterValidator(_checked)]
"""`https://HOST:PORT`, `unix:/PATH` or `http://` on loopback."""
