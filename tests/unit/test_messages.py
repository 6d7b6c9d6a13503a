"""The catalogue of messages: whole, one for each name, and nobody speaks beside it."""

import ast
import json
import re
from collections.abc import Iterable
from pathlib import Path
from string import Formatter

import pytest

from bridge.cli.catalogue import as_page, consequences
from bridge.cli.main import main
from bridge.job.faults import TABLE
from bridge.messages import Message
from bridge.messages.pages import MESSAGES, PAGES
from tests.unit.spoken import leaks, sources, strays

ROOT = Path(__file__).parents[2]
CATALOGUE = [(item.name, item.cause, item.consequence, item.cure) for item in MESSAGES]
CATALOGUE += [(row.name, row.cause, "; ".join(consequences(row)), row.cure or row.advice) for row in TABLE]
FILES = [str(path.relative_to(ROOT)) for path in sources(ROOT)]

FACTS = {
    "bridge/job/": "tables of treatments: what is said of a field stands in the row spec-refused, or in a notice",
    "bridge/slurm/environ.py": "a clause of several AllocationErrors, which the row environment tells",
    "bridge/slurmrest/client.py": "a clause of several errors of slurmrestd's answer, which rows tell",
    "bridge/kube/kubelet.py": "what the kubelet says of itself, in the row kubelet-dead",
    "bridge/store/journal.py": "SQL",
    "bridge/metrics/": "what each metric is",
    "bridge/kube/rights.py": "the table of rights, for who reviews it",
    "bridge/cli/shell.py": "a shell's command",
    "bridge/cli/submit.py": "what each option is for",
    "bridge/cli/written.py": "heads of the files that `submit` writes",
    "bridge/cli/catalogue.py": "heads of a page of the documentation",
    "bridge/cli/exit_codes.py": "a page of the documentation",
    "bridge/cli/keys.py": "a manual page",
    "bridge/cli/completion/": "scripts for shells",
    "bridge/cli/manual.py": "words of a manual page",
    "bridge/cli/spec_page.py": "a page of the documentation",
    "bridge/cli/table.py": "heads of a page of the documentation",
    "bridge/cli/tiers.py": "a page of the documentation",
    "bridge/cli/timeline.py": "names of stations, and of what is waited for",
    "bridge/cli/explain.py": "labels of the story",
    "bridge/cli/connections.py": "labels of status",
    "bridge/kube/standing.py": "why API server and node do not take each other, which the rows of faults/trust.py tell",
    "bridge/cli/doctor.py": "labels of what the checks have found",
    "bridge/doctor/checks/": "what each check looks at, and amounts that fill its messages",
    "bridge/cli/gc.py": "labels of a list of workloads, each of which has its message",
    "bridge/cli/main.py": "what each verb is for",
    "bridge/cli/views.py": "labels of status and ps",
    "bridge/cli/sources.py": "who told it",
    "bridge/engine/progress.py": "what lasts and is no fault; where it becomes one, the row image-pulling tells it",
    "bridge/engine/shown.py": "what the bridge has done about a run, beside its row",
}
OWN_ERRORS = {
    "bridge/config/__init__.py": "pydantic hands what a validator raises to `load`: config-invalid",
    "bridge/config/address.py": "the same",
    "bridge/config/checkpoints.py": "the same",
    "bridge/config/jobs.py": "the same",
    "bridge/config/metrics.py": "the same",
    "bridge/config/pod.py": "the same",
    "bridge/config/servers.py": "the same",
    "bridge/job/document.py": "SpecErrors: row spec-refused",
    "bridge/job/quantity.py": "of which its callers make a refusal with path and cure",
    "bridge/job/sieve.py": "a table that contradicts itself, at import",
    "bridge/kube/library.py": "`Session` hands it on: kubeconfig-unusable",
}
HANDED_ON = {
    ("bridge/cli/main.py", "main"): "prints a BridgeError whole, and each has a message's words",
    ("bridge/daemon.py", "main"): "the same",
    ("bridge/cli/node.py", "_renew"): "the same",
    ("bridge/cli/attach.py", "_listen"): "told by `attach-alone`",
    ("bridge/engine/tier.py", "told"): "a ConfigError whole: one of the messages about the service token",
    ("bridge/engine/adoption.py", "_listed"): "raised again where nothing was found, and told by the search",
    ("bridge/engine/identities.py", "of"): "raised again where nobody can speak: row api-kubeconfig",
    ("bridge/engine/job_words.py", "on"): "a JobWord's fault is told by `unanswered`",
    ("bridge/engine/executor.py", "_tried"): "`_run` notes whether a server answered, not what it said",
    ("bridge/engine/prolog.py", "_render"): "becomes the judgement of rows spec-refused and allocation-unfit",
    ("bridge/cli/follow.py", "_look"): "said whole, and asked again",
    ("bridge/cli/rehearsal.py", "_made"): "each reason is told by the row spec-refused",
    ("bridge/hook/conversation.py", "_try"): "told by `daemon-silent`",
    ("bridge/engine/pulse.py", "look"): "the row of the error, as for an activity",
    ("bridge/kube/credentials.py", "__init__"): "kept whole, and told by `status` as a warning",
    ("bridge/kube/credentials.py", "_reload"): "the same",
    ("bridge/kube/inquiry.py", "_refusal"): "a refusal that was asked for; where another one came, `policy-unseen`",
    ("bridge/kube/logs.py", "__iter__"): "handed to who reads the log, who meets the same rule",
    ("bridge/kube/logs.py", "_stream"): "the same",
    ("bridge/kube/stream.py", "_run"): "handed to the watch",
    ("bridge/kube/watch.py", "__iter__"): "handed to who watches, who meets the same rule",
}


