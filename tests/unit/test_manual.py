"""The manual pages: in step with the code, nothing missing, and nothing in them that man(1) would stumble over."""

import re
from pathlib import Path

import pytest

from bridge import __version__, daemon, wellknown
from bridge.cli import exit_codes, roff
from bridge.cli.manual import renewed
from bridge.cli.options import Verb, bridgectl, of_parser
from bridge.config.section import Section

FOLDER = Path(__file__).parents[2] / "packaging" / "man"
PAGES = {path.name: path.read_text(encoding="ascii") for path in sorted(FOLDER.glob("*.[1-9]"))}
_MACROS = {"TH", "SH", "SS", "TP", "IP", "PP", "B", "I", "BR", "RB", "BI", "IR", "RI", "nf", "fi", "br", '\\"'}


def as_read(text: str) -> str:
    """Without fonts and escapes."""
    return re.sub(r"\\f[BIR]", "", text).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def sections(page: str) -> dict[str, str]:
    """The text below each `.SS`, by its head's words in bold."""
    parts = re.split(r"^\.SS (.*)$", page.partition("\n.SH EXIT")[0], flags=re.MULTILINE)
    return {as_read(head): as_read(text) for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_there_is_a_page_for_each_thing() -> None:
    assert set(PAGES) == {"bridgectl.1", "bridge.toml.5", "bridged.8", "slurm-k8s-bridge.7", "slurm-k8s-bridge-hook.8"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_in_step(name: str) -> None:
    """`make docs` writes them anew."""
    assert renewed(PAGES[name], daemon.parser()) == PAGES[name]
    assert f'"slurm-k8s-bridge {__version__}"' in PAGES[name].splitlines()[0]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound(name: str) -> None:
    lines = PAGES[name].splitlines()
    title, section = name.rsplit(".", 1)
    assert lines[0].startswith(f".TH {title.upper()} {section} ") and ".SH NAME" in lines
    assert {line[1:].split()[0] for line in lines if line.startswith(".")} <= _MACROS
    assert [line for line in lines if line.startswith("'") or "\t" in line or line != line.rstrip() or not line] == []
    assert [line for line in lines if len(line) > 120 and not line.startswith((".SS", "\\f"))] == []


@pytest.mark.parametrize(
    "verb", [verb for verb in bridgectl() if verb.arguments and verb.words], ids=lambda verb: " ".join(verb.words)
)
def test_no_option_of_bridgectl_is_missing(verb: Verb) -> None:
    begins = "bridgectl " + " ".join(verb.words)
    (text,) = [
        text for head, text in sections(PAGES["bridgectl.1"]).items() if re.match(rf"{begins}( [\[A-Z-]|$)", head)
    ]
    for argument in verb.arguments:
        assert re.search(rf"^\.TP\n{re.escape(', '.join(argument.flags) or argument.value)}( |$)", text, re.MULTILINE)
        assert argument.text and argument.text[1:].split()[0] in text


def test_no_option_of_bridged_is_missing() -> None:
    (command,) = of_parser(daemon.parser())
    assert len(command.arguments) == 4
    for argument in command.arguments:
        assert f".TP\n{argument.flags[0]}" in as_read(PAGES["bridged.8"])


@pytest.mark.parametrize("section", Section.__subclasses__(), ids=lambda section: section.__name__)
def test_no_key_of_bridge_toml_is_missing(section: type[Section]) -> None:
    for name, field in section.model_fields.items():
        assert re.search(rf"^\\fB{name}\\fR \(|^\.SS \[+(.*\.)?{name}[].]", PAGES["bridge.toml.5"], re.MULTILINE), name
        assert field.description or f"[{name}" in PAGES["bridge.toml.5"] or f".{name}]" in PAGES["bridge.toml.5"], name


def test_the_exit_codes_are_those_of_attach() -> None:
    for row in exit_codes.ROWS:
        assert f".TP\n{row.code}\n" in as_read(PAGES["bridgectl.1"])


@pytest.mark.parametrize("name", PAGES)
def test_its_places_are_those_of_the_code(name: str) -> None:
    named = set(re.findall(r"/(?:etc|run|var/lib)/slurm-k8s-bridge[\w./-]*\w", as_read(PAGES[name])))
    known = {value for value in vars(wellknown).values() if isinstance(value, str)}
    assert {
        path for path in named if path not in known and "metrics" not in path and "slurm-token" not in path
    } == set()


def test_what_roff_would_take_for_its_own_is_escaped() -> None:
    assert roff.plain("a-b \\ …") == "a\\-b \\e \\[u2026]"
    assert roff.prose("`x-y` is\n\n.so it is\n\n'tis") == "\\fBx\\-y\\fR is\n.PP\n\\&.so it is\n.PP\n\\&'tis"
    assert roff.item("HEAD", "") == ".TP\nHEAD\n\\&"
