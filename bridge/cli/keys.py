"""The keys of bridge.toml as the models of `bridge.config` have them, kind, default and meaning: for its manual page,
and for the page of the documentation."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bridge.cli.roff import bold, item, plain, prose
from bridge.cli.table import cell
from bridge.config import Config

Schema = dict[str, Any]
_SAME_AS_POD = "profiles"
_KINDS = {"boolean": "true or false", "integer": "whole number", "number": "number", "string": "text"}
_BOUNDS = (("minimum", "from {}"), ("exclusiveMinimum", "above {}"), ("maximum", "to {}"))


_HEAD = """# bridge.toml

Made from the code by `make docs`; `man 5 bridge.toml` has the same. `/etc/slurm-k8s-bridge/bridge.toml` is read once,
when `bridged` starts; `bridged --check-config` says what is wrong with it. How the parts work together:
[install](../how-to/install.md), [site profiles](../how-to/site-profiles.md).
"""
_COLUMNS = "| key | kind; default | meaning |\n|---|---|---|"


@dataclass(frozen=True)
class Key:
    """``kind`` in words, with its bounds; ``default`` as TOML has it, '' for none."""

    name: str
    kind: str
    default: str
    about: str


@dataclass(frozen=True)
class Table:
    """A section of the file, by its head; the keys before the first one have the head ''."""

    head: str
    about: str
    keys: tuple[Key, ...]


def tables() -> Iterator[Table]:
    """All of the file, in its order."""
    schema = Config.model_json_schema()
    return _table("", schema, schema["$defs"])


def as_manual() -> str:
    """In roff."""
    lines = list[str]()
    for table in tables():
        lines += [f".SS {plain(table.head)}", prose(table.about)] if table.head else [".SS Before the sections"]
        lines += [item(f"{bold(key.name)} ({plain(_beside(key))})", key.about) for key in table.keys]
    return "\n".join(lines)


def as_page() -> str:
    """In Markdown."""
    parts = [_HEAD]
    for table in tables():
        parts.append(f"## {f'`{table.head}`' if table.head else 'Before the sections'}\n")
        parts += [f"{table.about}\n"] if table.head else []
        rows = [f"| `{key.name}` | {cell(_beside(key))} | {cell(' '.join(key.about.split()))} |" for key in table.keys]
        parts += [_COLUMNS, *rows, ""] if rows else []
    return "\n".join(parts).rstrip()


def _beside(key: Key) -> str:
    return "; ".join(filter(None, (key.kind, key.default)))


def _table(head: str, section: Schema, parts: dict[str, Schema]) -> Iterator[Table]:
    below: list[tuple[str, Schema]] = []
    keys: list[Key] = []
    for name, value in section["properties"].items():
        part = _part(value, parts)
        if part is not None:
            below.append((_head(head, name, value), part if name != _SAME_AS_POD else _profile(value)))
        else:
            keys.append(Key(name, _kind(value), _default(name, value, section), value["description"]))
    yield Table(head, section.get("description", ""), tuple(keys))
    for name, part in below:
        yield from _table(name, part, parts)


def _profile(value: Schema) -> Schema:
    """The keys of a profile are those of [pod]."""
    return {
        "description": value["description"] + "\nThe keys are those of [pod]; only what is different is said.",
        "properties": {},
    }


def _part(value: Schema, parts: dict[str, Schema]) -> Schema | None:
    """The section that a key is, or has several of."""
    kinds = [value, value.get("items", {}), *value.get("anyOf", ()), *value.get("patternProperties", {}).values()]
    names = [kind["$ref"].rpartition("/")[2] for kind in kinds if "$ref" in kind]
    return parts[names[0]] if names else None


def _head(above: str, key: str, value: Schema) -> str:
    """How a section is written in TOML."""
    path = ".".join(filter(None, (above.strip("[]"), key)))
    if value.get("type") == "array":
        return f"[[{path}]]"
    return f"[{path}.NAME]" if "patternProperties" in value else f"[{path}]"


def _kind(value: Schema) -> str:
    value = next((kind for kind in value.get("anyOf", ()) if kind.get("type") != "null"), value)
    if "enum" in value:
        return " or ".join(map(json.dumps, value["enum"]))
    if value.get("type") == "array":
        return f"list of {_kind(value['items'])}"
    if value.get("type") == "object":
        return "table"
    bounds = [text.format(f"{value[bound]:g}") for bound, text in _BOUNDS if bound in value]
    return " ".join(["path" if value.get("format") == "path" else _KINDS[value["type"]], *bounds])


def _default(key: str, value: Schema, section: Schema) -> str:
    if key in section.get("required", ()):
        return "has to be there"
    default = value.get("default")
    return "" if default in (None, [], {}) else json.dumps(default)
