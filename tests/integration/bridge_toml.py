"""The text of a node's bridge.toml with other keys."""

import json
import tomllib
from collections.abc import Mapping
from typing import Any


def changed(text: str, changes: Mapping[str, Any]) -> str:
    """The file with these keys; a mapping changes keys of a section, None takes one away."""
    return _toml(_merged(tomllib.loads(text), changes))


def _merged(old: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    sections = {name: {**old.get(name, {}), **value} for name, value in changes.items() if isinstance(value, dict)}
    return {name: value for name, value in {**old, **changes, **sections}.items() if value is not None}


def _toml(keys: Mapping[str, Any]) -> str:
    """A file of keys and of sections; what a section holds is written on one line."""
    sections = {name: value for name, value in keys.items() if isinstance(value, dict)}
    lines = [f"{name} = {_toml_value(value)}" for name, value in keys.items() if name not in sections]
    for name, section in sections.items():
        lines += [f"[{name}]", *(f"{json.dumps(key)} = {_toml_value(value)}" for key, value in section.items())]
    return "\n".join(lines) + "\n"


def _toml_value(value: object) -> str:
    """A JSON string, number or switch is TOML, too."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value)
