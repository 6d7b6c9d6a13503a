"""The site's own token, and what keeps it from being used."""

import os
from pathlib import Path

import pytest

from bridge.config.servers import Slurmrest
from bridge.errors import ConfigError
from bridge.slurmrest.api import Credential
from bridge.slurmrest.service import ServiceToken, service_token


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("text", ["a.b.c", "a.b.c\n", "SLURM_JWT=a.b.c\n"])
def test_it_is_taken_as_scontrol_prints_it(tmp_path: Path, text: str) -> None:
    assert ServiceToken("op", written(tmp_path / "token", text)).credential() == Credential("op", "a.b.c")


def test_it_is_read_anew_for_every_use(tmp_path: Path) -> None:
    token = ServiceToken("op", written(tmp_path / "token", "old"))
    assert token.credential().token == "old"
    written(tmp_path / "token", "new")
    assert token.credential().token == "new"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_token_that_others_may_read_is_not_used(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ConfigError, match="mode 0600") as raised:
        ServiceToken("op", written(tmp_path / "token", "sesame", mode)).credential()
    assert "sesame" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "\n", "SLURM_JWT=", "two words", "a\nb", "sés", "x" * 9000, "x" * 10**6])
def test_what_cannot_be_a_token_is_not_used(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="holds no token"):
        ServiceToken("op", written(tmp_path / "token", text)).credential()


def test_a_missing_file_and_one_that_never_ends(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        ServiceToken("op", tmp_path / "none").credential()
    os.mkfifo(tmp_path / "fifo", 0o600)
    with pytest.raises(ConfigError, match="no regular file"):
        ServiceToken("op", tmp_path / "fifo").credential()


def test_only_the_tiers_that_need_one_have_one() -> None:
    url = "https://slurmrestd:6820"
    assert service_token(Slurmrest(url=url)) is None
    assert not Slurmrest(url=url).has_service
    given = Slurmrest(url=url, tier="service", service_user="op", service_token_file=Path("/t"))
    assert given.has_service
    assert service_token(given) is not None
