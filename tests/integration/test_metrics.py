"""A run on real nodes, as Prometheus, node exporter and journalctl see it."""

import re
from pathlib import Path

from .specs import container_job
from .stack import Stack, eventually

_DIRECTORY = "/run/slurm-k8s-bridge/metrics"
_SOCKET = f"{_DIRECTORY}/metrics.sock"
_KEYS = {"listen": f"unix:{_SOCKET}", "textfile_directory": _DIRECTORY, "textfile_period": 1.0}
_ASK = f"curl -sS --max-time 5 --unix-socket {_SOCKET} http://localhost/metrics"
_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "log-events.md"


def test_a_run_is_counted_and_told(stack: Stack) -> None:
    with stack.configured("compute1", metrics=_KEYS):
        job = stack.run(container_job(stack.images["small"], "echo done"), "--nodelist=compute1")
        assert stack.sacct(job, "State") == "COMPLETED"
        told = stack.sh("compute1", f"setpriv --reuid=nobody --clear-groups {_ASK}")
        assert value(told, 'runs_total{verdict="started"}') == 1.0
        assert value(told, 'trainings_total{outcome="succeeded"}') == 1.0
        assert value(told, 'requests_total{code="201",server="kubernetes",verb="POST"}') >= 1.0
        assert value(told, 'server_down_seconds{namespace="",server="kubernetes"}') == 0.0
        assert value(told, 'expiry_timestamp_seconds{what="kubernetes token"}') > 1.0e9
        assert value(told, "process_resident_memory_bytes") < 85e6
        eventually(lambda: 'runs_total{verdict="started"} 1.0' in written(stack), 10, "the file has it")
        (pattern,) = re.findall(r"-o cat --grep '(\"job\": )1234", _PAGE.read_text())
        filtered = f"""journalctl -u slurm-k8s-bridge -o cat --grep '{pattern}{job.id}[,}}]'"""
        lines = stack.sh("compute1", filtered).splitlines()
        events = [match[1] for line in lines if (match := re.search(r'"event": "(\w+)"', line))]
        assert [name for name in events if name in ("hook_arrived", "hook_answered")] == [
            "hook_arrived",
            "hook_answered",
        ] * 2
        assert "outcome" in events and all('"node": "compute1"' in line for line in lines)
    assert stack.sh("compute1", f"ls {_DIRECTORY}") == "", "without the section there is nothing"


def value(told: str, series: str) -> float:
    """Of one line."""
    (found,) = [line.split()[-1] for line in told.splitlines() if line.startswith(f"slurm_k8s_bridge_{series} ")]
    return float(found)


def written(stack: Stack) -> str:
    """As node exporter's user reads it."""
    return stack.sh("compute1", f"setpriv --reuid=nobody --clear-groups cat {_DIRECTORY}/slurm-k8s-bridge.prom", False)
