"""What the hook writes without the package `json` is what that reads."""

import json

import pytest

from bridge.hook import plain


@pytest.mark.parametrize(
    "value",
    [
        {"v": 1, "env": {"SLURM_JOB_ID": "7"}, "groups": [1, 2001], "spec": None, "bridge": True, "last": False},
        {"began": 1234.56789, "never": 1e300, "least": -0.0},
        'quotes " and \\, \n, \0, \x7f, \u00fc, \U0001f600, half a pair \ud83d',
        {'a "name"': [], "empty": {}},
        (1, ("two",)),
    ],
)
def test_json_reads_what_it_writes(value: object) -> None:
    assert json.loads(plain.dumps(value)) == json.loads(json.dumps(value))


def test_other_things_are_an_error() -> None:
    with pytest.raises(TypeError, match="no JSON of bytes"):
        plain.dumps({"comment": b"bytes"})
