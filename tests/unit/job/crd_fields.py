"""The fields of a PyTorchJob as the CRDs of the training operator have them, kept beside as a compact list.

`python -m tests.unit.job.crd_fields VERSION=FILE…` writes the list anew; FILE is
`manifests/base/crds/kubeflow.org_pytorchjobs.yaml` of that version's Go module
(`go mod download -json github.com/kubeflow/training-operator@v1.9.4` says where it is).
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

LIST = Path(__file__).parent / "crd_fields.txt"
_ABOUT = """\
# Fields of a PyTorchJob, from manifests/base/crds/kubeflow.org_pytorchjobs.yaml of the Go modules
# github.com/kubeflow/training-operator at the versions below; made by tests/unit/job/crd_fields.py.
# One line for each object: its path, then those of its fields that have none of their own. `name@1.9.4` is
# in those versions only.
"""
_VERSIONS = "versions"


def fields() -> dict[str, frozenset[str]]:
    """Path of each field without fields of its own, and the versions of the operator that have it."""
    lines = [line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    every = frozenset(next(words for name, *words in lines if name == f"{_VERSIONS}:"))
    found = {}
    for parent, *names in lines[1:]:
        for name in names:
            field, _, versions = name.partition("@")
            path = field if parent == ".:" else f"{parent.removesuffix(':')}.{field}"
            found[path] = frozenset(versions.split(",")) if versions else every
    return found


def _leaves(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """`*` stands for any key and `[]` for every item, as in the table of treatments."""
    inner = schema.get("items", {}), schema.get("additionalProperties", {})
    if "properties" in schema:
        for name, below in schema["properties"].items():
            yield from _leaves(below, f"{path}.{name}" if path else name)
    elif "properties" in inner[0]:
        yield from _leaves(inner[0], f"{path}[]")
    elif isinstance(inner[1], dict) and "properties" in inner[1]:
        yield from _leaves(inner[1], f"{path}.*")
    else:
        yield path


def _write(sources: dict[str, Path]) -> None:
    versions = defaultdict(set)
    for version, source in sources.items():
        crd = yaml.load(source.read_text(), yaml.CSafeLoader)
        for served in crd["spec"]["versions"]:
            for path in _leaves(served["schema"]["openAPIV3Schema"]):
                versions[path].add(version)
    objects = defaultdict(list)
    for path in sorted(versions):
        parent, _, name = path.rpartition(".")
        some = "" if versions[path] == sources.keys() else "@" + ",".join(sorted(versions[path]))
        objects[parent or "."].append(name + some)
    lines = [f"{parent}: {' '.join(names)}" for parent, names in {_VERSIONS: sources, **objects}.items()]
    LIST.write_text(_ABOUT + "\n".join(lines) + "\n")


if __name__ == "__main__":
    _write({version: Path(file) for version, _, file in (word.partition("=") for word in sys.argv[1:])})
