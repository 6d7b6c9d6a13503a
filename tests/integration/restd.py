"""slurmrestd in another way than the stack's own: on a socket of a node, and with another certificate or authority."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .detours import openssl
from .stack import Stack, eventually

ADDRESS = "unix:/run/restd/rest.sock"
_CA_FILE = "/etc/slurm-k8s-bridge/slurmrestd-ca.pem"
_PAIR = "/run/slurmrestd.pem"
_PARTS = ("/usr/sbin/slurmrestd", "/usr/lib/x86_64-linux-gnu/libhttp_parser.so.2.9")
# As an account that is nobody else's there; whoever connects brings a token, so everybody may.
_UNIT = ["--unit=restd", "-p", "User=backup", "-p", "RuntimeDirectory=restd", "-p", "UMask=0000"]
_ENVIRONMENT = ["-E", "SLURM_JWT=daemon", "-E", "SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files"]


@contextmanager
def on_a_socket(stack: Stack, node: str) -> Iterator[None]:
    """slurmrestd of the same version runs on this node, and listens on a socket there and nowhere else."""
    serve = ["/usr/local/sbin/slurmrestd", "-a", "rest_auth/jwt", "-s", "slurmctld", "-d", "v0.0.42", ADDRESS]
    try:
        with tempfile.TemporaryDirectory() as folder:
            for part in _PARTS:
                _copied(f"{stack.container('slurmrestd')}:{part}", f"{folder}/part")
                _copied(f"{folder}/part", f"{stack.container(node)}:{_place(part)}")
        stack.exec(node, "ldconfig")
        stack.exec(node, "systemd-run", "--quiet", "--collect", *_UNIT, *_ENVIRONMENT, *serve)
        eventually(lambda: stack.sh(node, "ls /run/restd/rest.sock || true"), 30, "slurmrestd on its socket")
        yield
    finally:
        stack.sh(node, f"systemctl stop restd; rm -f {' '.join(map(_place, _PARTS))}; ldconfig", check=False)


def _place(part: str) -> str:
    return part if part.endswith(".so.2.9") else "/usr/local/sbin/slurmrestd"


def _copied(what: str, where: str) -> None:
    subprocess.run(["docker", "cp", "--follow-link", what, where], check=True, capture_output=True)


@contextmanager
def another_authority(stack: Stack, node: str) -> Iterator[None]:
    """This node trusts an authority that is not slurmrestd's."""
    folder = Path(str(stack.description["run_dir"])) / "pki"
    before = stack.exec(node, "cat", _CA_FILE)
    stack.exec(node, "sh", "-c", f"cat > {_CA_FILE}", stdin=(folder / "kubernetes-ca.crt").read_text())
    try:
        yield
    finally:
        stack.exec(node, "sh", "-c", f"cat > {_CA_FILE}", stdin=before)


@contextmanager
def expired_certificate(stack: Stack) -> Iterator[None]:
    """The TLS in front of slurmrestd has a certificate of its own authority that has expired."""
    before = stack.exec("slurmrestd", "cat", _PAIR)
    _serve_with(stack, _server_pair(stack, days=0))
    try:
        yield
    finally:
        _serve_with(stack, before)


def _server_pair(stack: Stack, days: int) -> str:
    folder = Path(str(stack.description["run_dir"])) / "pki"
    key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    names = ["-addext", "subjectAltName=DNS:slurmrestd"]
    request = openssl("req", "-new", "-key", "/dev/stdin", "-subj", "/CN=slurmrestd", *names, stdin=key)
    signer = ["-CA", str(folder / "slurmrestd-ca.crt"), "-CAkey", str(folder / "slurmrestd-ca.key")]
    words = ["x509", "-req", *signer, "-set_serial", "1", "-days", str(days), "-copy_extensions", "copyall"]
    return openssl(*words, stdin=request) + key


def _serve_with(stack: Stack, pair: str) -> None:
    """haproxy takes it up without a break (USR2)."""
    stack.exec("slurmrestd", "sh", "-c", f"cat > {_PAIR} && kill -USR2 $(pgrep -o haproxy)", stdin=pair)
    shown = "openssl s_client -connect slurmrestd:6820 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint"
    wanted = openssl("x509", "-noout", "-fingerprint", stdin=pair)
    eventually(lambda: stack.sh("slurmrestd", shown, check=False) == wanted, 30, "another certificate of slurmrestd")
