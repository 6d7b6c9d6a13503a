"""Who works on a node is listened to for as long as he works."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.chaos.hands import Agent

_ECHO = "import sys\nfor line in sys.stdin: print('{\"heard\": \"' + line.strip() + '\"}', flush=True)"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """Says back what it is told."""
    command = [sys.executable, "-c", _ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as echo:
        yield echo


def test_what_it_says_is_heard(process: subprocess.Popen[str]) -> None:
    heard: list[object] = []
    agent = Agent(process, heard.append)
    agent.say("arm", "a", "b")
    agent.end()
    assert heard == [{"heard": "arm a b"}]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # is what this is about
def test_it_is_told_nothing_any_more_when_nobody_listens(process: subprocess.Popen[str]) -> None:
    """Its node would seem to do nothing, and each law find fault with that."""

    def stumble(_said: object) -> None:
        raise ValueError("a fault of the harness")

    agent = Agent(process, stumble)
    agent.say("arm")
    agent._reader.join()
    with pytest.raises(RuntimeError, match="listened"):
        agent.say("disarm")
    agent.end()
