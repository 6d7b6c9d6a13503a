"""Nodes whose way to the API server is another: another kubeconfig, or a small proxy that a test commands."""

import base64
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .nodes import is_whole
from .stack import Stack, eventually

_KUBECONFIG = "/var/lib/slurm-k8s-bridge/credential/kubeconfig"
_KUBELETS = "/etc/kubernetes/kubelet.kubeconfig"
_HERE = "/run/detour"  # on the node
_ADDRESS = "https://127.0.0.1:16443"


@contextmanager
def kubeconfig(stack: Stack, node: str, change: Callable[[str], str]) -> Iterator[None]:
    """The kubeconfig of a node's daemon is another one, then its own again. Nothing is started anew for it."""
    stack.sh(node, f"cp -p {_KUBECONFIG} {_KUBECONFIG}.good")
    try:
        change_kubeconfig(stack, node, change)
        yield
    finally:
        stack.sh(node, f"mv {_KUBECONFIG}.good {_KUBECONFIG}")


def change_kubeconfig(stack: Stack, node: str, change: Callable[[str], str]) -> None:
    """The same within it: what is another already is one more other."""
    text = change(stack.exec(node, "cat", f"{_KUBECONFIG}.good"))
    words = ["install", "-m", "0600", "-o", "slurm-k8s-bridge", "/dev/stdin", f"{_KUBECONFIG}.new"]
    stack.exec(node, *words, stdin=text)
    stack.sh(node, f"mv {_KUBECONFIG}.new {_KUBECONFIG}")


def with_authority(text: str, certificate: str) -> str:
    """A kubeconfig that trusts this authority and no other."""
    return re.sub(r"(certificate-authority-data: *).*", rf"\g<1>{_base64(certificate)}", text)


def with_token(text: str, token: str) -> str:
    """A kubeconfig with another token."""
    return re.sub(r"(\btoken: *).*", rf"\g<1>{token}", text)


def with_client_certificate(text: str, certificate: str, key: str) -> str:
    """A kubeconfig with a client certificate in the place of its token."""
    pair = rf"\g<1>client-certificate-data: {_base64(certificate)}\n\g<1>client-key-data: {_base64(key)}"
    return re.sub(r"( *)token: *.*", pair, text)


def with_client(text: str, certificate: str, key: str) -> str:
    """An admin's kubeconfig, with another client in the admin's place."""
    content = json.loads(text)
    pair = {"client-certificate-data": _base64(certificate), "client-key-data": _base64(key)}
    return json.dumps(content | {"users": [content["users"][0] | {"user": pair}]})


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def authority(host: str) -> tuple[str, str]:
    """Certificate and key of a new authority, which is also the server of this address."""
    key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    words = ["req", "-x509", "-new", "-days", "1", "-key", "/dev/stdin", "-subj", "/CN=detour"]
    words += ["-addext", f"subjectAltName=IP:{host}", "-addext", "keyUsage=critical,digitalSignature,keyCertSign"]
    return openssl(*words, stdin=key), key


def client_pair(stack: Stack, name: str, days: int, group: str = "") -> tuple[str, str]:
    """Certificate and key of a client, by the cluster's own authority; of 0 days they have expired."""
    folder = Path(str(stack.description["run_dir"])) / "pki"
    key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    request = openssl(
        "req", "-new", "-key", "/dev/stdin", "-subj", f"{f'/O={group}' if group else ''}/CN={name}", stdin=key
    )
    signer = ["-CA", str(folder / "kubernetes-ca.crt"), "-CAkey", str(folder / "kubernetes-ca.key")]
    return openssl("x509", "-req", *signer, "-set_serial", "1", "-days", str(days), stdin=request), key


def openssl(*words: str, stdin: str = "") -> str:
    """What openssl prints."""
    return subprocess.run(["openssl", *words], check=True, capture_output=True, text=True, input=stdin).stdout


