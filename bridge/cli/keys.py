"""The keys of bridge.toml for its manual page, as the models of `bridge.config` have them: kind, default, meaning."""

import json
from collections.abc import Iterator
from typing import Any

from bridge.cli.roff import bold, item, plain, prose
from bridge.config import Config

Schema = dict[str, Any]
_SAME_AS_POD = "profiles"
_KINDS = {"boolean": "true or false", "integer": "whole number", "number": "number", "string": "text"}
_BOUNDS = (("minimum", "from {}"), ("exclusiveMinimum", "above {}"), ("maximum", "to {}"))


def as_manual() -> str:
    """All sections, the keys before the first one first."""
    schema = Config.model_json_schema()
    return "\n".join(_section("", schema, schema["$defs"]))


def _section(name: str, section: Schema, parts: dict[str, Schema]) -> Iterator[str]:
    yield f".SS {plain(name)}" if name else ".SS Before the sections"
    if name:
        yield prose(section["description"])
    below: list[tuple[str, Schema]] = []
    for key, value in section["properties"].items():
        part = _part(value, parts)
        if part is not None:
            below.append((_head(name, key, value), part if key != _SAME_AS_POD else _profile(value)))
        else:
            yield item(f"{bold(key)} ({_kind(value)}{_default(key, value, section)})", value["description"])
    for head, part in below:
        yield from _section(head, part, parts)


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
        return plain(" or ".join(map(json.dumps, value["enum"])))
    if value.get("type") == "array":
        return f"list of {_kind(value['items'])}"
    if value.get("type") == "object":
        return "table"
    bounds = [text.format(f"{value[bound]:g}") for bound, text in _BOUNDS if bound in value]
    return plain(" ".join(["path" if value.get("format") == "path" else _KINDS[value["type"]], *bounds]))


def _default(key: str, value: Schema, section: Schema) -> str:
    if key in section.get("required", ()):
        return "; has to be there"
    default = value.get("default")
    return "" if default in (None, [], {}) else plain(f"; {json.dumps(default)}")
