"""How this machine reaches packages, handed on to the images that are built on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from .commands import output
from .errors import StackError

_MIRROR = "http://deb.debian.org/debian"
_SECURITY = "http://deb.debian.org/debian-security"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_HANDED_ON = re.compile(r"^Acquire::(https?::[^ ]*Proxy[^ ]*|ftp::Proxy|Check-Valid-Until|Check-Date) ", re.I)


def write_host_settings(folder: Path, suite: str) -> None:
    """Write apt's settings, sources and the certificates of this machine into a build context."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "apt.conf").write_text(_apt_settings())
    mirror = debian_mirror()
    security = _first_uri(lambda uri: uri.endswith("/debian-security")) or _SECURITY
    (folder / "sources.list").write_text(
        f"deb {mirror} {suite} main\ndeb {mirror} {suite}-updates main\ndeb {security} {suite}-security main\n"
    )
    certificates = _CERTIFICATES.read_bytes() if _CERTIFICATES.exists() else b""
    (folder / "ca-certificates.crt").write_bytes(certificates)


def debian_mirror() -> str:
    """Return the Debian mirror that this machine uses itself, else Debian's own."""
    return _first_uri(lambda uri: uri.endswith("/debian")) or _MIRROR


def _apt_settings() -> str:
    try:
        lines = output(["apt-config", "dump"]).splitlines()
    except (OSError, StackError):
        return ""
    return "".join(line + "\n" for line in lines if _HANDED_ON.match(line))


def _first_uri(wanted: Callable[[str], bool]) -> str:
    for file in sorted([Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]):
        if file.suffix not in (".list", ".sources") or not file.is_file():
            continue
        for uri in re.findall(r"^(?:URIs:|deb(?:\s+\[[^]]*\])?)\s+(https?://\S+)", file.read_text(), re.M):
            found = str(uri).rstrip("/")
            if wanted(found):
                return found
    return ""
