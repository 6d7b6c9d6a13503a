"""The connections to slurmrestd: over TLS, a socket of this node, or loopback, as `config.address` lets it."""

import ssl
import threading
from pathlib import Path

import httpx
import structlog

from bridge.config.address import socket_path
from bridge.config.servers import Slurmrest
from bridge.errors import ConfigError
from bridge.messages.bridged import CA_UNUSABLE

_log = structlog.get_logger(__name__)

Stamp = tuple[int, int, int]  # what of a file changes with what it holds


class Way:
    """Safe to use from many threads. A new CA file holds from the next request on: whoever renews it restarts no
    daemon for it."""

    def __init__(self, config: Slurmrest, transport: httpx.BaseTransport | None = None) -> None:
        """``transport`` replaces the network. Raises ConfigError when the CA file cannot be used."""
        self._socket = socket_path(config.url)
        self.shown = config.url.rstrip("/")
        self.base = self.shown if self._socket is None else "http://localhost"
        self._ca_file = config.ca_file if config.url.startswith("https:") else None
        self._transport = transport
        self._lock = threading.Lock()
        self._stamp = _stamp(self._ca_file)
        self._http = self._made(_tls(self._ca_file))

    def http(self) -> httpx.Client:
        """The client for the next request."""
        stamp = _stamp(self._ca_file)
        with self._lock:
            if stamp != self._stamp:
                self._stamp = stamp
                self._renew()
            return self._http

    def close(self) -> None:
        self._http.close()

    def _renew(self) -> None:
        """What is under way goes on over the old client, which nobody closes."""
        try:
            self._http = self._made(_tls(self._ca_file))
        except ConfigError as error:
            _log.warning("ca_file_kept", error=str(error))
        else:
            _log.info("ca_file_renewed", path=str(self._ca_file))

    def _made(self, tls: ssl.SSLContext) -> httpx.Client:
        transport = self._transport
        if transport is None and self._socket is not None:
            transport = httpx.HTTPTransport(uds=self._socket)
        # trust_env: a proxy or a .netrc of the environment must not get our tokens.
        return httpx.Client(verify=tls, trust_env=False, transport=transport)


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    """The system's authorities where no CA file is given; httpx would take certifi's."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(CA_UNUSABLE.sentence(path=ca_file, why=error)) from error


def _stamp(path: Path | None) -> Stamp | None:
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
