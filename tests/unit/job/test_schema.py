"""The JSON schema of the short form says yes and no where the reader does, and the committed one is the tables'."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from bridge.errors import SpecError
from bridge.job.render import render
from bridge.job.schema import schema
from bridge.job.sieve import Sieve
from bridge.job.treatments import CONTAINERJOB
from tests.unit.job.given import HERE, placement, site

COMMITTED = Path(__file__).parents[3] / "docs" / "reference" / "containerjob.schema.json"
VALIDATOR = Draft7Validator(schema())
NOT_A_TEXT = (1, True, ["x"], {"a": "b"})

BAD_ENTRIES: list[dict[str, Any]] = [{"value": 1}, {"x": 1}, {"valueFrom": {"x": {}}}, {"valueFrom": 1}]
GOOD: list[dict[str, Any]] = [
    {"profile": "fast"},
    {},
    {"metadata": {"name": "x", "uid": 7, "labels": {"a": "b"}, "annotations": None, "ownerReferences": None}},
    {"metadata": {"namespace": "other", "deletionTimestamp": 5}},
    {"metadata": None},
    {"image": "registry:5000/a/b@sha256:0123"},
    {"image": "registry/${SLURM_JOB_USER}/x"},
    {"imagePullPolicy": "Always"},
    {"command": ["sh", "-c", "echo ${HOME} <x {{y}}"], "args": []},
    {"command": None, "args": None, "env": None, "ports": None, "volumes": None, "shmSize": None, "nprocPerNode": None},
    {"env": {}},
    {"env": {"A": "b", "_x.y-z": "", "GONE": None, "not a name": None}},
    {"env": [{"name": "A", "value": "b"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
    {"env": [{"name": "A", "value": None}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
    {"workingDir": "/data/${SLURM_JOB_ID}"},
    {"volumes": ["data", {"name": "scratch", "mountPath": "/x", "readOnly": True, "subPath": "${SLURM_JOB_ID}"}]},
    {"volumes": [{"name": "data", "mountPath": None, "readOnly": None}]},
    {"volumes": []},
    *({"shmSize": size} for size in ("2Gi", "64Mi", 1048576, "1.5Gi", " 1e6 ", "+1M", ".5Gi", 0)),
    {"shmSize": "${SLURM_CPUS_ON_NODE}Gi", "nprocPerNode": "${SLURM_GPUS_ON_NODE}"},
    {"volumes": [{"name": "data", "mountPath": "${SLURM_JOB_WORK_DIR}/x"}], "env": [{"name": "JOB_${SLURM_JOB_ID}"}]},
    {"ports": [80, {"containerPort": 65535, "name": "web", "protocol": "TCP", "hostPort": 0, "hostIP": ""}]},
    {"ports": [{"containerPort": 1, "hostPort": None}]},
    *({"nprocPerNode": count} for count in ("auto", "cpu", "gpu", 1, "8", "007", 1024)),
]
BAD: list[dict[str, Any]] = [
    {"profile": 7},
    {"apiVersion": "v1"},
    {"apiVersion": None},
    {"kind": "Job"},
    {"colour": "red"},
    {"resources": {}},
    {"metadata": "x"},
    {"metadata": {"finalizers": ["x"]}},
    {"metadata": {"finalizers": []}},
    {"metadata": {"ownerReferences": [{}]}},
    {"metadata": {"colour": "red"}},
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"labels": ["a"]}},
    {"image": None},
    {"image": ""},
    {"image": "a b"},
    {"image": "<image>"},
    {"image": "{{ image }}"},
    {"image": "x:${TAG}"},
    *({name: value} for name in ("image", "imagePullPolicy", "workingDir") for value in NOT_A_TEXT),
    *({name: value} for name in ("command", "args") for value in ("sh", 1, {"a": "b"}, [1], [None], [["a"]])),
    {"workingDir": "/x/${HOME}"},
    *(
        {"env": value}
        for value in ("A=b", 1, {"A": 1}, {"A": True}, {"A": ["x"]}, {"1A": "b"}, {"a b": "c"}, {"": "x"})
    ),
    *(
        {"env": [item]}
        for item in (None, "A=b", {}, {"value": "x"}, {"name": None}, {"name": "a b"}, {"name": 1}, {"name": "<A>"})
    ),
    *({"env": [{"name": "A", **more}]} for more in BAD_ENTRIES),
    *({"volumes": value} for value in ("data", {"data": "/x"}, 1)),
    *({"volumes": [item]} for item in (None, 1, {}, ["data"], {"mountPath": "/x"}, {"name": None}, {"name": 1}, "<x>")),
    *(
        {"volumes": [{"name": "data", **more}]}
        for more in ({"mountPath": "x"}, {"mountPath": ""}, {"x": 1}, {"readOnly": "yes"}, {"subPath": "${X}"})
    ),
    *({"shmSize": size} for size in ("big", "2GiB", "-1Gi", -1, "", True, ["1Gi"], "1 Gi", "1" * 40)),
    *({"ports": value} for value in (80, "80", {"a": 80})),
    *({"ports": [item]} for item in (None, "80", 0, 65536, True, {}, {"name": "x"}, {"containerPort": "80"})),
    *(
        {"ports": [{"containerPort": 80, **more}]}
        for more in ({"name": "<x>"}, {"hostPort": 80}, {"hostIP": "::"}, {"x": 1}, {"name": 1})
    ),
    *({"nprocPerNode": count} for count in (0, -1, 1025, "many", "", "1.5", True, ["8"], "1025", "0")),
]


def job(fields: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob", "image": "x", **fields}


def reader_takes(document: dict[str, Any]) -> bool:
    try:
        config = site().model_copy(update={"profiles": {"fast": site().pod}})
        render(yaml.safe_dump(document).encode(), placement(profiles=("fast",)), config)
    except SpecError:
        return False
    return True


@pytest.mark.parametrize("fields", GOOD, ids=json.dumps)
def test_both_take_it(fields: dict[str, Any]) -> None:
    assert reader_takes(job(fields))
    assert VALIDATOR.is_valid(job(fields))


@pytest.mark.parametrize("fields", BAD, ids=json.dumps)
def test_both_refuse_it(fields: dict[str, Any]) -> None:
    assert not reader_takes(job(fields))
    assert not VALIDATOR.is_valid(job(fields))


@pytest.mark.parametrize("missing", ["apiVersion", "kind", "image"])
def test_both_miss_what_is_not_there(missing: str) -> None:
    document = job({})
    del document[missing]
    assert not reader_takes(document)
    assert not VALIDATOR.is_valid(document)


def test_every_field_of_the_table_was_tried_both_ways() -> None:
    fields = Sieve.of(CONTAINERJOB).below.keys()
    assert fields - {name for tried in GOOD for name in tried} <= {"apiVersion", "kind"}, "they have one value only"
    assert fields <= {name for tried in BAD for name in tried}


def test_an_example_of_the_documentation() -> None:
    assert VALIDATOR.is_valid(yaml.safe_load((HERE / "specs" / "container_job.yaml").read_text()))


def test_it_is_a_schema() -> None:
    Draft7Validator.check_schema(schema())


def test_the_committed_schema_is_this_one() -> None:
    assert COMMITTED.read_text() == json.dumps(schema(), indent=2) + "\n", "make docs writes it anew"
