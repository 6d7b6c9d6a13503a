"""The node's credential, read again when one of its files changes, without a restart."""

import logging
from contextlib import suppress
from pathlib import Path
from threading import Lock

import structlog

from bridge.errors import ConfigError, ForeignServer
from bridge.kube.library import Session
from bridge.kube.standing import Standing
from bridge.messages import bridged as messages

_log = structlog.get_logger(__name__)

_Mark = tuple[int, int, int, int]
_Fingerprint = tuple[_Mark | None, ...]


class Credentials:
    """A kubeconfig and the files it names: token, client certificate, key, CA bundle.

    Kubernetes' bound tokens live an hour and client certificates are replaced by others too: before each
    request the files are looked at (a few µs), and a change gives a new session with new connections,
    since a certificate belongs to its connection. While the new files cannot be read, the old ones serve.
    """

    def __init__(self, kubeconfig: Path, server: str = "", patient: bool = False) -> None:
        """``server``: the only API server that it may name, '' for any. Raises ConfigError when the kubeconfig cannot
        be used now, ForeignServer among them; ``patient``: not now, but from `session` until it can be used."""
        self._kubeconfig = kubeconfig
        self._server = server
        self._lock = Lock()
        self._session: Session | None = None
        self._unread = ""
        self._seen: _Fingerprint = ()
        try:
            self._session = self._read()
            self._seen = _fingerprint(self._session.files)
        except ConfigError as error:
            if not patient:
                raise
            self._complain(error)

    def session(self) -> Session:
        """The session of the files as they are now. Raises ConfigError while there was none that could be used."""
        with self._lock:
            if self._session is None or _fingerprint(self._session.files) != self._seen:
                return self._reload(self._session)
            return self._session

    def renew(self, refused: Session) -> Session:
        """Another session than the one whose credential the server refused."""
        with self._lock:
            if self._session is None or self._session is refused:
                return self._reload(self._session)
            return self._session

    def standing(self) -> Standing:
        """How the credential is that serves now."""
        with suppress(ConfigError):
            self.session()
        with self._lock:
            kind, life = ("", None) if self._session is None else (self._session.kind, self._session.life)
            return Standing(kind, life, self._unread)

    def close(self) -> None:
        with self._lock:
            if self._session is not None:
                self._session.close()

    def _read(self) -> Session:
        session = Session(self._kubeconfig)
        if self._server not in ("", session.host):
            session.close()
            told = messages.KUBECONFIG_FOREIGN.sentence(path=self._kubeconfig, server=session.host, own=self._server)
            raise ForeignServer(told)
        return session

    def _reload(self, old: Session | None) -> Session:
        before = () if old is None else _fingerprint(old.files)
        try:
            fresh = self._session = self._read()
        except ConfigError as error:
            self._complain(error)
            self._seen = before  # tried; the next change is tried again
            if old is None:
                raise
            return old
        # What the server refuses is read again at each request, most often with nothing new in it.
        level = logging.DEBUG if old is not None and before == self._seen else logging.INFO
        _log.log(level, "kube_credential_read", kubeconfig=str(self._kubeconfig))
        # A file that changed while it was read is caught by the next look.
        self._seen = before if before == _fingerprint(fresh.files) else ()
        self._unread = ""
        return fresh

    def _complain(self, error: ConfigError) -> None:
        if str(error) != self._unread:  # once, not at every request
            _log.warning("kube_credential_unreadable", error=str(error))
        self._unread = str(error)


def _fingerprint(files: tuple[Path, ...]) -> _Fingerprint:
    return tuple(_mark(file) for file in files)


def _mark(file: Path) -> _Mark | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino  # ctime: who may read it has changed, too
