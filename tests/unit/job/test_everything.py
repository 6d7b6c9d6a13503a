"""What a pod may bring is taken as it is, all of it at once; the integration tests show the outcome to Pod Security."""

import re
from typing import Any

import pytest

from bridge.job.pod_rows import POD
from bridge.job.render import render
from bridge.job.treatments import Row, Treatment
from tests import everything
from tests.unit.job.given import placement, site

KEPT = [row for row in POD if row.treatment is Treatment.KEEP]


def values(of: Any, path: str) -> list[Any]:
    """Everything that stands at this path of a row."""
    found = [of]
    for step in re.findall(r"\[\]|[^.\[\]]+", path.removesuffix(".**")):
        if step == "[]":
            found = [item for each in found for item in each]
        else:
            found = [each[step] for each in found if isinstance(each, dict) and step in each]
    return found


@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.path)
def test_every_field_that_is_kept_is_in_it(row: Row) -> None:
    """A container has one handler at a time, so what some container has is enough."""
    part = re.sub(r"^(initC|c)ontainers", "", row.path)
    ways = (row.path, f"containers{part}", f"initContainers{part}") if part != row.path else (row.path,)
    assert any(values(everything.pod(), way) for way in ways), "write it into tests/everything.py"


def test_all_of_it_passes() -> None:
    made = render(everything.pytorch_job().encode(), placement(), site())
    pod = made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    training = pod["containers"][0]
    for name, value in everything.CONTAINER.items():
        if name not in ("env", "volumeMounts", "securityContext"):
            assert training[name] == value
    for entry in everything.CONTAINER["env"]:
        assert entry in training["env"]
    for volume in everything.VOLUMES:
        assert volume["name"] in [each["name"] for each in pod["volumes"]]
