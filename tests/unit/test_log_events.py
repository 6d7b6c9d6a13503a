"""docs/reference/log-events.md has every event that the code logs, with its fields, and no other."""

import ast
import io
import json
import re
import socket
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from bridge.logs import configure

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "log-events.md").read_text(encoding="utf-8")
ROWS = {
    cells[0].strip("`"): cells[1:]
    for line in PAGE.splitlines()
    if line.startswith("| `")
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}
LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
_LOGGERS = {"log", "_log", "self._log", "told"}


def logged(tree: ast.AST) -> Iterator[tuple[str, str, set[str]]]:
    """Each event: its name, its level ('' where that is decided at run time), and the fields that are named."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if not isinstance(call.func, ast.Attribute) or ast.unparse(call.func.value) not in _LOGGERS:
            continue
        level = call.func.attr
        if level not in LEVELS | {"log"}:
            continue
        name = call.args[level == "log"]
        assert isinstance(name, ast.Constant), ast.unparse(call)
        yield str(name.value), "" if level == "log" else level, {word.arg for word in call.keywords if word.arg}


SOURCES = {path: ast.parse(path.read_text()) for path in (ROOT / "bridge").rglob("*.py")}
EVENTS: dict[str, list[tuple[Path, str, set[str]]]] = defaultdict(list)
for _path, _tree in SOURCES.items():
    for _name, _level, _fields in logged(_tree):
        EVENTS[_name].append((_path, _level, _fields))


def words(path: Path) -> set[str]:
    """Everything in a file that may be a field's name."""
    tree = SOURCES[path]
    named = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    return named | {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def test_the_page_has_every_event_and_no_other() -> None:
    assert len(EVENTS) > 40
    assert sorted(ROWS) == sorted(EVENTS)


def test_nobody_logs_by_another_name() -> None:
    """Else `logged` would not see it."""
    for path, tree in SOURCES.items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS and call.args:
                assert ast.unparse(call.func.value) in _LOGGERS, (path, ast.unparse(call))


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_level_and_fields_are_the_codes(name: str) -> None:
    level, whose, fields, says = ROWS[name]
    told = set(re.findall(r"\w+", fields))
    common = {"job", "run"} if whose in ("run", "job") else set()
    for path, written, named in EVENTS[name]:
        assert written in ("", level) or "error" in says or (written, level) == ("exception", "error"), path
        assert named <= told | common, path
        assert told <= words(path) | {"exception"}, path
    assert says


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "seconds" in row[2]])
def test_what_took_time_says_how_long(name: str) -> None:
    assert all("seconds" in words(path) for path, _, _ in EVENTS[name])


def test_the_filter_finds_a_run_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    (pattern,) = re.findall(r"-o cat --grep '(\"job[^']*)'", PAGE)
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    configure()
    try:
        log = structlog.get_logger()
        with structlog.contextvars.bound_contextvars(run="demo/1234.0", job=1234):
            log.info("watch_started", path="/")
        log.info("hook_arrived", job=1234)
        log.info("hook_arrived", job=12345, phase="prolog")
        log.info("ready", pid=1234)
    finally:
        structlog.reset_defaults()
    lines = said.getvalue().splitlines()
    assert [line for line in lines if re.search(pattern, line)] == lines[:2]
    here = socket.gethostname().partition(".")[0]
    assert [json.loads(line)["node"] for line in lines] == [here] * 4
