"""The site's own token: an operator's or an administrator's, in a file that only the daemon's user may read."""

import os
import re
import stat
from pathlib import Path

from bridge.config.servers import Slurmrest
from bridge.errors import ConfigError
from bridge.messages import bridged as messages
from bridge.slurmrest.api import Credential

_LIMIT = 8192  # bytes
_NAME = "SLURM_JWT="  # what `scontrol token` writes before it
_TOKEN = re.compile(r"[\x21-\x7e]+")


class ServiceToken:
    """Read anew for every use: such tokens are short-lived, and whoever renews one restarts no daemon for it."""

    def __init__(self, user: str, file: Path) -> None:
        """``user``: Slurm's name of whose token ``file`` holds."""
        self._user = user
        self._file = file

    def credential(self) -> Credential:
        """The token as it is in the file now. Raises ConfigError with the cure when there is none to be used."""
        try:
            text = _private_text(self._file)
        except OSError as error:
            raise ConfigError(messages.SERVICE_TOKEN_UNREADABLE.sentence(path=self._file, why=error)) from error
        token = text.strip().removeprefix(_NAME)
        if len(token) > _LIMIT or not _TOKEN.fullmatch(token):
            raise ConfigError(messages.SERVICE_TOKEN_EMPTY.sentence(path=self._file))
        return Credential(self._user, token)


def service_token(config: Slurmrest) -> ServiceToken | None:
    """The token that this site has given the bridge; None in tier owner."""
    if config.service_user is None or config.service_token_file is None:
        return None
    return ServiceToken(config.service_user, config.service_token_file)


def _private_text(path: Path) -> str:
    # Not blocking: a FIFO in its place would hold up every run.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(messages.SERVICE_TOKEN_UNREADABLE.sentence(path=path, why="no regular file"))
        if found.st_mode & 0o077:
            raise ConfigError(messages.SERVICE_TOKEN_OPEN.sentence(path=path))
        return os.read(descriptor, 2 * _LIMIT).decode("ascii", "replace")
    finally:
        os.close(descriptor)
