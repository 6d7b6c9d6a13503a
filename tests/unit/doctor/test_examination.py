"""All checks together: what becomes of one that cannot look, and what doctor exits with."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

import bridge.doctor.checks
from bridge.cli.main import main
from bridge.doctor import examination
from bridge.doctor.check import CannotLook, Check, Result, State, Told, examined
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.messages import doctor as messages
from bridge.messages import doctor_kubernetes as kubernetes_messages

_FOUND, _UNTRIED = kubernetes_messages.CRD_MISSING.told(), messages.IMAGE_UNTRIED.told(why="{it}")


def _check(look: Any = lambda _: None, judge: Any = lambda _: iter(())) -> Check[Any]:
    return Check("this", "this and that", look, judge)


def _raising(error: Exception) -> Any:
    def act(_: object) -> Iterator[Told]:
        yield _FOUND
        raise error

    return act


def _never(error: Exception) -> Any:
    def act(_: object) -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("check", "state", "names"),
    [
        (_check(), State.GOOD, []),
        (_check(judge=lambda _: iter([_FOUND])), State.FOUND, ["crd-missing-here"]),
        (_check(look=_never(CannotLook(_UNTRIED))), State.UNKNOWN, ["image-untried"]),
        (_check(look=_never(BridgeError("it is away"))), State.UNKNOWN, ["unlooked"]),
        (_check(look=_never(KeyError("spec"))), State.UNKNOWN, ["check-crashed"]),
        (_check(judge=_raising(CannotLook(_UNTRIED))), State.FOUND, ["crd-missing-here", "image-untried"]),
        (_check(judge=_raising(ValueError("x"))), State.FOUND, ["crd-missing-here", "check-crashed"]),
    ],
)
def test_unknown_is_not_good_and_one_crash_stops_no_other(check: Check[Any], state: State, names: list[str]) -> None:
    results = list(examination.examine([check, _check()], Place()))
    assert (results[0].state, [told["name"] for told in results[0].told]) == (state, names)
    assert results[1].state is State.GOOD


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([State.GOOD], 0),
        ([State.GOOD, State.UNKNOWN], 2),
        ([State.UNKNOWN, State.FOUND], 1),
    ],
)
def test_exit_codes(states: list[State], code: int) -> None:
    assert examination.exit_code([Result("this", "", state) for state in states]) == code


def test_every_file_of_a_check_is_in_one_of_the_two_lists_and_has_a_test() -> None:
    files = {path.stem for path in Path(bridge.doctor.checks.__file__).parent.glob("*.py")} - {"__init__"}
    used = {check.look.__module__.rpartition(".")[2] for check in (*examination.NODE, *examination.CLUSTER)}
    assert files == used
    tests = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert files <= tests
    for checks in (examination.NODE, examination.CLUSTER):
        assert len({check.name for check in checks}) == len(checks)


def test_the_page_has_every_check() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "doctor.md").read_text()
    of_node, of_cluster = page.split("## Of a node")[1].split("## Of a cluster")
    for part, checks in ((of_node, examination.NODE), (of_cluster, examination.CLUSTER)):
        rows = re.findall(r"^\| ([a-z-]+) \| (.+?) \| .+ \|$", part, re.MULTILINE)[1:]
        assert rows == [(check.name, check.looks_at) for check in checks]


@pytest.fixture
def logs_of_before() -> Iterator[None]:
    """Doctor silences the logs of its process, and so of the tests behind it."""
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("logs_of_before")
def test_on_a_machine_that_is_no_node_everything_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["doctor", "--config", str(tmp_path / "bridge.toml")]
    assert main([*words, "-o", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["exit"], answer["scope"]) == (1, "node")
    states = {check["name"]: check["state"] for check in answer["checks"]}
    assert list(states) == [check.name for check in examination.NODE]
    assert (states["configuration"], states["sockets"]) == ("found", "found")
    assert {states[name] for name in ("rights", "identity", "resources", "images", "cgroups")} == {"unknown"}
    assert "check-crashed" not in {told["name"] for check in answer["checks"] for told in check["told"]}
    assert main(words) == 1
    text = capsys.readouterr().out
    assert "found     configuration: bridge.toml is whole, and only root can change it\n" in text
    assert "\n          cure: mend it; `bridged --check-config`" in text and "\n19 checks: " in text


def test_a_user_is_told_to_be_root_and_an_admin_to_say_cluster(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 2001)
    assert main(["doctor"]) == 64
    assert "[doctor-not-root]" in capsys.readouterr().err
    assert main(["doctor", "--kubeconfig", "/admin"]) == 64
    assert "[cluster-elsewhere]" in capsys.readouterr().err


def test_a_finding_is_told_whole() -> None:
    told = examined(
        _check(judge=lambda _: iter([kubernetes_messages.RIGHT_MISSING.told(what="a", where="b", why="c")])), Place()
    ).told
    assert told[0]["cause"] == "this node may not a b, which serves: c" and told[0]["name"] == "right-missing"
