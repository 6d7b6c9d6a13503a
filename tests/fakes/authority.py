"""A certificate authority of a test's own, made by openssl."""

import subprocess
from pathlib import Path


def make_authority(directory: Path) -> None:
    """ca.pem, and server.pem and server.key for 127.0.0.1 signed by it."""
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    _openssl(directory, "req", "-x509", *new_key, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    _openssl(directory, "req", *new_key[:-2], "-subj", "/CN=it", "-keyout", "server.key", "-out", "server.csr")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1")
    _openssl(
        directory, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
        "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem",
    )  # fmt: skip


def _openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)
