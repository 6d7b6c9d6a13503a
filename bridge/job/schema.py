"""The short form as a JSON schema, for editors: made from the tables by which `spec` reads it.

What depends on the job or the site no schema can know: allocated CPUs, memory and GPUs, the site's volumes, the keys of
labels. Draft 7, which the YAML plugins of editors read.
"""

from typing import Any

from bridge.job import environment, quantity, short_form, variables
from bridge.job.containers import IMAGE
from bridge.job.sieve import NUMBER_LIMIT, Sieve
from bridge.job.spec import CONTAINERJOB_KIND, NPROC
from bridge.job.treatments import CONTAINERJOB, Row, Shape, Treatment

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}


def _text(pattern: str) -> Schema:
    """Text of this form, or such with a variable of Slurm in it, whose value is not known yet."""
    return {**_TEXT, "anyOf": [{"pattern": f"^(?:{pattern})$"}, {"pattern": variables.FILLED}]}


_SHAPES: dict[Shape, Schema] = {
    Shape.TEXT: _TEXT,
    Shape.NUMBER: {"type": "integer", "exclusiveMinimum": -NUMBER_LIMIT, "exclusiveMaximum": NUMBER_LIMIT},
    Shape.SWITCH: {"type": "boolean"},
    Shape.TEXTS: {"type": "array", "items": _TEXT},
    Shape.TEXT_MAP: {"type": "object", "additionalProperties": _TEXT},
    Shape.ANY: {},
}
_AMOUNT: Schema = {
    "anyOf": [
        {**_text(rf"\s*{quantity.PATTERN}\s*"), "maxLength": quantity.LENGTH_LIMIT},
        {"type": "number", "minimum": 0},
    ]
}
_NPROC: Schema = {
    "anyOf": [_text(NPROC), {"type": "integer", "minimum": 1, "maximum": 1024}],
}
_ABOUT = {
    "apiVersion": "always slurm-k8s-bridge/v1",
    "kind": "always ContainerJob",
    "image": "the image of every rank",
    "imagePullPolicy": "Always, IfNotPresent or Never",
    "command": "what runs in place of the image's entrypoint",
    "args": "arguments of the command, or of the image's entrypoint",
    "env": "environment of the training; nothing of the submitting shell arrives by itself",
    "workingDir": "directory in the container in which the command starts",
    "volumes": "volumes by the names that the site gave them",
    "shmSize": "size of the memory at /dev/shm, such as 16Gi; part of the job's memory",
    "ports": "ports that the training listens on, for people who read the workload",
    "nprocPerNode": "processes that torchrun starts on each node: a number, auto, cpu or gpu",
    "profile": "one of the site's profiles that are open to the job",
}


def schema() -> Schema:
    """The schema of a ContainerJob."""
    made = _of(Sieve.of(CONTAINERJOB))
    fields = made["properties"]
    api_version, kind = CONTAINERJOB_KIND
    fields["apiVersion"], fields["kind"] = {"const": api_version}, {"const": kind}
    fields["image"] = _naming(_text(IMAGE))
    fields["env"] = _or_null(_env())
    fields["ports"] = _or_null(_ports())
    fields["volumes"] = _or_null(_volumes())
    fields["shmSize"], fields["nprocPerNode"] = _or_null(_AMOUNT), _or_null(_NPROC)
    for name, about in _ABOUT.items():
        fields[name] = {"description": about, **fields[name]}
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "ContainerJob of slurm-k8s-bridge"}
    return {**head, **made, "type": "object", "required": ["apiVersion", "kind", "image"]}


def _of(sieve: Sieve) -> Schema:
    """What a sieve lets pass; nothing is null for it, where it stands in for a field that is left out."""
    if sieve.row is not None:
        return _of_row(sieve.row)
    if "[]" in sieve.below:
        return {"type": "array", "items": _of(sieve.below["[]"])}
    properties = {name: _or_null(_named(name, below)) for name, below in sieve.below.items() if name != "*"}
    others = _or_null(_of(sieve.below["*"])) if "*" in sieve.below else False
    return {"type": "object", "properties": properties, "additionalProperties": others}


def _named(name: str, sieve: Sieve) -> Schema:
    made = _of(sieve)
    return _naming(made) if name in variables.NAMING and made == _TEXT else made


def _naming(made: Schema) -> Schema:
    """The same without placeholders that nobody filled in."""
    return {**made, "not": {"pattern": variables.LEFTOVER}}


def _of_row(row: Row) -> Schema:
    if row.treatment is Treatment.REFUSE:
        return {"enum": list(row.harmless), "description": row.why}
    if not row.rule:
        return {"description": row.why}
    return _SHAPES.get(row.shape, _AMOUNT)


def _or_null(made: Schema) -> Schema:
    return made if not made.keys() - {"description"} else {"anyOf": [{"type": "null"}, made]}


def _env() -> Schema:
    """A list as a Container has it, or a map."""
    item = _of(short_form.ENV_SIEVE)["items"]
    item["properties"]["name"] = _naming(_text(environment.NAME))
    item["required"] = ["name"]
    by_name = {f"^{environment.NAME}$": {"type": ["string", "null"]}}
    mapped = {"type": "object", "patternProperties": by_name, "additionalProperties": {"type": "null"}}
    return {"anyOf": [{"type": "array", "items": item}, mapped]}


def _ports() -> Schema:
    number = {"type": "integer", "minimum": 1, "maximum": 65535}
    item = _of(short_form.PORTS_SIEVE)["items"]
    item["properties"]["containerPort"] = number
    item["required"] = ["containerPort"]
    return {"type": "array", "items": {"anyOf": [number, item]}}


def _volumes() -> Schema:
    name = _naming(_TEXT)
    item = _of(short_form.VOLUME_SIEVE)
    item["properties"] |= {"name": name, "mountPath": _or_null(_naming(_text("/.*")))}
    item["required"] = ["name"]
    return {"type": "array", "items": {"anyOf": [name, item]}}
