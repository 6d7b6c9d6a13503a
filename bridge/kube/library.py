"""The only module that imports the `kubernetes` package: kubeconfig, authentication and connection pool.

No typed API and no model is ever touched: they are pulled in lazily and cost 20 MB and 0.4 s, and a typed
answer can raise pydantic's ValidationError. Importing the package itself costs about 0.2 s and 43 MB.
"""

from pathlib import Path
from threading import Lock
from typing import Any

import urllib3
import yaml
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from bridge.errors import ConfigError
from bridge.kube.kubeconfig import claims
from bridge.kube.lifetimes import Life, of_certificate, of_token
from bridge.messages.bridged import KUBECONFIG_UNUSABLE

Response = urllib3.BaseHTTPResponse
Timeout = float | tuple[float, float]  # all of a request, or (connecting, each read)

TRANSPORT_ERRORS = (urllib3.exceptions.HTTPError, ApiException, OSError)
"""Everything that the library raises for a request that got no answer (ApiException stands for TLS there)."""

_POOL_SIZE = 8  # idle connections kept; streams come on top and are never given back
_PROBES = (5, 2, 3)
"""TCP keepalive: seconds without a word until the peer is probed, between two probes, and how many may go unanswered.
A dead peer is noticed on an idle watch (the library's issue 1402), and on a log before `attach` gives up what is to
come: a server that is killed while it has more to send than is taken leaves no word of its end behind."""
_UNUSABLE = (ConfigException, yaml.YAMLError, OSError, AttributeError, KeyError, TypeError, ValueError)


class Session:
    """A kubeconfig as it was when it was read: the address, the credential and a pool of connections.

    ``files`` are all files that went into it, ``node`` is the Node that its token is bound to or '', ``kind`` and
    ``life`` are the credential's, as `standing.Standing` has them. The pool closes its connections when nobody holds it
    any more.
    """

    def __init__(self, kubeconfig: Path) -> None:
        """Raises ConfigError naming the file and what is wrong with it."""
        try:
            content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
            token, token_file = _take_token(content, kubeconfig.parent)
            self._bearer = _bearer(token_file.read_text(encoding="ascii") if token_file else token)
            self.node = _claimed(self._bearer)
            self._configuration = _configuration(content, kubeconfig.parent)
            self.kind, self.life = _credential(self._bearer, self._configuration.cert_file)
        except _UNUSABLE as error:
            raise ConfigError(KUBECONFIG_UNUSABLE.sentence(path=kubeconfig, why=_cause(error))) from None
        self._rest = RESTClientObject(self._configuration)
        self._lock = Lock()
        self.host: str = self._configuration.host
        tls = (self._configuration.ssl_ca_cert, self._configuration.cert_file, self._configuration.key_file)
        named = [Path(name) for name in tls if name]
        self.files: tuple[Path, ...] = (kubeconfig, *([token_file] if token_file else []), *named)

    def __repr__(self) -> str:
        return f"Session({self.host!r})"

    def send(self, method: str, path: str, headers: dict[str, str], body: Any, timeout: Timeout) -> Response:
        """The answer, its body not yet read. Raises one of TRANSPORT_ERRORS."""
        authorization = self._authorization()
        if authorization:
            headers = {**headers, "Authorization": authorization}
        answer = self._rest.request(method, self.host + path, headers, body, _request_timeout=timeout)
        response: Response = answer.response
        return response

    def close(self) -> None:
        """Closes the idle connections."""
        self._rest.close()

    def _authorization(self) -> str:
        if self._bearer:
            return self._bearer
        with self._lock:  # an exec plugin may be run here, when what it gave has expired
            return self._configuration.get_api_key_with_prefix("BearerToken") or ""


def _credential(bearer: str, certificate: str | None) -> tuple[str, Life | None]:
    """What it is and how long it lives, '' where a plugin gives it or nobody does."""
    if bearer:
        return "token", of_token(bearer)
    if certificate:
        return "client certificate", of_certificate(Path(certificate).read_bytes())
    return "", None


def _claimed(bearer: str) -> str:
    """The Node that a token is bound to."""
    try:
        return claims(bearer).node
    except ValueError:
        return ""


def _take_token(content: dict[str, Any], base: Path) -> tuple[str, Path | None]:
    """Takes the current user's token out of the kubeconfig: inline, or the file that has it.

    The library reads a tokenFile once, keeps its final newline and prefers an inline token to it; client-go
    trims it, reads it again and prefers it.
    """
    context = _named(content["contexts"], content["current-context"])["context"]
    user = _named(content.get("users") or [], context.get("user")).get("user") or {}
    token, token_file = user.pop("token", None), user.pop("tokenFile", None)
    return token or "", base / token_file if token_file else None


def _cause(error: Exception) -> str:
    """What is wrong, without a word of the file's content: PyYAML quotes the line, which may be the token."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1} is not YAML"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error)


def _named(entries: list[dict[str, Any]], name: Any) -> dict[str, Any]:
    return next((entry for entry in entries if entry.get("name") == name), {})


def _configuration(content: dict[str, Any], base: Path) -> Any:
    # Empty, not None: with None the library lets HTTPS_PROXY and friends divert the calls. A proxy-url
    # of the kubeconfig is still obeyed.
    configuration = Configuration(proxy="", no_proxy="", connection_pool_maxsize=_POOL_SIZE)
    configuration.retries = False  # urllib3 would retry by itself, three times and past our deadline
    configuration.socket_options = tcp_keepalive_socket_options(*_PROBES)
    KubeConfigLoader(config_dict=content, config_base_path=str(base)).load_and_set(configuration)
    return configuration


def _bearer(token: str) -> str:
    """The header's value. A token with white space inside would be quoted by http.client's exception."""
    words = token.split()
    if len(words) > 1:
        raise ValueError("the token has white space in it")
    return f"Bearer {words[0]}" if words else ""
