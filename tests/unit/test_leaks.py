"""The search for secrets finds them: what a test of leaks that always passes would be worth."""

import base64
import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.integration.leaks import grep, pattern, told

KEY = bytes(range(200, 232))


def jwt() -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, {"exp": 1, "sun": "ml"})]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (*parts, os.urandom(32)))


def found(where: Path) -> list[str]:
    done = subprocess.run(grep(str(where)), input=pattern([KEY]).encode(), capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return told("here", done.stdout)


@pytest.mark.parametrize(
    "secret",
    [
        jwt().encode(),
        b'"error": "SLURM_JWT=' + b"a" * 20,
        b"-----BEGIN EC PRIVATE KEY-----\n",
        base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49"),
        base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49"),
        KEY,
        KEY.hex().encode(),
        base64.b64encode(KEY),
    ],
)
def test_a_secret_that_was_planted_is_found(tmp_path: Path, secret: bytes) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "log").write_bytes(b"\0\xff\n" + b"x" * 70_000 + b" token=" + secret + b" and so on\n")
    (complaint,) = found(tmp_path)
    assert complaint.startswith(f"here: {tmp_path}/deeper/log has a secret, ")
    assert len(complaint) < len(str(tmp_path)) + 60, "and is not told again"


def test_a_token_in_the_journal_is_found(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "journal.sqlite") as journal:
        journal.execute("create table line (body text)")
        journal.execute("insert into line values (?)", [json.dumps({"token": jwt()})])
    journal.close()
    assert len(found(tmp_path)) == 1


@pytest.mark.parametrize(
    "text", ["eyJhbGciOiJI and eyJleHAi", "SLURM_JWT=daemon", "scontrol token username=ml", "BEGIN CERTIFICATE"]
)
def test_what_is_no_secret_is_not_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "log").write_text(text)
    assert found(tmp_path) == []