@dataclass(frozen=True)
class Detour:
    """The proxy of one node."""

    stack: Stack
    node: str

    def obeys(self, **rule: object) -> None:
        """From now on what its rule says (tests/stack/compute/detour.py), and nothing else."""
        script = f"rm -f {_HERE}/rule.met; cat > {_HERE}/rule.new && mv {_HERE}/rule.new {_HERE}/rule.json"
        self.stack.exec(self.node, "sh", "-c", script, stdin=json.dumps(rule))

    def shows(self, certificate: str, key: str) -> None:
        """From now on this certificate; what was begun under another one is cut."""
        text = certificate + key
        self.stack.exec(
            self.node, "sh", "-c", f"cat > {_HERE}/pair.new && mv {_HERE}/pair.new {_HERE}/pair.pem", stdin=text
        )
        self.obeys(shown=hash(text))

    def meets(self, seconds: float = 60) -> None:
        """Until a request has come under the rule that it obeys now."""
        look = f"cat {_HERE}/rule.met 2>/dev/null || true"
        eventually(lambda: self.stack.sh(self.node, look), seconds, f"a request of {self.node} by its detour")


@contextmanager
def detours(stack: Stack, *nodes: str) -> Iterator[list[Detour]]:
    """The daemons of these nodes reach the API server through a proxy of their own, which does nothing yet."""
    with ExitStack() as undone:
        for node in nodes:
            undone.enter_context(_daemons_detour(stack, node))
        yield [Detour(stack, node) for node in nodes]


@contextmanager
def _daemons_detour(stack: Stack, node: str) -> Iterator[None]:
    with (
        _proxy(stack, node) as certificate,
        kubeconfig(stack, node, lambda text: led(with_authority(text, certificate))),
    ):
        yield


def led(text: str) -> str:
    """A kubeconfig that leads to the proxy of its node."""
    return re.sub(r"(server: *).*", rf"\g<1>{_ADDRESS}", text)


@contextmanager
def kubelets_detour(stack: Stack, node: str) -> Iterator[Detour]:
    """The same for the kubelet of a node, which is started anew for it."""
    own = json.loads(stack.exec(node, "cat", _KUBELETS))
    user, cluster = own["users"][0]["user"], own["clusters"][0]
    client = "".join(base64.b64decode(user[f"client-{part}-data"]).decode() for part in ("certificate", "key"))
    with _proxy(stack, node, client) as certificate:
        way = {"server": _ADDRESS, "certificate-authority-data": _base64(certificate)}
        try:
            _restart_kubelet(stack, node, own | {"clusters": [cluster | {"cluster": way}]})
            yield Detour(stack, node)
        finally:
            _restart_kubelet(stack, node, own)


def _restart_kubelet(stack: Stack, node: str, kubeconfig: dict[str, Any]) -> None:
    """With this kubeconfig; until it has told anew how its node is, and that all of it is there."""
    before = _told_at(stack, node)
    stack.exec(node, "sh", "-c", f"cat > {_KUBELETS} && systemctl restart kubelet", stdin=json.dumps(kubeconfig))
    eventually(lambda: _told_at(stack, node) > before and is_whole(stack, node), 90, f"the kubelet of {node} anew")


def _told_at(stack: Stack, node: str) -> str:
    path = '{.status.conditions[?(@.type=="Ready")].lastHeartbeatTime}'
    return stack.kubectl("get", "node", node, "-o", f"jsonpath={path}")


@contextmanager
def _proxy(stack: Stack, node: str, client: str = "") -> Iterator[str]:
    """The proxy runs on a node, and does nothing yet; its certificate."""
    certificate, key = authority("127.0.0.1")
    program = ["python3", "/stack/compute/detour.py", f"{_HERE}/pair.pem", f"{_HERE}/rule.json"]
    try:
        stack.exec(node, "sh", "-c", f"mkdir -p -m 700 {_HERE}; cat > {_HERE}/pair.pem", stdin=certificate + key)
        if client:
            stack.exec(node, "sh", "-c", f"cat > {_HERE}/client.pem", stdin=client)
            program.append(f"{_HERE}/client.pem")
        Detour(stack, node).obeys()
        stack.exec(node, "systemd-run", "--quiet", "--collect", "--unit=detour", *program)
        yield certificate
    finally:
        stack.sh(node, f"systemctl stop detour; rm -rf {_HERE}")
