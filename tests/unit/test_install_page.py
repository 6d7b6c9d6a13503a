"""docs/how-to/install.md: what an admin is told to write, run and see is there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bridge import __version__, daemon, wellknown
from bridge.cli.main import VERBS, main
from bridge.cli.options import Verb, bridgectl, of_parser
from bridge.config import load
from bridge.doctor import examination
from bridge.doctor.checks import configuration, credential, identity, rights
from bridge.messages.bridgectl import NODE_UNCONFIGURED
from bridge.messages.pages import MESSAGES
from bridge.messages.submission import SPEC_RUNS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/install.md").read_text()
SHARE = "/usr/share/slurm-k8s-bridge/"  # where the packages put these folders
PACKAGING = "\n".join(
    path.read_text() for path in sorted((ROOT / "packaging").rglob("*")) if path.is_file() and path.suffix != ".md"
)


def blocks(language: str) -> list[str]:
    """Code blocks of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def calls(program: str) -> list[list[str]]:
    """The words of every call of a program, in blocks and within the text."""
    text = re.sub(r"argv: \[(.*)\]", lambda found: found[1].replace(",", ""), PAGE)
    lines = re.sub(r"`|^[$#] ", "\n", text, flags=re.MULTILINE)
    found = re.findall(rf"(?:^|[\"' /:]){program} +((?:[\w.<>/{{}}\"-][^|>#\n;']*)?)", lines, re.MULTILINE)
    return [shlex.split(words.replace("{{ ", "").replace(" }}", "")) for words in found if words.strip() != __version__]


def unknown(words: list[str], verbs: dict[tuple[str, ...], Verb]) -> Iterator[str]:
    """Verbs and options that the program does not have."""
    path: tuple[str, ...] = ()
    while words and (*path, words[0]) in verbs:
        path = (*path, words[0])
        words = words[1:]
    if not path and len(verbs) > 1 and words and not words[0].startswith("-"):
        yield words[0]
    flags = {flag for argument in verbs[path].arguments for flag in argument.flags}
    given = [re.sub(r"^(-[A-Z])\d+$", r"\1", word) for word in words if word.startswith("-")]
    yield from (flag for flag in given if flag not in flags)


@pytest.mark.parametrize("words", calls("bridgectl"), ids=" ".join)
def test_bridgectl_has_what_is_called(words: list[str]) -> None:
    assert list(unknown(words, {verb.words: verb for verb in bridgectl()})) == []


@pytest.mark.parametrize("words", [words for words in calls("bridged") if words[0][0] == "-"], ids=" ".join)
def test_bridged_has_what_is_called(words: list[str]) -> None:
    assert list(unknown(words, {verb.words: verb for verb in of_parser(daemon.parser())})) == []


def test_the_calls_are_found_and_doctor_is_the_first() -> None:
    called = [" ".join(words) for words in calls("bridgectl")]
    assert called[0] == "doctor" and {"doctor --cluster", "check first.yaml -N2", "explain 12"} <= set(called)
    assert any(call.startswith("node enroll inventory_hostname_short --server") for call in called)
    assert ["--check-config", "--config", "%s"] in calls("bridged")
    verbs = {verb.words: verb for verb in bridgectl()}
    assert list(unknown(["doctor", "--deep"], verbs)) == ["--deep"] and list(unknown(["heal"], verbs)) == ["heal"]


def test_its_places_are_those_of_the_code_and_the_package() -> None:
    known = {value for value in vars(wellknown).values() if isinstance(value, str)}
    named = set(re.findall(r"(/(?:etc|usr|run|var)/[\w./-]*\bslurm-k8s-bridge\b[\w./-]*[\w])", PAGE))
    assert {wellknown.CONFIG_FILE, wellknown.KUBECONFIG, wellknown.MARKER_DIR} <= named
    share = {path for path in named if path.startswith(SHARE)}
    assert [path for path in named - share if path not in known and path not in PACKAGING] == []
    kept = [path.removeprefix(SHARE) for path in share]
    assert (
        kept
        and [name for name in kept if not any((ROOT / above / name).exists() for above in ("packaging", "."))] == []
    )
    for directory in ("/etc/slurm/prolog.d", "/etc/slurm/epilog.d"):
        assert directory in PAGE and directory in PACKAGING


def test_its_units_and_its_files_exist() -> None:
    for unit in re.findall(r"slurm-k8s-bridge[\w-]*\.(?:service|socket|timer)", PAGE):
        assert (ROOT / "packaging/systemd" / unit).exists(), unit
    for name in re.findall(r"\[((?:packaging|rbac)/[\w./-]+)\]", PAGE):
        assert (ROOT / name).exists(), name


def test_what_is_counted_and_quoted_is_so() -> None:
    assert len(list((ROOT / "rbac/policies").glob("*.yaml"))) - 1 == 9 and "lists nine whose names" in PAGE
    checks = len(examination.NODE)
    assert f"{checks} checks: {checks} good" in PAGE
    assert f"bridgectl {__version__}\n" in PAGE
    assert f"found     {configuration.CHECK.name}: {configuration.CHECK.looks_at}\n" in PAGE
    for check in (credential.CHECK, rights.CHECK, identity.CHECK):
        assert f"good      {check.name}: {check.looks_at}\n" in PAGE
    names = {message.name for message in MESSAGES}
    assert f"`{NODE_UNCONFIGURED.name}`" in PAGE and set(re.findall(r" \[([a-z]+-[a-z-]+)\]", PAGE)) <= names


def test_the_configuration_and_the_first_job_are_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config,) = blocks("toml")
    spec, _play = blocks("yaml")
    (tmp_path / "bridge.toml").write_text(config)
    (tmp_path / "first.yaml").write_text(spec)
    assert load(tmp_path / "bridge.toml").cluster.name == "alps"
    asked = ["check", str(tmp_path / "first.yaml"), "-N2", "--config", str(tmp_path / "bridge.toml")]
    assert main([*asked, "--user", "nobody"]) == 0
    assert capsys.readouterr().out == SPEC_RUNS + "\n"
    assert f"{SPEC_RUNS}\n" in PAGE


def test_the_play_hangs_together() -> None:
    ((play,),) = [yaml.safe_load(text) for text in blocks("yaml") if "hosts:" in text]
    handlers = {handler["name"] for handler in play["handlers"]}
    tasks = play["tasks"]
    assert {task["notify"] for task in tasks if "notify" in task} == handlers
    registered = {task["register"] for task in tasks if "register" in task}
    assert registered == {"identity", "enrolled", "doctor"}
    assert play["vars"]["credential"] == wellknown.KUBECONFIG
    secret = [task for task in tasks if "enrolled" in str(task)]
    assert len(secret) == 2 and all(task["no_log"] for task in secret)


def test_no_verb_is_missed_above() -> None:
    assert {verb.words[0] for verb in bridgectl() if verb.words} == set(VERBS)
