"""bridgectl starts fast: a verb imports what it needs, and nothing else."""

import subprocess
import sys

import pytest

_CODE = """
import sys
from bridge.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""
_HEAVY = {"pydantic", "yaml", "kubernetes", "httpx", "structlog", "tenacity", "urllib3", "asyncio"}


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["status", "--help"], ["ps", "--help"], ["gc", "--help"]])
def test_no_library_is_imported_for_a_word_to_the_daemon(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _CODE, *words], capture_output=True, text=True, check=True)
    assert done.stdout
    assert not _HEAVY & set(done.stderr.split())
