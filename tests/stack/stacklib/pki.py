"""The stack's own certificates and keys, made anew for every stack and good for a month."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .commands import output
from .engine import apt_install

_DAYS = "120"  # the operator's rotator replaces what ends within 90 days


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


def ensure_openssl() -> None:
    """Have the openssl command."""
    if not shutil.which("openssl"):
        apt_install("openssl", ["openssl"])


class Authority:
    """One CA; what must not trust one another gets one each."""

    def __init__(self, folder: Path, name: str, make_key: Callable[[Path], None] | None = None) -> None:
        self.folder = folder
        self.name = name
        folder.mkdir(parents=True, exist_ok=True)
        self.own = Pair(folder / f"{name}-ca.crt", folder / f"{name}-ca.key")
        (make_key or new_key)(self.own.key)
        output(
            [
                "openssl",
                "req",
                "-x509",
                "-new",
                "-sha256",
                "-days",
                _DAYS,
                "-key",
                str(self.own.key),
                "-subj",
                f"/O=slurm-k8s-bridge test stack/CN={name}-ca",
                "-addext",
                "basicConstraints=critical,CA:TRUE",
                "-addext",
                "keyUsage=critical,digitalSignature,keyCertSign,cRLSign",
                "-addext",
                f"subjectAltName=DNS:{name}-ca",
                "-out",
                str(self.own.certificate),
            ]
        )

    def issue(self, name: str, common_name: str, *, group: str = "", hosts: tuple[str, ...] = ()) -> Pair:
        """Issue a certificate for a client (no hosts) or a server."""
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        new_key(pair.key)
        subject = (f"/O={group}" if group else "") + f"/CN={common_name}"
        request = output(["openssl", "req", "-new", "-key", str(pair.key), "-subj", subject])
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(_extensions(hosts))
        output(
            [
                "openssl",
                "x509",
                "-req",
                "-sha256",
                "-days",
                _DAYS,
                "-CA",
                str(self.own.certificate),
                "-CAkey",
                str(self.own.key),
                "-set_serial",
                str(secrets.randbits(64)),
                "-extfile",
                str(extensions),
                "-out",
                str(pair.certificate),
            ],
            stdin=request.encode(),
        )
        extensions.unlink()
        return pair


def _extensions(hosts: tuple[str, ...]) -> str:
    usage = "serverAuth,clientAuth" if hosts else "clientAuth"
    text = (
        "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\n"
        f"extendedKeyUsage={usage}\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
    )
    names = ",".join(("IP:" if h.replace(".", "").isdigit() else "DNS:") + h for h in hosts)
    return text + (f"subjectAltName={names}\n" if names else "")


def new_key(path: Path) -> None:
    """Make a private key."""
    output(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(path)])
    path.chmod(0o600)


def new_rsa_key(path: Path) -> None:
    """Make a private key in the old form, for who reads no other."""
    output(["openssl", "genrsa", "-traditional", "-out", str(path), "2048"])
    path.chmod(0o600)


def public_key(private: Path, path: Path) -> None:
    """Write the public half of a key."""
    output(["openssl", "pkey", "-in", str(private), "-pubout", "-out", str(path)])
