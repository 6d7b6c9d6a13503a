"""On what was measured."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def load() -> float:
    """Processes that want to run, of the last minute."""
    return os.getloadavg()[0]


def description() -> dict[str, Any]:
    """Of this machine."""
    memory = Path("/proc/meminfo").read_text(encoding="ascii").split("\n", 1)[0].split()[1]
    models = {
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
        if line.startswith("model name")
    }
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "cpu": ", ".join(sorted(models)),
        "memory_gb": round(int(memory) / 1e6, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }
