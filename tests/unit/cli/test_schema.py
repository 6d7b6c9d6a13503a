"""`bridgectl schema`: what an editor is given."""

import json

import pytest

from bridge.cli.main import main
from bridge.job.schema import schema


def test_it_prints_the_schema_and_asks_no_daemon(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
