"""Of what was recorded the fewest events that still break a law."""

from pathlib import Path

import pytest

from bridge.engine import events
from bridge.engine.state import Phase
from bridge.store.journal import Journal, Line
from tests.chaos import shrink
from tests.unit.engine.holds import AT_ANY_TIME, Watched
from tests.unit.engine.story import CONFIG, allocation

TOLD: list[events.Event] = [
    events.PrologBegan(1.0, allocation()),
    *[events.Ticked(2.0 + number) for number in range(20)],
    events.EpilogBegan(30.0),
    *[events.Ticked(31.0 + number) for number in range(20)],
]
RUN = "demo/7/0"
_FILE = """
[cluster]
name = "demo"
tag = "demo"
[kubernetes]
kubeconfig = "/nowhere/kubeconfig"
[pod]
max_cpus = 2
max_memory = "4Gi"
"""


def never_released(one: Watched) -> None:
    assert one.run is None or one.run.phase is not Phase.RELEASE


def test_what_is_right_breaks_nothing() -> None:
    assert shrink.complaint(CONFIG, TOLD, AT_ANY_TIME) == ""


def test_the_event_that_broke_it_is_named() -> None:
    assert "never_released" in (found := shrink.complaint(CONFIG, TOLD, [never_released]))
    assert found.endswith("with event 21 (EpilogBegan)")


def test_only_what_is_needed_for_it_is_left() -> None:
    few = shrink.shrunk(CONFIG, TOLD, [never_released])
    assert few == [events.EpilogBegan(30.0)] or few == [TOLD[0], events.EpilogBegan(30.0)]
    assert "never_released" in shrink.complaint(CONFIG, few, [never_released])


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "bridge.toml").write_text(_FILE)
    journal = Journal(tmp_path)
    journal.append([Line(RUN, events.to_json(event), 0.0) for event in TOLD])
    journal.close()
    return str(tmp_path / "bridge.toml"), str(tmp_path)


def test_a_journal_in_which_the_core_did_well(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert shrink.main(*files, RUN) == 0
    assert capsys.readouterr().out.startswith(f"{len(TOLD)} events break nothing")


def test_a_journal_in_which_it_did_not(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shrink, "AT_ANY_TIME", (never_released,))
    assert shrink.main(*files, RUN) == 1
    said = capsys.readouterr().out.splitlines()
    assert "never_released" in said[0] and "epilog_began" in said[-1]


def test_a_run_that_is_not_in_it(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert shrink.main(*files, "demo/8/0") == 64
    assert "no run demo/8/0" in capsys.readouterr().err
