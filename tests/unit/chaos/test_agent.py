"""The hand on a node."""

from pathlib import Path

import pytest

from tests.chaos import agent
from tests.failpoints.strike import is_first

_DAEMONS, _HOOKS = "kill-after-journal.append", "kill-before-hook.daemon.ask"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The hooks', and the daemon's."""
    found = (tmp_path / "hooks", tmp_path / "daemon")
    for place in found:
        place.mkdir()
    monkeypatch.setattr(agent, "FOLDER", str(found[0]))
    monkeypatch.setattr(agent, "DAEMONS", str(found[1]))
    return found


def test_what_strikes_while_another_strike_is_told_is_told_the_next_time(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon and the hook that waits for it may be killed at nearly the same time."""
    told = []

    def tell(_event: str, *, name: str, at: float, hook: list[str]) -> None:
        told.append((name, at, hook))
        if name == _DAEMONS:
            assert is_first(f"{places[0]}/struck", f"{_HOOKS} epilog 7")

    monkeypatch.setattr(agent, "_tell", tell)
    assert is_first(f"{places[1]}/struck", _DAEMONS)
    agent.disarm()
    assert [(name, hook) for name, _, hook in told] == [(_DAEMONS, [])]
    at = (places[0] / "struck").stat().st_mtime
    agent.disarm()
    assert told[1:] == [(_HOOKS, at, ["epilog", "7"])]
    agent.disarm()
    assert len(told) == 2 and [list(place.iterdir()) for place in places] == [[], []]


def test_of_two_strikes_one_is_the_first(tmp_path: Path) -> None:
    struck = tmp_path / "struck"
    assert [is_first(str(struck), name) for name in ("one", "other")] == [True, False]
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("struck", "one")]
