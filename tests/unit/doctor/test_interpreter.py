"""The interpreters."""

from pathlib import Path

import pytest

from bridge.doctor.checks import interpreter
from bridge.doctor.checks.interpreter import CHECK, DAEMON, HOOK, Interpreter
from bridge.errors import BridgeError

from .given import Somewhere, judged


@pytest.mark.parametrize(
    ("daemon", "hook", "names"),
    [
        ("3.11.2", "3.6.8", []),
        ("3.13.0rc1", "3.13.0", []),
        ("3.9.18", "3.6.8", ["python-old"]),
        ("3.11.2", "3.5.10", ["python-old"]),
        ("", "nonsense", ["python-unusable"] * 2),
    ],
)
def test_each_is_new_enough(daemon: str, hook: str, names: list[str]) -> None:
    assert judged(CHECK, (Interpreter(DAEMON, daemon), Interpreter(HOOK, hook))) == names


def test_it_is_asked_with_what_it_has_to_import(tmp_path: Path) -> None:
    place = Somewhere(tmp_path)
    daemon, hook = (str(place.path(path)) for path in (DAEMON, HOOK))
    place.says = {daemon: BridgeError("No module named 'httpx'"), hook: "3.9.2\n"}
    found = CHECK.look(place)
    assert found == (Interpreter(DAEMON, "", "No module named 'httpx'"), Interpreter(HOOK, "3.9.2"))
    assert "pydantic" in place.asked[0][-1] and place.asked[1][1:3] == ("-I", "-S")
    assert judged(CHECK, found) == ["python-unusable"]
    assert set(interpreter._NEEDS) == {DAEMON, HOOK}
