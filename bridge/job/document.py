"""A spec file as plain data: its YAML documents, bounded before anything is built from them.

Types are those of JSON. Of YAML 1.1's surprises only those are kept that Kubernetes' own reader has too:
no timestamps and no numbers to the base 60.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from bridge.errors import SpecError
from bridge.wellknown import SPEC_LIMIT

DEPTH_LIMIT = 32
NODES_LIMIT = 20_000
"""Values of the document, aliases counted with all they stand for."""
ALIASES_LIMIT = 200

_NESTING_START = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_NESTING_END = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class _Loader(yaml.CSafeLoader):
    """The safe loader with JSON's types only, and YAML's merge key."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  (PyYAML's own way to replace the table)


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    (
        "bool",
        r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
        list("yYnNtTfFoO"),
    ),
    ("int", r"[-+]?(?:0|[1-9][0-9]*|0[0-7]+|0x[0-9a-fA-F]+)", list("-+0123456789")),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)


def load(data: bytes) -> list[dict[str, Any]]:
    """The objects that the bytes of a spec file describe, at least one; empty documents do not count.

    Raises SpecError with one sentence that names the line, where there is one, and the cure.
    """
    text = _text(data)
    try:
        if not _check_events(text):
            raise _refused("is empty; write a PyTorchJob or a ContainerJob")
        nodes = [node for node in yaml.compose_all(text, _Loader) if not _is_empty(node)]
        for node in nodes:
            _check_keys(node)
        documents = [_construct(node) for node in nodes]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise _refused(f"line {line}: is not YAML ({error.problem}); mend it there, or a line above") from error
    except yaml.YAMLError as error:
        raise _refused(f"is not YAML text ({_first_line(error)}); save the spec as plain UTF-8 text") from error
    if not all(isinstance(document, dict) for document in documents):
        raise _refused("is not an object; begin with `apiVersion:` and `kind:`")
    return documents


def _refused(sentence: str) -> SpecError:
    return SpecError([sentence])


def _text(data: bytes) -> str:
    if len(data) > SPEC_LIMIT:
        raise _refused(f"has {len(data)} bytes, at most {SPEC_LIMIT} are read; give the PyTorchJob alone")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise _refused(f"line {line}: holds a NUL byte; save the spec as plain UTF-8 text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(f"line {line}: is not UTF-8; save the spec as plain UTF-8 text") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:100]


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


@dataclass
class _Census:
    """Counts values while the parser hands out events; nothing is built."""

    values: int = 0
    aliases: int = 0
    open: list[tuple[str | None, int]] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    def take(self, event: yaml.Event) -> None:
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor or "", line)
        elif isinstance(event, yaml.ScalarEvent):
            self.values += 1
            if "\0" in event.value:
                raise _refused(f"line {line}: holds a NUL character; remove it")
            if event.anchor:
                self.sizes[event.anchor] = 1
        elif isinstance(event, _NESTING_START):
            self._enter(event.anchor, line)
        elif isinstance(event, _NESTING_END):
            self._leave()
        if self.values > NODES_LIMIT:
            raise _refused(f"line {line}: more than {NODES_LIMIT} values, aliases counted in full; give the job alone")

    def _alias(self, anchor: str, line: int) -> None:
        self.aliases += 1
        if anchor not in self.sizes:
            raise _refused(f"line {line}: *{anchor} stands for nothing written before it; write &{anchor} above it")
        if self.aliases > ALIASES_LIMIT:
            raise _refused(f"line {line}: more than {ALIASES_LIMIT} aliases; write the values out")
        self.values += self.sizes[anchor]

    def _enter(self, anchor: str | None, line: int) -> None:
        self.open.append((anchor, self.values))
        self.values += 1
        if anchor:
            self.sizes.pop(anchor, None)
        if len(self.open) > DEPTH_LIMIT:
            raise _refused(f"line {line}: nested deeper than {DEPTH_LIMIT} levels; no job needs that, check brackets")

    def _leave(self) -> None:
        anchor, before = self.open.pop()
        if anchor:
            self.sizes[anchor] = self.values - before


def _check_events(text: str) -> int:
    """How many documents with content there are; refuses what must not be composed."""
    documents, census, content = 0, _Census(), False
    for event in _events(text):
        if isinstance(event, yaml.DocumentStartEvent):
            census, content = _Census(values=census.values, aliases=census.aliases), False
        elif isinstance(event, yaml.DocumentEndEvent):
            documents += content
        elif isinstance(event, yaml.NodeEvent):
            _check_tag(event)
            content = content or not _is_empty_scalar(event)
        census.take(event)
    return documents


def _events(text: str) -> Iterator[yaml.Event]:
    return yaml.parse(text, _Loader)


def _is_empty_scalar(event: yaml.NodeEvent) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value in ("", "~", "null")


def _check_tag(event: yaml.NodeEvent) -> None:
    tag = getattr(event, "tag", None)
    if tag is not None:
        raise _refused(f"line {_line(event)}: the tag {tag[:40]} is not read; remove it, and quote what is text")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _check_keys(root: yaml.Node) -> None:
    """Refuses keys that are not text and keys written twice; `<<` may override."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _check_mapping(node)
            todo.extend(value for _, value in node.value)
        else:
            todo.extend(node.value)


def _check_mapping(node: yaml.MappingNode) -> None:
    keys: set[str] = set()
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise _refused(f"line {line}: a key is a list or an object; write a plain name")
        if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
            raise _refused(f'line {line}: the key {key.value} is not text; write it as "{key.value}"')
        if key.value in keys:
            raise _refused(f"line {line}: {key.value} stands there twice; keep one of the two")
        keys.add(key.value)


def _construct(node: yaml.Node) -> Any:
    try:
        result = yaml.constructor.SafeConstructor().construct_document(node)
        json.dumps(result, allow_nan=False)
    except ValueError as error:
        raise _refused("holds a number that JSON has no form for; quote it, or write a smaller one") from error
    return result
