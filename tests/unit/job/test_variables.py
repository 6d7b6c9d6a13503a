"""`${SLURM_…}` in a spec, and placeholders that nobody filled in."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.errors import SpecError
from bridge.job import variables
from bridge.job.render import render
from tests.unit.job.given import placement, reasons, site

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "environment.md"


def short(**fields: Any) -> str:
    job = {"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob", "image": "x"}
    return yaml.safe_dump(job | fields)


def training(text: str) -> dict[str, Any]:
    manifest = render(text.encode(), placement(), site()).manifest
    container: dict[str, Any] = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    return container


def test_slurms_variables_are_filled_in_wherever_there_is_text() -> None:
    made = training(
        short(
            image="registry/${SLURM_JOB_USER}/train:1",
            command=["train", "--run=${SLURM_JOB_ID}-${SLURM_JOB_NAME}"],
            args=["${SLURM_JOB_ID}"],
            env={"OUT": "/out/${SLURM_JOB_ID}"},
            workingDir="/data/${SLURM_JOB_USER}",
            volumes=[{"name": "data", "subPath": "u/${SLURM_JOB_USER}"}],
        )
    )
    assert made["image"] == "registry/ada/train:1"
    assert made["command"] == ["train", "--run=4711-train"]
    assert made["args"] == ["4711"]
    assert {"name": "OUT", "value": "/out/4711"} in made["env"]
    assert made["workingDir"] == "/data/ada"
    assert made["volumeMounts"][0]["subPath"] == "u/ada"


def test_everything_else_stays_to_the_letter_where_shells_read_it() -> None:
    script = "echo ${HOME} $SLURM_JOB_ID ${SLURM_JOB_ID:-0} ${SLURM_PROCID} ${SLURM_ARRAY_TASK_ID} <in {{x}} $(date)"
    made = training(short(command=["sh", "-c", script], args=[script], env={"A": script}))
    assert made["command"][2] == made["args"][0] == script
    assert {"name": "A", "value": script} in made["env"]


def test_a_value_is_not_looked_through_again() -> None:
    text = {"a": ["${SLURM_JOB_NAME}"]}
    assert variables.filled_in(text, {"SLURM_JOB_NAME": "${SLURM_JOB_ID}", "SLURM_JOB_ID": "7"}) == {
        "a": ["${SLURM_JOB_ID}"]
    }


def test_neither_names_of_fields_nor_other_values_change() -> None:
    document = {"${SLURM_JOB_ID}": 1, "b": None, "c": [True, 1.5]}
    assert variables.filled_in(document, {"SLURM_JOB_ID": "7"}) == document


def test_a_spec_cannot_grow_without_bound() -> None:
    nodes = {"SLURM_JOB_NODELIST": "node," * 1000}
    small = {"a": "${SLURM_JOB_NODELIST}" * 100}
    assert len(variables.filled_in(small, nodes)["a"]) == 500_000
    with pytest.raises(SpecError, match="use it less"):
        variables.filled_in({"a": ["${SLURM_JOB_NODELIST}"] * 1000}, nodes)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"image": "<your-image>"}, "image: '<your-image>' is a placeholder; write what it stands for"),
        ({"image": "registry/{{ .Values.image }}"}, "image: '{{ .Values.image }}' is a placeholder"),
        ({"image": "x:${TAG}"}, "image: '${TAG}' is a placeholder"),
        (
            {"workingDir": "/out/${SLURM_ARRAY_TASK_ID}"},
            "workingDir: '${SLURM_ARRAY_TASK_ID}' is a placeholder; it has no value in this job (index of the array's",
        ),
        (
            {"workingDir": "${SLURM_SUBMIT_DIR}"},
            "workingDir: '${SLURM_SUBMIT_DIR}' is a placeholder; write ${SLURM_JOB",
        ),
        ({"volumes": ["<data>"]}, "volumes[0]: '<data>' is a placeholder"),
        ({"volumes": [{"name": "data", "subPath": "${USER}"}]}, "volumes[0].subPath: '${USER}' is a placeholder"),
        ({"env": [{"name": "<NAME>", "value": "x"}]}, "env[0].name: '<NAME>' is a placeholder"),
    ],
)
def test_a_leftover_where_something_is_named_is_refused(fields: dict[str, Any], reason: str) -> None:
    assert any(told.startswith(reason) for told in reasons(short(**fields)))


def test_placeholders_of_a_pytorchjob() -> None:
    container = {"name": "pytorch", "image": "<IMAGE>", "volumeMounts": [{"name": "d", "mountPath": "/d"}]}
    claim = {"name": "d", "persistentVolumeClaim": {"claimName": "${CLAIM}"}}
    secret = {"name": "s", "secret": {"secretName": "{{ secret }}"}}
    template = {
        "metadata": {"labels": {"name": "<app>"}},
        "spec": {"containers": [container], "volumes": [claim, secret]},
    }
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "<NAME>", "namespace": "{{ns}}"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}},
    }
    told = [reason for reason in reasons(yaml.safe_dump(job)) if "is a placeholder" in reason]
    spec = "spec.pytorchReplicaSpecs.Worker.template.spec"
    assert [reason.split(": ")[0] for reason in told] == [
        f"{spec}.containers[0].image",
        f"{spec}.volumes[0].persistentVolumeClaim.claimName",
        f"{spec}.volumes[1].secret.secretName",
    ]


def test_the_documentation_has_exactly_these_names() -> None:
    rows = re.findall(r"^\| `\$\{(SLURM_\w+)\}` \| (.+) \|$", DOCS.read_text(), re.MULTILINE)
    assert dict(rows) == variables.NAMES