def _has(places: Iterable[str], file: str) -> bool:
    return any(file == place or (place.endswith("/") and file.startswith(place)) for place in places)


@pytest.mark.parametrize("entry", CATALOGUE, ids=[entry[0] for entry in CATALOGUE])
def test_a_message_has_a_name_a_cause_a_consequence_and_a_cure(entry: tuple[str, ...]) -> None:
    name, *parts = entry
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    for part in parts:
        assert part.strip() == part != ""
        assert not re.search(r"Traceback|0x[0-9a-f]{4}|<bridge\.|<class|object at", part)
        assert not re.fullmatch(r"(it |this )?(has )?failed[.!]?", part)


def test_one_name_has_one_message() -> None:
    told, rows = [item.name for item in MESSAGES], [row.name for row in TABLE]
    assert sorted(set(told)) == sorted(told) and sorted(set(rows)) == sorted(rows)
    assert set(told) & set(rows) == {"daemon-silent"}, "a row that the hook tells, since nobody else can"
    assert len(MESSAGES) > 80


def test_a_message_is_told_with_its_name_before_the_cure() -> None:
    (forgotten,) = [item for item in MESSAGES if item.name == "job-forgotten"]
    assert forgotten.sentence(job="{7}").startswith("Slurm knows no job {7} (any more), so")
    assert " [job-forgotten]; name the file" in forgotten.sentence(job=7)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_nobody_speaks_beside_the_catalogue(file: str) -> None:
    text = (ROOT / file).read_text()
    assert strays(text, of_border=file in OWN_ERRORS, facts=_has(FACTS, file)) == []


@pytest.mark.parametrize("file", FILES, ids=str)
def test_an_errors_words_are_told_in_a_message_or_a_row(file: str) -> None:
    """So the words of servers, of frames and of refusals need no name of their own."""
    leaking = [name for name in leaks((ROOT / file).read_text()) if (file, name) not in HANDED_ON]
    assert leaking == []


def test_every_exemption_is_of_use() -> None:
    for place in (*FACTS, *OWN_ERRORS):
        files = [file for file in FILES if _has((place,), file)]
        assert any(strays((ROOT / file).read_text()) for file in files), place
    for file, name in HANDED_ON:
        assert name in leaks((ROOT / file).read_text()), (file, name)


