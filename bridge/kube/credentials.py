"""The node's credential, read again when one of its files changes, without a restart."""

from pathlib import Path
from threading import Lock

import structlog

from bridge.errors import ConfigError, ForeignServer
from bridge.kube.library import Session
from bridge.messages import bridged as messages

_log = structlog.get_logger(__name__)

_Fingerprint = tuple[tuple[int, int, int] | None, ...]


class Credentials:
    """A kubeconfig and the files it names: token, client certificate, key, CA bundle.

    Kubernetes' bound tokens live an hour and client certificates are replaced by others too: before each
    request the files are looked at (a few µs), and a change gives a new session with new connections,
    since a certificate belongs to its connection. While the new files cannot be read, the old ones serve.
    """

    def __init__(self, kubeconfig: Path, server: str = "") -> None:
        """``server``: the only API server that it may name, '' for any. Raises ConfigError when the kubeconfig cannot
        be used now, ForeignServer among them."""
        self._kubeconfig = kubeconfig
        self._server = server
        self._lock = Lock()
        self._session = self._read()
        self._seen = _fingerprint(self._session.files)

    def session(self) -> Session:
        """The session of the files as they are now."""
        with self._lock:
            if _fingerprint(self._session.files) != self._seen:
                self._reload()
            return self._session

    def renew(self, refused: Session) -> Session:
        """Another session than the one whose credential the server refused."""
        with self._lock:
            if self._session is refused:
                self._reload()
            return self._session

    def close(self) -> None:
        with self._lock:
            self._session.close()

    def _read(self) -> Session:
        session = Session(self._kubeconfig)
        if self._server not in ("", session.host):
            session.close()
            told = messages.KUBECONFIG_FOREIGN.sentence(path=self._kubeconfig, server=session.host, own=self._server)
            raise ForeignServer(told)
        return session

    def _reload(self) -> None:
        before = _fingerprint(self._session.files)
        try:
            self._session = self._read()
        except ConfigError as error:
            _log.warning("kube_credential_unreadable", error=str(error))
            self._seen = before  # tried; the next change is tried again
            return
        # A file that changed while it was read is caught by the next look.
        self._seen = before if before == _fingerprint(self._session.files) else ()
        _log.info("kube_credential_read", kubeconfig=str(self._kubeconfig))


def _fingerprint(files: tuple[Path, ...]) -> _Fingerprint:
    return tuple(_mark(file) for file in files)


def _mark(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
