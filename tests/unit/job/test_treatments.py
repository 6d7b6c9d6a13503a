"""The table is whole, and every sentence in it says something."""

import re
from typing import Any

import pytest
from kubernetes import client

from bridge.job.findings import Findings
from bridge.job.sieve import Sieve
from bridge.job.spec import PYTORCHJOB_TABLE
from bridge.job.treatments import CONTAINERJOB, Row, Shape, Treatment, keep, put, refuse
from tests.unit.job.crd_fields import fields

POD = "spec.pytorchReplicaSpecs.*.template.spec"
SIEVE = Sieve.of(PYTORCHJOB_TABLE)
TABLE = {row.path.removesuffix(".**"): row for row in PYTORCHJOB_TABLE}


def has_row(path: str) -> bool:
    return path in TABLE or any(known.startswith((f"{path}.", f"{path}[]")) for known in TABLE)


def reaches_a_row(path: str) -> bool:
    """Whether the sieve, led down this path, comes to a row, or to an object that has rows for its fields."""
    node = SIEVE
    for step in re.findall(r"\[\]|[^.\[\]]+", path):
        if node.row is not None:
            return True
        below = node.below.get(step) or node.below.get("*")
        if below is None:
            return False
        node = below
    return True


def fields_of(model: Any) -> list[str]:
    return [field.serialization_alias or name for name, field in model.model_fields.items()]


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (client.V1PodSpec, POD),
        (client.V1Container, f"{POD}.containers[]"),
        (client.V1Container, f"{POD}.initContainers[]"),
        (client.V1SecurityContext, f"{POD}.containers[].securityContext"),
        (client.V1PodSecurityContext, f"{POD}.securityContext"),
        (client.V1ResourceRequirements, f"{POD}.containers[].resources"),
        (client.V1EnvVar, f"{POD}.containers[].env[]"),
        (client.V1EnvVarSource, f"{POD}.containers[].env[].valueFrom"),
        (client.V1EnvFromSource, f"{POD}.containers[].envFrom[]"),
        (client.V1ContainerPort, f"{POD}.containers[].ports[]"),
        (client.V1VolumeMount, f"{POD}.containers[].volumeMounts[]"),
        (client.V1Capabilities, f"{POD}.containers[].securityContext.capabilities"),
        (client.V1Volume, f"{POD}.volumes[]"),
        (client.V1EmptyDirVolumeSource, f"{POD}.volumes[].emptyDir"),
        (client.V1HostPathVolumeSource, f"{POD}.volumes[].hostPath"),
        (client.V1PersistentVolumeClaimVolumeSource, f"{POD}.volumes[].persistentVolumeClaim"),
        (client.V1ProjectedVolumeSource, f"{POD}.volumes[].projected"),
        (client.V1VolumeProjection, f"{POD}.volumes[].projected.sources[]"),
        (client.V1ObjectMeta, "metadata"),
    ],
)
def test_every_field_of_kubernetes_has_a_row(model: Any, path: str) -> None:
    assert [name for name in fields_of(model) if not has_row(f"{path}.{name}")] == []


@pytest.mark.parametrize("version", ["1.7.0", "1.8.1", "1.9.4"])
def test_every_field_of_the_operators_crd_has_a_row(version: str) -> None:
    known = {path for path, versions in fields().items() if version in versions}
    assert len(known) > 700
    assert [path for path in known if not reaches_a_row(path)] == []


@pytest.mark.parametrize("row", [*PYTORCHJOB_TABLE, *CONTAINERJOB], ids=lambda row: row.path)
def test_every_row_that_changes_something_says_why(row: Row) -> None:
    if row.treatment is Treatment.KEEP:
        assert row.rule
    else:
        assert len(row.why) > 5
        assert row.why[0].islower() or row.why.startswith("/")


def test_one_path_has_one_row() -> None:
    with pytest.raises(ValueError, match="more than one row"):
        Sieve.of((keep("a.b"), put("a.b", "left out")))
    with pytest.raises(ValueError, match="is a row above"):
        Sieve.of((keep("a.**"), keep("a.b")))
    with pytest.raises(ValueError, match="more than one row"):
        Sieve.of((keep("a.b"), keep("a.**")))


ROWS = (
    keep("text", Shape.TEXT),
    keep("texts", Shape.TEXTS),
    keep("map", Shape.TEXT_MAP),
    keep("switch", Shape.SWITCH),
    keep("number", Shape.NUMBER),
    keep("amounts", Shape.AMOUNTS),
    keep("whole.**"),
    keep("items[].name", Shape.TEXT),
    keep("by.*.name", Shape.TEXT),
    put("set", "replaced by 1", 1),
    refuse("never", "remove it", False),
)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"text": "a", "texts": [], "map": {"k": "v"}, "switch": False, "number": 0}, ...),
        ({"whole": {"any": [None, {"thing": 1}]}, "items": [{"name": "n"}], "by": {"x": {"name": "n"}}}, ...),
        ({"text": None, "items": None, "set": None, "never": None}, {}),
        ({"set": 1, "never": False}, {}),
        ({"items": [{}]}, ...),
    ],
)
def test_what_passes(given: dict[str, Any], left: Any) -> None:
    findings = Findings()
    assert Sieve.of(ROWS).pass_through(given, "", findings) == (given if left is ... else left)
    assert not findings.reasons
    assert not findings.notices


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"text": 1}, 'text: must be text, is 1; write "1"'),
        ({"text": True}, 'text: must be text, is true; write "true"'),
        ({"texts": "python x"}, 'texts: must be a list of texts, is the text \'python x\'; write ["one", "two"]'),
        ({"texts": [1]}, "texts: must be a list of texts, is a list; write"),
        ({"map": {"a": 1}}, 'map: must be an object whose values are text, is an object; write NAME: "value"'),
        ({"switch": "no"}, "switch: must be true or false, is the text 'no'; write true or false"),
        ({"number": 1.5}, "number: must be a whole number, is 1.5; write a whole number"),
        ({"number": 10**30}, "number: must be a whole number"),
        ({"amounts": {"cpu": [1]}}, "amounts: must be an object whose values are quantities, is an object; write"),
        ({"items": {"name": "n"}}, "items: must be a list, is an object; write each item behind a `-`"),
        ({"items": [None]}, "items[0]: is empty; remove the `-`"),
        ({"items": ["n"]}, "items[0]: must be an object, is the text 'n'; write its fields below it"),
        ({"items": [{"nam": "n"}]}, "items[0].nam: no such field; write name"),
        ({"by": {"x": {"Name": "n"}}}, "by.x.Name: no such field; write name"),
        ({"never": True}, "never: true is not allowed; remove it"),
    ],
)
def test_what_is_refused(given: dict[str, Any], reason: str) -> None:
    findings = Findings()
    Sieve.of(ROWS).pass_through(given, "", findings)
    assert len(findings.reasons) == 1
    assert findings.reasons[0].startswith(reason)


def test_a_replaced_value_is_told() -> None:
    findings = Findings()
    assert Sieve.of(ROWS).pass_through({"set": 2}, "", findings) == {}
    assert findings.notices == ["set: 2 replaced by 1"]
