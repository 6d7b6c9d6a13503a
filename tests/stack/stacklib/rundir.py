"""What each container of this stack gets to see: only its own certificates, keys and settings."""

from __future__ import annotations

import base64
import json
import secrets
import shutil
from pathlib import Path

from .network import Addresses
from .pki import Authority, Pair, new_key, new_rsa_key, public_key
from .places import NODES, PULLED, run_dir

_IN_NETWORK = "https://kube-apiserver:6443"
_PULLED = " ".join(f"registry:5000/skb/{name}:1" for name in PULLED)
_WEBHOOK = "training-operator.kubeflow.svc"


class RunDir:
    """Writes the folder of a new stack."""

    def __init__(self, addresses: Addresses) -> None:
        self.root = run_dir()
        self.addresses = addresses
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        self.root.chmod(0o700)
        self.kube = Authority(self.root / "pki", "kubernetes")
        self.etcd = Authority(self.root / "pki", "etcd")
        self.rest = Authority(self.root / "pki", "slurmrestd")
        self.webhook = Authority(self.root / "pki", "training-operator", new_rsa_key)

    def write(self) -> None:
        """Write everything that the containers mount."""
        (self.root / "audit").mkdir()
        self._etcd_and_apiserver()
        self._controllers()
        self._operator()
        self._slurm()
        for name in NODES:
            self._compute(name)
        self._login()

    def _folder(self, *parts: str) -> Path:
        folder = self.root.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        return folder

    def _etcd_and_apiserver(self) -> None:
        etcd = self._folder("services", "etcd")
        api = self._folder("services", "kube-apiserver")
        _put(self.etcd.issue("etcd", "etcd", hosts=("etcd", "localhost", "127.0.0.1")), etcd, "etcd")
        _put(self.etcd.issue("etcd-client", "kube-apiserver"), api, "etcd-client")
        for folder in (etcd, api):
            shutil.copy2(self.etcd.own.certificate, folder / "etcd-ca.crt")
        hosts = (
            "kube-apiserver",
            "localhost",
            "127.0.0.1",
            self.addresses.apiserver,
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "10.96.0.1",
        )
        _put(self.kube.issue("apiserver", "kube-apiserver", hosts=hosts), api, "apiserver")
        _put(self.kube.issue("kubelet-client", "stack:apiserver"), api, "kubelet-client")
        shutil.copy2(self.kube.own.certificate, api / "ca.crt")
        new_key(api / "service-account.key")
        public_key(api / "service-account.key", api / "service-account.pub")

    def _controllers(self) -> None:
        manager = self._folder("services", "kube-controller-manager")
        self._kubeconfig(manager / "kubeconfig", "system:kube-controller-manager")
        shutil.copy2(self.root / "services" / "kube-apiserver" / "service-account.key", manager)
        _put(self.kube.own, manager, "ca")
        self._kubeconfig(self._folder("services", "kube-scheduler") / "kubeconfig", "system:kube-scheduler")
        self._kubeconfig(self._folder("services", "coredns") / "coredns.kubeconfig", "stack:coredns")
        self._kubeconfig(self._folder("services", "kwok") / "kubeconfig", "stack:kwok", group="system:masters")
        self._kubeconfig(
            self.root / "admin.kubeconfig", "stack:admin", group="system:masters", server=self.addresses.apiserver_url
        )

    def _operator(self) -> None:
        folder = self._folder("services", "training-operator")
        self._kubeconfig(folder / "kubeconfig", "stack:training-operator")
        pair = self.webhook.issue("webhook", _WEBHOOK, hosts=(_WEBHOOK,))
        # The operator keeps a Secret of this shape and makes one where it finds none; a valid one
        # stays as it is (if its CA is named so and has an RSA key), so the API server can know the CA from the start.
        (folder / "webhook").mkdir()
        shutil.copy2(pair.certificate, folder / "webhook" / "tls.crt")
        shutil.copy2(pair.key, folder / "webhook" / "tls.key")
        data = {
            "tls.crt": pair.certificate,
            "tls.key": pair.key,
            "ca.crt": self.webhook.own.certificate,
            "ca.key": self.webhook.own.key,
        }
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "training-operator-webhook-cert", "namespace": "kubeflow"},
            "data": {name: _base64(file) for name, file in data.items()},
        }
        (self.root / "webhook.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret, self._webhook_configuration()]})
        )

    def _webhook_configuration(self) -> dict[str, object]:
        url = f"https://{_WEBHOOK}:9443/validate-kubeflow-org-v1-pytorchjob"
        rule = {
            "apiGroups": ["kubeflow.org"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["pytorchjobs"],
        }
        hook = {
            "name": "validator.pytorchjob.training-operator.kubeflow.org",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": {"url": url, "caBundle": _base64(self.webhook.own.certificate)},
            "rules": [rule],
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validator.training-operator.kubeflow.org"},
            "webhooks": [hook],
        }

    def _slurm(self) -> None:
        keys = self._folder("keys")
        _secret(keys / "munge.key", secrets.token_bytes(1024))
        _secret(keys / "jwt_hs256.key", secrets.token_bytes(32))
        _secret(keys / "db-password", secrets.token_hex(16).encode())
        wanted = {
            "db": ("db-password",),
            "slurmdbd": ("db-password", "munge.key", "jwt_hs256.key"),
            "slurmctld": ("munge.key", "jwt_hs256.key"),
            "slurmrestd": (),
        }
        for service, names in wanted.items():
            folder = self._folder("services", service)
            for name in names:
                shutil.copy2(keys / name, folder)
        rest = self._folder("services", "slurmrestd")
        _put(self.rest.issue("slurmrestd", "slurmrestd", hosts=("slurmrestd",)), rest, "slurmrestd")
        shutil.copy2(self.rest.own.certificate, rest / "slurmrestd-ca.pem")

    def _member(self, name: str) -> Path:
        folder = self._folder("nodes", name)
        shutil.copy2(self.root / "keys" / "munge.key", self._folder("nodes", name, "secrets"))
        shutil.copy2(self.rest.own.certificate, folder / "slurmrestd-ca.pem")
        return folder

    def _compute(self, name: str) -> None:
        folder = self._member(name)
        kubernetes = self._folder("nodes", name, "kubernetes")
        self._kubeconfig(kubernetes / "kubelet.kubeconfig", f"system:node:{name}", group="system:nodes")
        hosts = (name, self.addresses.node(name))
        _put(self.kube.issue(f"kubelet-{name}", name, hosts=hosts), kubernetes, "kubelet")
        shutil.copy2(self.kube.own.certificate, kubernetes / "ca.crt")
        others = " ".join(f"{self.addresses.pods(o)},{self.addresses.node(o)}" for o in NODES if o != name)
        (folder / "node.env").write_text(
            f"NODE_IP={self.addresses.node(name)}\nPOD_SUBNET={self.addresses.pods(name)}\n"
            f'POD_NETWORK={self.addresses.pod_network}\nOTHER_ROUTES="{others}"\n'
            f'CLUSTER_DNS={self.addresses.dns}\nIMAGES="{_PULLED}"\n'
        )

    def _login(self) -> None:
        folder = self._member("login")
        self._kubeconfig(folder / "admin.kubeconfig", "stack:admin", group="system:masters")

    def _kubeconfig(self, path: Path, user: str, *, group: str = "", server: str = _IN_NETWORK) -> None:
        pair = self.kube.issue(user.replace(":", "-"), user, group=group)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "stack",
            "clusters": [
                {
                    "name": "stack",
                    "cluster": {"server": server, "certificate-authority-data": _base64(self.kube.own.certificate)},
                }
            ],
            "users": [
                {
                    "name": user,
                    "user": {
                        "client-certificate-data": _base64(pair.certificate),
                        "client-key-data": _base64(pair.key),
                    },
                }
            ],
            "contexts": [{"name": "stack", "context": {"cluster": "stack", "user": user}}],
        }
        _secret(path, json.dumps(config, indent=1).encode())


def _put(pair: Pair, folder: Path, name: str) -> None:
    shutil.copy2(pair.certificate, folder / f"{name}.crt")
    shutil.copy2(pair.key, folder / f"{name}.key")


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


def _secret(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)
