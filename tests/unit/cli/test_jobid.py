"""Jobs by the names that Slurm's people give them: elements of arrays above all."""

import json
from typing import Any

import pytest

from bridge import wellknown
from bridge.cli import slurm, sources, views
from bridge.cli.jobid import JobId, job_id
from bridge.errors import BridgeError, Misused

from .login import Login, said

_ELEMENT = """JobId={number} ArrayJobId=12 ArrayTaskId={task} JobName=train
   UserId=ml(2001) GroupId=ml(2001) MCS_label=N/A
   JobState={state} Reason=None Dependency=(null)
   NodeList=n1
   BatchHost=n1
   StdOut={home}/out
"""


def array(login: Login, *elements: tuple[int, str, str]) -> None:
    """What scontrol shows of array 12: number, task and state of each element."""
    for number, task, state in elements:
        shown = _ELEMENT.format(number=number, task=task, state=state, home=login.home)
        (login.home / f"12_{task}").write_text(shown)
        (login.home / str(number)).write_text(shown)
    whole = "\n".join((login.home / f"12_{task}").read_text() for _, task, _ in elements)
    (login.home / "12").write_text(whole)
    login.has("scontrol", f'cat {login.home}/"$3" 2>/dev/null || exit 1')
    login.has("sacct", "exit 0")


@pytest.mark.parametrize(("text", "name"), [("7", JobId(7)), ("12_0", JobId(12, 0)), ("4294967295", JobId(2**32 - 1))])
def test_a_job_and_an_element(text: str, name: JobId) -> None:
    assert job_id(text) == name and str(name) == text


_JUNK = ["", "0", "-1", "seven", "7.batch", "12_", "12_x", "12_[1-3]", "12_3_4", "٣", "7 8", "9" * 11, "k8s=" * 10_000]


@pytest.mark.parametrize("text", _JUNK, ids=lambda text: text[:10])
def test_junk_is_told_the_forms_that_there_are(text: str) -> None:
    with pytest.raises(Misused) as refused:
        job_id(text)
    assert "is no job id [jobid-unlike]; write 12, or 12_3" in str(refused.value) and len(str(refused.value)) < 200


@pytest.mark.usefixtures("login")
@pytest.mark.parametrize("verb", ["show", "explain", "logs", "shell"])
def test_every_verb_says_what_is_wrong_with_a_name(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    told = said(capsys, verb, "7.batch", code=wellknown.EXIT_USAGE)
    assert told.startswith("bridgectl: '7.batch' is no job id [jobid-unlike]; ") and told.count("\n") == 1
    told = said(capsys, verb, "12+1", code=wellknown.EXIT_USAGE)
    assert told.startswith("bridgectl: 12+1 is a part of a heterogeneous job, and the bridge takes none [het-part]; ")


def test_an_element_is_found_by_its_name(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    array(login, (15, "3", "RUNNING"), (12, "4", "PENDING"))
    login.step({"job": 15, "id": "12_3", "phase": "running", "rank": 0, "nodes": ["n1"]})
    story = json.loads(said(capsys, "explain", "12_3", "-o", "json"))
    assert (story["job"], story["id"], story["phase"]) == (15, "12_3", "running")
    assert (login.home / "words").read_text().split()[-5:-3] == ["show", "15"]
    assert said(capsys, "explain", "12_4").startswith("job 12_4, pending: ")
    assert said(capsys, "explain", "15").startswith("job 12_3, running: "), "its own number names it, too"
    assert "name one" not in said(capsys, "explain", "12_9", code=75)


def test_an_array_of_several_is_told_how_to_name_one(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    array(login, (15, "3", "RUNNING"), (14, "10", "RUNNING"), (12, "11-99", "PENDING"))
    for verb in ("show", "explain", "logs"):
        told = said(capsys, verb, "12", code=wellknown.EXIT_USAGE)
        assert told == (
            "bridgectl: job 12 is an array: 12_3, 12_10, 12_[11-99] [array-job]; name one element, such as 12_3\n"
        )
    (login.home / "12_40").write_text((login.home / "12_11-99").read_text())
    assert said(capsys, "explain", "12_40").startswith("job 12_[11-99], pending: ")
    array(login, *((100 + task, str(task), "RUNNING") for task in range(500)))
    assert "12_19 and 480 more [array-job]" in said(capsys, "explain", "12", code=wellknown.EXIT_USAGE)


def test_an_array_of_one_element_is_that_element(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    array(login, (12, "3", "PENDING"))
    assert said(capsys, "explain", "12").startswith("job 12_3, pending: ")


def test_accounting_knows_the_elements_when_slurmctld_has_forgotten(login: Login) -> None:
    login.has("scontrol", "exit 1")
    login.has("sacct", 'printf "12_3|15|ml|FAILED|1:0|/o3\\n12_4|12|ml|COMPLETED|0:0|/o4\\n"')
    found = slurm.job(JobId(12, 3))
    assert found is not None and (found.id, found.named, found.output) == (15, "12_3", "/o3")
    with pytest.raises(Misused, match="12_3, 12_4"):
        slurm.job(JobId(12))


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> dict[int, dict[str, Any]]:
    """A node's daemon: what it shows of the jobs that it knows."""
    runs: dict[int, dict[str, Any]] = {}

    def ask_once(question: dict[str, Any]) -> dict[str, Any]:
        if question["verb"] == "ps":
            return {"runs": list(runs.values())}
        if question["job"] not in runs:
            raise BridgeError("no run here")
        return {"run": runs[question["job"]]}

    monkeypatch.setattr(sources, "has_daemon", lambda: True)
    for module in (sources, views):
        monkeypatch.setattr(module, "ask_once", ask_once)
    return runs


def test_on_a_node_the_daemon_knows_the_element_without_slurm(
    login: Login, daemon: dict[int, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    login.has("scontrol", "exit 1")
    row = {"phase": "running", "rank": 0, "nodes": ["n1"], "user": "ml", "workload": "w", "sentence": ""}
    daemon[15] = row | {"job": 15, "id": "12_3", "slurm": {"output": "/o"}}
    daemon[12] = row | {"job": 12, "id": "12_4", "slurm": {"output": "/o"}}
    for words in (["12_3"], ["12_3", "--here"], ["15"]):
        assert json.loads(said(capsys, "show", *words, "-o", "json"))["job"] == 15
    assert said(capsys, "ps").splitlines()[1].split()[0] == "12_3"
    assert said(capsys, "explain", "12").startswith("job 12_4, "), "slurmctld is silent, and one element is known"
    array(login, (15, "3", "RUNNING"), (12, "4", "RUNNING"))
    assert "[array-job]; name one element, such as 12_3" in said(capsys, "explain", "12", code=wellknown.EXIT_USAGE)


def test_a_node_that_knows_no_array_has_slurm_tell_it(
    login: Login, daemon: dict[int, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    daemon[15] = {"job": 15, "id": "15", "phase": "running"}
    daemon[12] = {"job": 12, "id": "12", "phase": "running"}
    array(login, (15, "3", "RUNNING"), (12, "4", "RUNNING"))
    assert json.loads(said(capsys, "show", "12_3", "-o", "json"))["job"] == 15
    assert "[array-job]" in said(capsys, "explain", "12", code=wellknown.EXIT_USAGE)
