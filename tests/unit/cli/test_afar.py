"""bridgectl where no daemon is: Slurm's own commands stand in the PATH, as scripts that say what Slurm has said."""

import json
import os
import signal
import time
from typing import Any

import pytest

from bridge import commands
from bridge.cli import shell, slurm, sources
from bridge.cli.main import main

from .login import RUN, Login, said

# -- while it runs


def test_a_job_that_runs_is_asked_by_a_step_of_its_own(
    login: Login, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    login.job("RUNNING")
    login.step(RUN | {"phase": "running", "outcome": None, "fault": None})
    monkeypatch.setenv("SLURM_JOB_ID", "8")
    monkeypatch.setenv("SECRET", "x")
    story = json.loads(said(capsys, "explain", "7", "-o", "json"))
    assert (story["phase"], story["told_by"]) == ("running", "bridged on n1, asked by a step of the job")
    words = (login.home / "words").read_text().split()
    assert {"--overlap", "--jobid=7", "--nodelist=n1", "--mem=0"} <= set(words)
    assert words[-6:] == ["/usr/bin/bridgectl", "show", "7", "-o", "json", "--here"]
    given = (login.home / "env").read_text()
    assert "SLURM_JOB_ID" not in given and "SECRET" not in given, "it may run inside of another job"


def test_what_the_nodes_bridgectl_complains_of_is_told(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    login.job("RUNNING")
    login.step("", code=1, complaint="bridgectl: job 7 has no run of yours on this node")
    assert said(capsys, "show", "7", code=75) == "bridgectl: job 7 has no run of yours on this node\n"


def test_a_step_that_slurm_refuses_is_told_with_a_way_out(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    login.job("RUNNING")
    login.step("", code=1, complaint="srun: error: Unable to create step for job 7: Access/permission denied")
    told = said(capsys, "explain", "7", code=75)
    assert "Access/permission denied [step-refused]; ask on the job" in told and told.count("\n") == 1


def test_a_step_that_ends_with_the_job_says_so(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    login.job("RUNNING")
    login.step("")
    assert "ask again in a moment" in said(capsys, "explain", "7", code=75)


@pytest.mark.parametrize("answer", ["no JSON", {"job": "seven"}, [1]])
def test_an_answer_that_is_none_is_told(login: Login, capsys: pytest.CaptureFixture[str], answer: object) -> None:
    login.job("RUNNING")
    login.step(answer)
    assert "install" in said(capsys, "explain", "7", code=75)


def test_a_command_that_hangs_is_ended(
    login: Login, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "_SECONDS", 0.5)
    login.has("scontrol", f"echo $$ >{login.home}/pid; exec sleep 60")
    assert "scontrol did not answer within" in said(capsys, "explain", "7", code=75)
    with pytest.raises(ProcessLookupError):
        os.kill(int((login.home / "pid").read_text()), 0)


def test_one_that_does_not_want_to_end_is_killed(
    login: Login, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "_SECONDS", 0.5)
    monkeypatch.setattr(commands, "_ENDING", 0.1)
    login.has("scontrol", f"trap '' TERM; echo $$ >{login.home}/pid; while :; do sleep 0.05; done")
    began = time.monotonic()
    said(capsys, "explain", "7", code=75)
    assert time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((login.home / "pid").read_text()), signal.SIGCONT)


def test_without_slurm_the_way_is_told(
    login: Login, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(login.home))
    told = said(capsys, "explain", "7", code=75)
    assert told.startswith("bridgectl: scontrol cannot be run (No such file or directory)") and "login" in told


# -- while nobody but Slurm can be asked


@pytest.mark.parametrize(
    ("state", "phase", "words"),
    [
        ("CONFIGURING None", "prolog", "its prologs run"),
        ("RUNNING Prolog", "prolog", "its prologs run"),
        ("PENDING Resources", "pending", "the job waits in the queue (Slurm: Resources)"),
        ("COMPLETING None", "release", ""),
        ("CANCELLED None", "ended", "the job has ended (CANCELLED), and no file"),
    ],
)
def test_slurm_alone(login: Login, capsys: pytest.CaptureFixture[str], state: str, phase: str, words: str) -> None:
    login.job(*state.split())
    story = json.loads(said(capsys, "explain", "7", "-o", "json"))
    assert (story["phase"], story["told_by"]) == (phase, "Slurm alone")
    assert words in story["sentence"]
    known = ["submitted", "eligible"] + (["allocated"] if phase != "pending" else [])
    assert [passed["station"] for passed in story["timeline"]] == known


def test_ps_shows_the_callers_bridge_jobs(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        "7|5_2|RUNNING|ml|n[1-2]|n1|None|k8s=a | k8s: ready",
        "8|8|PENDING|ml|||Resources|k8s=b",
        "9|9|RUNNING|ml|n3|n3|None|mine, not k8s",
    ]
    login.has("squeue", "cat <<'X'\n" + "\n".join(rows) + "\nX")
    shown = json.loads(said(capsys, "ps", "-o", "json"))
    assert [(row["job"], row["phase"], row["nodes"], row["sentence"]) for row in shown] == [
        (7, "running", ["n1", "n2"], "ready"),
        (8, "pending", [], ""),
    ]
    text = said(capsys, "ps")
    assert "ready" in text and "pending" in text and " 5_2 ml" in text
    login.has("squeue", "echo 'squeue: error: no slurmctld' >&2; exit 1")
    assert "squeue said: squeue: error: no slurmctld" in said(capsys, "ps", code=75)


# -- once it is over


def test_what_the_epilog_left_is_read(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    login.job("FAILED")
    path = login.left()
    for words in (["7"], ["--file", str(path)]):
        text = said(capsys, "explain", *words)
        assert text.splitlines()[0] == "job 7, released: rank-failed, verdict job"
        assert "cure:    see the rank's last lines in the job's output file" in text
        assert f"told by: {path}" in text
    assert json.loads(said(capsys, "show", "7", "-o", "json"))["outcome"]["exit"] == 3
    assert "outcome" in said(capsys, "show", "7")


def test_a_file_of_another_job_is_not_this_jobs(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    login.job("FAILED")
    login.left(job=6)
    assert json.loads(said(capsys, "explain", "7", "-o", "json"))["told_by"] == "Slurm alone"


def test_accounting_knows_where_it_is_when_slurmctld_has_forgotten(
    login: Login, capsys: pytest.CaptureFixture[str]
) -> None:
    login.left()
    login.has("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    login.has("sacct", f'case "$*" in *StdOut*) echo "7|7|ml|FAILED|1:0|{login.home}/out";; esac')
    assert "rank-failed" in said(capsys, "explain", "7")
    login.has("sacct", 'case "$*" in *StdOut*) exit 1;; *) echo "7|7|ml|CANCELLED by 2001|0:15";; esac')
    assert "CANCELLED" in said(capsys, "explain", "7"), "an old sacct has no such field"
    login.has("sacct", "exit 0")
    assert "name the file beside it: bridgectl explain --file" in said(capsys, "explain", "7", code=75)


@pytest.mark.parametrize(
    "changes", [{"v": 2}, {"v": "x"}, {"run": {"job": 7, "pods": {"x": 1}}}, {"run": []}, {"written": None}]
)
def test_a_file_that_is_none_is_refused_in_one_sentence(
    login: Login, capsys: pytest.CaptureFixture[str], changes: dict[str, Any]
) -> None:
    told = said(capsys, "explain", "--file", str(login.left(**changes)), code=75)
    assert "is no time line of a run that this bridgectl understands" in told and told.count("\n") == 1


def test_neither_a_fifo_nor_a_flood_holds_the_reader(
    login: Login, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = login.home / "fifo"
    os.mkfifo(fifo)
    assert "is no time line" in said(capsys, "explain", "--file", str(fifo), code=75)
    both = os.open(fifo, os.O_RDWR)
    os.write(both, login.left().read_bytes())
    assert "is no time line" in said(capsys, "explain", "--file", str(fifo), code=75), "whatever somebody puts in"
    os.close(both)
    monkeypatch.setattr(sources, "_FILE_LIMIT", 10)
    assert "is no time line" in said(capsys, "explain", "--file", str(login.left()), code=75)
    assert "cannot be read" in said(capsys, "explain", "--file", str(login.home / "none"), code=75)


def test_no_escape_sequence_reaches_a_terminal(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;evil\x07"
    pods = {"0": {"name": evil, "node": evil, "suspicion": evil, "scheduled_at": "2026-01-01T00:00:00Z"}}
    run = RUN | {"outcome": {"exit": 3, "reason": evil}, "done": [evil], "pods": pods, "phase": evil, "obstacle": evil}
    path = login.left(run=run | {"fault": evil, "hindrance": evil, "notices": [evil]})
    login.job("FAILED")
    for words in (["explain", "--file", str(path)], ["show", "7"]):
        assert "\x1b" not in said(capsys, *words) and "\x07" not in said(capsys, *words)


# -- the output


def test_logs_of_a_job_that_runs_come_by_a_step(login: Login, capfd: pytest.CaptureFixture[str]) -> None:
    login.job("RUNNING")
    login.step("epoch 1\n")
    assert main(["logs", "7", "--rank=1", "--lines=5"]) == 0
    assert capfd.readouterr().out == "epoch 1\n"
    assert (login.home / "words").read_text().split()[-4:] == ["7", "--rank=1", "--lines=5", "--here"]


def test_logs_of_a_job_that_is_over_are_its_output_file(login: Login, capfd: pytest.CaptureFixture[str]) -> None:
    login.job("COMPLETED")
    (login.home / "out").write_bytes(b"all \xff of it\n")
    assert main(["logs", "7"]) == 0
    shown = capfd.readouterr()
    told = f"job 7 does not run (Slurm: COMPLETED) [output-file]; this is its output file {login.home}/out"
    assert shown.err == f"bridgectl: {told}\n"
    (login.home / "out").unlink()
    assert main(["logs", "7"]) == 75
    assert "cannot be read: No such file or directory" in capfd.readouterr().err
    os.mkfifo(login.home / "out")
    assert main(["logs", "7"]) == 75
    assert "is no file that keeps its output" in capfd.readouterr().err


# -- the shell


def with_kubeconfig(login: Login) -> None:
    (login.home / ".kube").mkdir()
    (login.home / ".kube" / "config").touch()


def test_shell_becomes_the_callers_kubectl(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    with_kubeconfig(login)
    login.has("kubectl", "")
    login.job("RUNNING")
    login.step(RUN | {"phase": "running", "pods": {"1": {"name": "w-worker-1", "phase": "Running"}}})
    became: list[list[str]] = []
    monkeypatch.setattr(shell.os, "execv", lambda _path, words: became.append(words))  # type: ignore[attr-defined]
    main(["shell", "7", "--rank", "1", "--", "nvidia-smi", "-L"])
    main(["shell", "7", "--rank", "1"])
    head = ["--namespace", "jobs", "exec", "--stdin", "w-worker-1", "--container", "pytorch", "--"]
    assert [words[1:] for words in became] == [[*head, "nvidia-smi", "-L"], [*head, *shell._SHELL]]


def test_without_a_kubeconfig_of_ones_own_one_sentence_says_so(
    login: Login, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = said(capsys, "shell", "7", code=75)
    assert told.startswith("bridgectl: shell needs a kubeconfig of your own") and told.count("\n") == 1
    assert "srun --overlap --jobid=7 --pty bash" in told
    with_kubeconfig(login)
    monkeypatch.setenv("PATH", str(login.home))
    assert "shell needs kubectl" in said(capsys, "shell", "7", code=75)


def test_shell_of_a_rank_that_does_not_run(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    with_kubeconfig(login)
    login.has("kubectl", "")
    login.job("RUNNING")
    login.step(RUN | {"phase": "running", "pods": {"0": {"name": "w", "phase": "Pending"}}})
    assert "rank 0 of job 7 has no running pod (run: running, pod: Pending)" in said(capsys, "shell", "7", code=75)
    assert "pod: not known" in said(capsys, "shell", "7", "--rank=9", code=75)
