"""Ordinary downloads that give up quickly where there is no way out."""

from __future__ import annotations

import functools
import hashlib
import queue
import re
import tarfile
import threading
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from .commands import say

_PATIENCE = 5.0


@functools.cache
def reachable(host: str) -> bool:
    """Tell within five seconds whether a web server answers there, if need be through the proxy."""
    answer: queue.SimpleQueue[bool] = queue.SimpleQueue()
    # In a thread, since a resolver without an answer has a patience of its own.
    threading.Thread(target=lambda: answer.put(_answers(host)), daemon=True).start()
    try:
        return answer.get(timeout=_PATIENCE)
    except queue.Empty:
        return False


def _answers(host: str) -> bool:
    request = urllib.request.Request(f"https://{host}/", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE):
            return True
    except urllib.error.HTTPError:
        return True  # not found or not allowed, but said by a server
    except OSError:
        return False


def download(url: str, target: Path, checksum_url: str) -> bool:
    """Fetch a file whose published SHA-256 agrees; False where that can't be had."""
    host = urlsplit(url).hostname or ""
    if not reachable(host):
        return False
    part = target.with_suffix(".part")
    try:
        published = _read(checksum_url).decode()
        _save(url, part)
    except (OSError, ValueError):
        part.unlink(missing_ok=True)
        return False
    if hashlib.sha256(part.read_bytes()).hexdigest() not in _sums(published, target.name, url):
        say(f"{url}: the checksum is wrong, not used")
        part.unlink()
        return False
    part.rename(target)
    return True


def unpack_member(archive: Path, member: str, target: Path) -> None:
    """Take one file out of a .tar.gz."""
    with tarfile.open(archive) as tar:
        found = tar.extractfile(member)
        if found is None:
            raise OSError(f"{member} is not a file in {archive}")
        target.write_bytes(found.read())
    target.chmod(0o755)


def _read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_PATIENCE) as reply:
        data: bytes = reply.read()
    return data


def _save(url: str, part: Path) -> None:
    with urllib.request.urlopen(url, timeout=_PATIENCE) as reply, part.open("wb") as file:
        while block := reply.read(1 << 20):
            file.write(block)


def _sums(published: str, *names: str) -> list[str]:
    """Return the sums of a checksum file that may name many files."""
    wanted = {n.rsplit("/", 1)[-1] for n in names}
    found = []
    for line in published.splitlines():
        match = re.match(r"([0-9a-f]{64})(?:\s+\*?(\S+))?", line.strip())
        if match and (match[2] is None or match[2].rsplit("/", 1)[-1] in wanted):
            found.append(match[1])
    return found
