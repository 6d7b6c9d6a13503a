"""A node's kubeconfig: written at its enrolment, and written anew with each token."""

import base64
import binascii
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bridge import wellknown
from bridge.errors import ConfigError
from bridge.messages import bridgectl as messages

_USER = wellknown.ACCOUNTS
_CLUSTER = "kubernetes"
_UNUSABLE = (yaml.YAMLError, OSError, LookupError, TypeError, ValueError, AttributeError, StopIteration)


@dataclass(frozen=True)
class Claims:
    """What a token says of itself: its account, the Node that it is bound to, and its life in epoch seconds."""

    account: str
    node: str
    uid: str
    issued: int
    expires: int

    def is_due(self, now: float) -> bool:
        """Half of its life is over; also where this machine's clock is not within it, since nobody knows then."""
        return not self.issued <= now < self.issued + (self.expires - self.issued) / 2


def claims(token: str) -> Claims:
    """Raises ValueError for what is no token bound to a Node. Nothing is verified: the API server does that."""
    try:
        payload = token.split(".")[1]
        told = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        node, account = told["kubernetes.io"]["node"], told["kubernetes.io"]["serviceaccount"]["name"]
        return Claims(str(account), str(node["name"]), str(node["uid"]), int(told["iat"]), int(told["exp"]))
    except (LookupError, TypeError, binascii.Error) as error:
        raise ValueError(str(error)) from None


def address(kubeconfig: Path) -> tuple[str, str]:
    """Server and CA bundle (base64, '' where there is none) of the current context."""
    try:
        content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        context = _entry(content["contexts"], content["current-context"])["context"]
        cluster = _entry(content["clusters"], context["cluster"])["cluster"]
        data = cluster.get("certificate-authority-data") or ""
        if not data and cluster.get("certificate-authority"):
            data = base64.b64encode((kubeconfig.parent / cluster["certificate-authority"]).read_bytes()).decode()
        return str(cluster["server"]), str(data)
    except _UNUSABLE:
        raise ConfigError(messages.KUBECONFIG_WITHOUT_CLUSTER.sentence(path=kubeconfig)) from None


def bearer(kubeconfig: Path) -> Claims:
    """Of the token in it. Raises ConfigError where there is none that is bound to a Node."""
    try:
        content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        context = _entry(content["contexts"], content["current-context"])["context"]
        return claims(str(_entry(content["users"], context["user"])["user"]["token"]))
    except _UNUSABLE:
        raise ConfigError(messages.NOTHING_TO_RENEW.sentence(path=kubeconfig)) from None


def written(server: str, authority: str, token: str) -> str:
    """The text of a node's kubeconfig."""
    cluster = {"server": server} | ({"certificate-authority-data": authority} if authority else {})
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _CLUSTER, "cluster": cluster}],
        "users": [{"name": _USER, "user": {"token": token}}],
        "contexts": [{"name": _USER, "context": {"cluster": _CLUSTER, "user": _USER}}],
        "current-context": _USER,
    }
    return yaml.safe_dump(content, sort_keys=False, width=1 << 20)


def replace(path: Path, text: str) -> None:
    """Readable by its owner alone, and never half there: whoever reads it meanwhile reads the old one."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise ConfigError(messages.KUBECONFIG_UNWRITTEN.sentence(path=path, why=error.strerror)) from None


def _entry(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)
