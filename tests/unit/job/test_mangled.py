"""Whatever a file holds, the answer is a workload or a refusal, never another exception."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from bridge.errors import SpecError
from bridge.job.render import render
from tests.unit.job.given import HERE, placement, site

ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, 10**18, "", "x", "/", "\u2028", [], [None], [[]], ["x"], {}, {"x": {}})

ROUNDS = 400


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("path", sorted((HERE / "specs").glob("*.yaml")), ids=lambda path: path.stem)
def test_any_value_may_be_any_other(path: Any) -> None:
    chance, whole = random.Random(path.stem), yaml.safe_load(path.read_bytes())
    refused = 0
    for _ in range(ROUNDS):
        document = copy.deepcopy(whole)
        for _ in range(chance.randint(1, 2)):
            holder, key = chance.choice(list(places(document)))
            holder[key] = copy.deepcopy(chance.choice(ODD))
        try:
            render(json.dumps(document).encode(), placement(), site())
        except SpecError as error:
            refused += 1
            assert all(": " in reason and "; " in reason and "\n" not in reason for reason in error.reasons)
    assert ROUNDS / 10 < refused < ROUNDS
