"""The hook runs on the system's own Python, which may be as old as 3.6."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.hook.stage import ROOT

FILES = [
    *sorted((ROOT / "bridge/hook").glob("*.py")),
    *(ROOT / "bridge" / name for name in ("__init__.py", "wellknown.py", "wire/__init__.py", "wire/frames.py")),
    *(ROOT / "bridge/messages" / name for name in ("__init__.py", "hook.py")),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_is_python_3_6(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_start_imports_little() -> None:
    code = "import sys; sys.path.insert(0, %r); from bridge.hook import client; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code % str(ROOT)], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert not loaded & {"argparse", "logging", "subprocess", "typing", "pwd", "glob", "threading", "asyncio"}
    assert not loaded & {"enum", "re", "collections", "functools", "signal", "socket", "json", "base64"}
    assert {name for name in loaded if name.startswith("bridge.") and not name.startswith("bridge.hook")} == {
        "bridge.messages",
        "bridge.messages.hook",
        "bridge.wellknown",
        "bridge.wire",
        "bridge.wire.frames",
    }


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.12", "3.13"])
def test_an_older_or_newer_python_imports_it(version: str) -> None:
    python = shutil.which("python" + version)
    code = "import sys; sys.path.insert(0, %r); import bridge.hook.client as c; print(c.Hook.__name__)"
    argv = [python or "", "-I", "-S", "-B", "-c", code % str(ROOT)]
    done = subprocess.run(argv, capture_output=True, check=False) if python else None
    if done is None or (done.returncode and b"pyenv" in done.stderr):
        pytest.skip(f"no python{version} here")
    assert done.stdout == b"Hook\n", done.stderr.decode()