_SPOKEN = """
raise BridgeError(f"{job} does not want to go")
print("or to stay at home", file=sys.stderr)
channel.send(_error("or to be asked for"))
why = "or to be waited for"
_say("or to be told of" if late else sentence)
raise NewError(name, "or to be named in public")
log.info("gone_away_for_good", cause="this is only a log's line")
print(MESSAGE.sentence(why="and this is a message's"))
"""


def test_a_sentence_beside_the_catalogue_would_be_found() -> None:
    said = [" does not want to go", "or to stay at home", "or to be asked for", "or to be waited for"]
    said += ["or to be told of", "or to be named in public"]
    assert sorted(strays(_SPOKEN)) == sorted(said)
    assert sorted(strays(_SPOKEN, facts=True)) == sorted(set(said) - {"or to be waited for"})


def test_a_word_of_a_server_that_is_told_as_it_is_would_be_found() -> None:
    text = """
def ask():
    try:
        server.ask()
    except Unavailable as error:
        log.warning("asked", error=str(error))
        raise ConfigError(MESSAGE.sentence(why=error)) from error
def tell():
    try:
        server.ask()
    except BridgeError as error:
        return {"sentence": f"it says {error}"}
"""
    assert leaks(text) == ["tell"]


def _fields(template: object) -> set[str]:
    """The words that a message, or a clause on one of the pages, needs."""
    text = f"{template.cause} {template.cure}" if isinstance(template, Message) else str(template)
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def _wanting(text: str) -> list[str]:
    """Messages that are told without one of their words, or with one too many."""
    found = []
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("sentence", "told", "format"):
            continue
        name, given = ast.unparse(call.func.value).rpartition(".")[2], {word.arg for word in call.keywords}
        known = [_fields(vars(page)[name]) for page in PAGES.values() if name in vars(page)]
        if known and None not in given and given not in known:
            found.append(name)
    return found


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_message_gets_the_words_that_it_needs(file: str) -> None:
    assert _wanting((ROOT / file).read_text()) == []


def test_a_word_that_is_missing_would_be_found() -> None:
    assert _wanting("messages.NO_TOKEN.told()") == ["NO_TOKEN"]
    assert _wanting("messages.NO_TOKEN.sentence()\nmessages.NO_TOKEN.sentence(why=1)") == ["NO_TOKEN"]
    assert _wanting("NO_TOKEN.sentence(why=1, whose=2)\nmessages.SCAN_UNSEEN.format(path=1)") == [
        "NO_TOKEN",
        "SCAN_UNSEEN",
    ]


REFUSALS = [file for file in FILES if file.startswith(("bridge/job/", "bridge/slurm/", "bridge/engine/placing"))]


@pytest.mark.parametrize("file", REFUSALS, ids=str)
def test_what_is_refused_in_a_spec_has_a_cure(file: str) -> None:
    """Rows spec-refused, spec-word, allocation-unfit and environment tell these as they are."""
    for call in (node for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name == "refuse" and isinstance(call.func, ast.Attribute) and file != "bridge/job/findings.py":
            assert len(call.args) == 3 and ast.unparse(call.args[2]) not in ("''", '""')
        elif name in ("AllocationError", "_refused") and "hostlist" not in file:
            said = ast.unparse(call.args[0])
            assert re.search(r"[;:] ", said) or "reason" in said, said


@pytest.mark.parametrize("name", [entry[0] for entry in CATALOGUE])
def test_bridgectl_explains_every_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{name}\nwhat:    ") and "\nmeans:   " in told and "\ncure:    " in told
    assert main(["explain", name, "-o", "json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"name", "cause", "consequence", "cure"}


def test_the_page_is_what_the_code_says() -> None:
    """`make docs` makes it."""
    assert (ROOT / "docs" / "reference" / "messages.md").read_text() == as_page() + "\n"
