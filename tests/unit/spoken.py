"""Finds, in the source of the product, sentences that are told to a person beside the catalogue of messages."""

import ast
from collections.abc import Iterator
from pathlib import Path

WORDS = 4  # that make a sentence

# Their words fill a message or a row of the fault table, stand in a log, or are help, SQL and patterns.
_QUIET = {"sentence", "finding", "add_argument", "add_parser", "ArgumentParser", "_add", "execute", "executemany"}
_QUIET |= {"compile", "told"}
_LOGS = {"debug", "info", "warning", "error", "critical", "exception"}
# Errors that are never shown as they are: `leaks` looks at what is made of them.
BORDER_ERRORS = {"AllocationError", "SpecError", "FrameError", "RemoteError", "Unavailable", "Unauthenticated"}
BORDER_ERRORS |= {"Forbidden", "Invalid", "NotFound", "Conflict", "Unsupported", "ReadTimeout"}
# What such an error's words may go into.
_TRANSLATORS = {
    "sentence",
    "finding",
    "of_kubernetes",
    "of_slurm",
    "of_creation",
    "_found",
    "isinstance",
    "note_unknown",
    "told",
    "clause",
}
_CAUGHT = BORDER_ERRORS | {"BridgeError", "ConfigError", "NotYet", "Observed", "DaemonGone", "_FOR_GOOD"}


class Source:
    """One file, and what stands around each of its parts."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self._above = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """From the nearest to the statement that it is in."""
        while not isinstance(node, ast.stmt) and node in self._above:
            node = self._above[node]
            yield node

    def function(self, node: ast.AST) -> str:
        """Name of the function that it is in."""
        while node in self._above and not isinstance(node, ast.FunctionDef):
            node = self._above[node]
        return node.name if isinstance(node, ast.FunctionDef) else ""


def strays(text: str, *, of_border: bool = False, facts: bool = False) -> list[str]:
    """Sentences written down in this source that a person may be told. ``of_border``: the file's own errors are as
    little shown as BORDER_ERRORS; ``facts``: only what is raised, or said on stderr or to a peer, counts."""
    source = Source(text)
    found = []
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or len(node.value.split()) < WORDS:
            continue
        around = list(source.around(node))
        if isinstance(around[0], ast.Expr):
            continue  # a docstring
        calls = {_name(item.func) for item in around if isinstance(item, ast.Call)}
        border = BORDER_ERRORS | ({"ValueError", "_refused"} if of_border else set())
        if calls & (_QUIET | border) or any(_is_log(item) for item in around):
            continue
        if not facts or _is_told(around, calls):
            found.append(node.value)
    return found


def _is_told(around: list[ast.AST], calls: set[str]) -> bool:
    errs = any(
        isinstance(item, ast.Call) and any(ast.unparse(word.value) == "sys.stderr" for word in item.keywords)
        for item in around
    )
    return errs or any(isinstance(item, ast.Raise) for item in around) or bool(calls & {"_error", "_waiting", "_say"})


def leaks(text: str) -> list[str]:
    """Where the words of a caught error go anywhere but into a message, a row, a log or another error's cause."""
    source = Source(text)
    found = []
    for handler in (node for node in ast.walk(source.tree) if isinstance(node, ast.ExceptHandler)):
        caught = {_name(node) for node in ast.walk(handler.type)} if handler.type is not None else set()
        if handler.name is None or not caught & _CAUGHT:
            continue
        for node in ast.walk(handler):
            if isinstance(node, ast.Name) and node.id == handler.name and not _is_kept(source, node):
                found.append(source.function(node))
    return found


def _is_kept(source: Source, node: ast.AST) -> bool:
    around = list(source.around(node))
    if isinstance(around[0], ast.Raise):
        return True  # `raise ... from error`
    if isinstance(around[0], ast.Attribute) and around[0].attr in {"fault", "errno", "status", "reason"}:
        return True  # what machines read of it
    calls = {_name(item.func) for item in around if isinstance(item, ast.Call)}
    return bool(calls & _TRANSLATORS) or any(_is_log(item) for item in around)


def _is_log(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in _LOGS and ast.unparse(node.func.value) in ("log", "_log")


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def sources(root: Path) -> list[Path]:
    """Every file of the product that may speak; the catalogue itself is its pages and the fault table."""
    found = sorted((root / "bridge").rglob("*.py"))
    catalogue = (root / "bridge" / "messages", root / "bridge" / "job" / "faults")
    return [path for path in found if not any(place in path.parents for place in catalogue)]
