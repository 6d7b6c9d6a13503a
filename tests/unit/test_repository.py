"""What the documents say must be there, and must be true."""

import re
from pathlib import Path

import pytest

from bridge.cli import exit_codes, keys, spec_page, tiers
from bridge.cli.table import as_page
from bridge.config import Config, load
from bridge.job.render import render
from tests.unit.job.given import placement, site

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


def blocks(language: str) -> list[str]:
    """Code blocks of README."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_files_that_architecture_names_exist() -> None:
    names = re.findall(r"`((?:[\w.-]+/)*[\w-]+(?:\.py|\.yaml|/))", ARCHITECTURE)
    places = [ROOT, ROOT / "bridge", ROOT / "bridge" / "engine"]
    assert len(names) > 30
    assert [name for name in names if not any((place / name).exists() for place in places)] == []


def test_every_room_is_in_architecture() -> None:
    rooms = [path for path in (ROOT / "bridge").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert [room.name for room in rooms if f"`bridge/{room.name}/`" not in ARCHITECTURE] == []


def test_the_configuration_in_readme_is_good(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    file = tmp_path / "bridge.toml"
    file.write_text(text)
    load(file)
    sections = {
        name for name in Config.model_fields if f"[{name}]" in text or f"[{name}." in text or f"`{name}" in README
    }
    assert sections == set(Config.model_fields)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_the_specs_in_readme_are_good(text: str) -> None:
    render(text.encode(), placement(), site())


def test_pages_are_what_the_code_says() -> None:
    """`make docs` makes them."""
    assert (ROOT / "docs" / "reference" / "faults.md").read_text() == as_page() + "\n"
    assert (ROOT / "docs" / "reference" / "exit-codes.md").read_text() == exit_codes.as_page() + "\n"
    assert (ROOT / "docs" / "reference" / "tiers.md").read_text() == tiers.as_page()
    assert (ROOT / "docs" / "reference" / "spec.md").read_text() == spec_page.as_page() + "\n"
    assert (ROOT / "docs" / "reference" / "bridge-toml.md").read_text() == keys.as_page() + "\n"


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", README)) - targets == set()


def test_ci_is_executable() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
