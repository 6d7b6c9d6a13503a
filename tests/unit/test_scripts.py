"""What the installing scripts say: each message with a name, a cause, a consequence and a cure."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from bridge.job.faults import TABLE
from bridge.messages.pages import MESSAGES

ROOT = Path(__file__).parents[2]
SCRIPTS = ["packaging/install.sh", "packaging/setup", "rbac/namespace"]


def told(script: str) -> list[list[str]]:
    """The words of every `tell` in a script."""
    text = (ROOT / script).read_text().replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if re.match(r" *tell [a-z]", line)]


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_message_is_whole(script: str) -> None:
    for name, *parts in told(script):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)
        assert len(parts) == 3 and all(len(part.split()) > 1 or part.startswith("$") for part in parts), name
    assert len(told(script)) >= 2


@pytest.mark.parametrize("script", SCRIPTS)
def test_nothing_is_said_beside_them(script: str) -> None:
    speaking = [line.strip() for line in (ROOT / script).read_text().splitlines() if ">&2" in line]
    assert len(speaking) == 1 and speaking[0].endswith(': $2 [$1]; $3; $4" >&2')


def test_their_names_are_nobody_elses() -> None:
    names = [words[0] for script in SCRIPTS for words in told(script)]
    others = {message.name for message in MESSAGES} | {row.name for row in TABLE}
    assert sorted(set(names)) == sorted(names) and not others & set(names)


def said(path: str, *words: str, code: int) -> str:
    done = subprocess.run(
        [ROOT / path, *words], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"}, timeout=60
    )
    assert done.returncode == code and done.stdout == ""
    return done.stderr.strip().splitlines()[-1]


def test_a_namespace_is_asked_for_by_a_good_name() -> None:
    assert "[namespace-name]; nothing is printed; give them as in: " in said("rbac/namespace", "Two Words", code=64)
    assert "open is no level of Pod Security" in said("rbac/namespace", "jobs", "open", code=64)


def test_an_installation_that_stops_says_what_that_means(tmp_path: Path) -> None:
    (tmp_path / "usr").write_text("no directory")
    assert "[install-stopped]; this node may have parts of two versions; " in said(
        "packaging/install.sh", str(tmp_path), code=1
    )
