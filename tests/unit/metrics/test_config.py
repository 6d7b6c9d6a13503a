"""[metrics]: nowhere by default, and never into the network."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from bridge.config.metrics import Metrics


@pytest.mark.parametrize("listen", ["127.0.0.1:9847", "[::1]:9847", "localhost:9847", "unix:/run/x/metrics.sock"])
def test_ways_that_stay_on_this_node(listen: str) -> None:
    assert Metrics(listen=listen).listen == listen


_ELSEWHERE = ("0.0.0.0:9847", "10.0.0.1:9847", ":9847", "localhost.evil:1", "root@127.0.0.1:1")
_NOWHERE = ("127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:1/metrics")
_NO_SOCKET = ("unix:metrics.sock", "unix:/", "unix:/run/", "unix:/" + "x" * 107)


@pytest.mark.parametrize("listen", [*_ELSEWHERE, *_NOWHERE, *_NO_SOCKET])
def test_ways_that_leave_it_or_are_none(listen: str) -> None:
    with pytest.raises(ValidationError):
        Metrics(listen=listen)


def test_a_section_must_lead_somewhere() -> None:
    with pytest.raises(ValidationError, match="write listen or textfile_directory"):
        Metrics()
    with pytest.raises(ValidationError, match="absolute"):
        Metrics(textfile_directory=Path("here"))


def test_the_library_is_loaded_for_nobody_else() -> None:
    script = "import sys, bridge.daemon; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
