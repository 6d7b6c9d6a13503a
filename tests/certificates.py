"""Certificates of any dates, made with openssl."""

import subprocess
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

_CONFIG = """
[ca]
default_ca = it
[it]
database = index.txt
unique_subject = no
rand_serial = yes
new_certs_dir = .
policy = any
[any]
organizationName = optional
commonName = supplied
"""
_CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
_AUTHORITY = ["-addext", "keyUsage=critical,keyCertSign"]
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Pair:
    """Certificate and key, as PEM."""

    certificate: str
    key: str


def new_authority(name: str = "ca") -> Pair:
    """A certificate that signs itself."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*_CURVE, "-days", "2", "-subj", f"/CN={name}", *_AUTHORITY, "-keyout", "key", "-out", "made"]
        _openssl(folder, "req", "-x509", *words)
        return Pair(Path(folder, "made").read_text(), Path(folder, "key").read_text())


@dataclass(frozen=True)
class Authority:
    """One that a test has made, or one that is there."""

    own: Pair = field(default_factory=new_authority)

    def issue(self, name: str = "it", begins: timedelta = -DAY, ends: timedelta = DAY, host: str = "127.0.0.1") -> Pair:
        """A certificate that is good between these two times, counted from now; of a server where there is a host."""
        with tempfile.TemporaryDirectory() as folder:
            files = {"ca.pem": self.own.certificate, "ca.key": self.own.key, "cnf": _CONFIG, "index.txt": ""}
            files["names"] = f"subjectAltName=IP:{host}" if host else "extendedKeyUsage=clientAuth"
            for file, text in files.items():
                Path(folder, file).write_text(text)
            _openssl(folder, "req", *_CURVE, "-subj", f"/CN={name}", "-keyout", "key", "-out", "csr")
            words = [
                "-config",
                "cnf",
                "-cert",
                "ca.pem",
                "-keyfile",
                "ca.key",
                "-in",
                "csr",
                "-out",
                "made",
                "-md",
                "sha256",
            ]
            dates = ["-startdate", _moment(begins), "-enddate", _moment(ends)]
            _openssl(folder, "ca", "-batch", "-notext", "-extfile", "names", *words, *dates)
            return Pair(Path(folder, "made").read_text(), Path(folder, "key").read_text())


def _moment(later: timedelta) -> str:
    return (datetime.now(UTC) + later).strftime("%Y%m%d%H%M%SZ")


def _openssl(folder: str, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
