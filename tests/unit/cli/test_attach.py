"""`bridgectl attach` across what its daemon goes through: how long it waits, and what it says then."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bridge.cli import attach as module
from bridge.cli.attach import attach
from bridge.errors import BridgeError
from bridge.hook import paths
from bridge.wire.client import DaemonGone

Frame = dict[str, Any]

ATTACHED: Frame = {"kind": "attached", "ranks": 1, "notices": []}
LOST: Frame = {"kind": "waiting", "sentence": "bridged on this node has lost its memory of job 7"}
BUSY: Frame = {"kind": "busy", "sentence": "too many connections are open"}
MISMATCH: Frame = {"kind": "mismatch", "sentence": "the bridgectl is the older one"}
END: Frame = {"kind": "end", "exit": 3, "reason": "failed: rank 0 exited 3"}
REFUSED = DaemonGone("bridged on this node cannot be reached")


class Daemon:
    """Answers each connection by the next of these scripts, the last one for ever: frames, an error that breaks the
    connection, and numbers, the seconds that pass meanwhile."""

    def __init__(self, *scripts: list[Frame | Exception | float]) -> None:
        self._scripts = list(scripts)
        self.now = 1000.0
        self.questions: list[Frame] = []
        self.tokens = 0

    def ask(self, question: Frame) -> Iterator[Frame]:
        self.questions.append(dict(question))
        for item in self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, dict):
                yield item
            else:
                self.now += item

    def ask_once(self, question: Frame) -> Frame:
        self.questions.append(question)
        raise BridgeError("job 7 has no run of yours on this node")

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def token(self) -> str:
        self.tokens += 1
        return f"token {self.tokens}"


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs attach with this daemon; its exit code."""

    def run(daemon: Daemon, **options: Any) -> int:
        monkeypatch.setattr(module, "ask", daemon.ask)
        monkeypatch.setattr(module, "ask_once", daemon.ask_once)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: daemon.now, sleep=daemon.sleep))
        monkeypatch.setattr(module, "_own_token", daemon.token)
        return attach(argparse.Namespace(**{"rank": (), "all": False, "prefix": False} | options))

    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(paths, "SYSTEM", paths.Paths(config=__file__))
    yield run


@pytest.mark.parametrize(
    ("script", "known"),
    [
        ([], "it closes the connection without an answer"),
        ([BUSY], "too many connections are open"),
        ([MISMATCH], "the bridgectl is the older one"),
        ([REFUSED], "bridged on this node cannot be reached"),
    ],
)
def test_a_daemon_that_takes_no_question_is_given_up_with_what_is_known(attached: Any, script: Any, known: str) -> None:
    daemon = Daemon(script)
    with pytest.raises(BridgeError) as given_up:
        attached(daemon)
    assert 1120 < daemon.now < 1125
    assert known in str(given_up.value)
    assert "has not taken this job's question for 120 s, so the job ends here and its pods with it" in str(
        given_up.value
    )


def test_on_a_node_that_was_never_set_up_the_job_ends_at_once_with_the_cause(
    attached: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = str(tmp_path / "bridge.toml")
    nothing = paths.Paths(markers=str(tmp_path / "runs"), socket=str(tmp_path / "hook.sock"), config=config)
    monkeypatch.setattr(paths, "SYSTEM", nothing)
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    daemon = Daemon([REFUSED])
    with pytest.raises(BridgeError, match=rf"n1 cannot run .* \({config} is not there\) \[node-unconfigured\]; "):
        attached(daemon)
    assert daemon.now == 1000.0


@pytest.mark.parametrize("script", [[], [BUSY], [MISMATCH], [REFUSED]])
def test_it_asks_again_until_the_daemon_takes_the_question(attached: Any, script: Any) -> None:
    assert attached(Daemon(script, script, [ATTACHED, END])) == 3


def test_lines_that_did_not_come_are_missed_aloud(attached: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert attached(Daemon([ATTACHED, END | {"unread": [0, 3]}])) == 3
    said = capsys.readouterr().err
    assert "the last lines of rank 0, 3 did not come in time" in said and "rank 0 exited 3" in said


@pytest.mark.parametrize("broke", [[], [REFUSED]])
def test_patience_begins_when_the_connection_breaks_and_not_with_the_last_line(attached: Any, broke: Any) -> None:
    """A training may say nothing for hours before its daemon is replaced."""
    assert attached(Daemon([ATTACHED, 7200.0, *broke], [REFUSED], [], [ATTACHED, END])) == 3


def test_one_token_is_asked_for_after_a_restart_and_not_one_each_try(attached: Any) -> None:
    daemon = Daemon([ATTACHED], [], [], [], [ATTACHED, END])
    assert attached(daemon) == 3
    assert daemon.tokens == 1
    assert [question["token"] for question in daemon.questions] == [None] + ["token 1"] * 4


def test_the_next_token_is_brought_when_the_daemon_asks_for_it(attached: Any) -> None:
    daemon = Daemon([ATTACHED, {"kind": "token"}, {"kind": "token"}, END])
    assert attached(daemon) == 3, "an answer that is none holds up nothing"
    brought = [question for question in daemon.questions if question["verb"] == "token"]
    assert [(question["job"], question["restart"], question["token"]) for question in brought] == [
        (7, None, "token 1"),
        (7, None, "token 2"),
    ]


def test_an_error_is_not_asked_again(attached: Any) -> None:
    with pytest.raises(BridgeError, match="no bridge job"):
        attached(Daemon([{"kind": "error", "sentence": "job 7 is no bridge job"}]))


def test_a_run_that_its_daemon_looks_for_is_waited_for_without_end(
    attached: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    looks: list[list[Frame | Exception | float]] = [[LOST]] * 500
    daemon = Daemon(*looks, [ATTACHED, END])
    assert attached(daemon) == 3
    assert daemon.now > 1000 + 2 * module._PATIENCE
    assert daemon.tokens == 1
    assert capsys.readouterr().err.count(f"slurm-k8s-bridge: {LOST['sentence']}; attach waits") == 1


def test_patience_begins_when_nobody_looks_any_more(attached: Any) -> None:
    looks: list[list[Frame | Exception | float]] = [[LOST]] * 500
    daemon = Daemon([ATTACHED], *looks, [REFUSED])
    with pytest.raises(DaemonGone):
        attached(daemon)


@pytest.mark.parametrize(("told", "restart"), [(None, None), ("2", 2), ("two", None)])
def test_the_question_says_which_run_of_the_job_it_is_of(
    attached: Any, monkeypatch: pytest.MonkeyPatch, told: str | None, restart: int | None
) -> None:
    if told is not None:
        monkeypatch.setenv("SLURM_RESTART_COUNT", told)
    daemon = Daemon([ATTACHED, END])
    attached(daemon)
    assert daemon.questions[0]["restart"] == restart


@pytest.mark.parametrize("asks", ["it asks for the bridge, but", ""])
def test_where_the_daemon_knows_nothing_slurmctld_is_asked(
    attached: Any, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    monkeypatch.setattr(module, "without_run", lambda _: asks)
    with pytest.raises(BridgeError, match=asks or "no bridge job"):
        attached(Daemon([{"kind": "error", "sentence": "job 7 is no bridge job", "unknown": True}]))


# -- the output


def line(rank: int, text: str, position: str = "p") -> Frame:
    return {"kind": "line", "rank": rank, "stamp": position, "data": text}


def test_a_reader_that_comes_again_says_how_far_it_came(attached: Any, capfdbinary: Any) -> None:
    first: list[Frame | Exception | float] = [
        ATTACHED,
        line(0, "one\n", "p1"),
        line(1, "un", "q1"),
        line(0, "two\n", "p2"),
    ]
    daemon = Daemon(first, [], [ATTACHED, line(1, "o\xff\n", "q2"), END])
    assert attached(daemon) == 3
    assert [question["after"] for question in daemon.questions] == [{}] + [{0: "p2", 1: "q1"}] * 2
    assert capfdbinary.readouterr().out == b"one\ntwo\nuno\xff\n"


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({}, {"ranks": (), "every": False}),
        ({"rank": (1, 3)}, {"ranks": (1, 3), "every": False}),
        ({"all": True}, {"ranks": (), "every": True}),
    ],
)
def test_the_question_says_whose_output_is_wanted(attached: Any, options: Any, asked: Any) -> None:
    daemon = Daemon([ATTACHED, END])
    attached(daemon, **options)
    assert asked.items() <= daemon.questions[0].items()


def test_a_gap_is_told_where_it_is(attached: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert attached(Daemon([ATTACHED, line(0, "one\n"), {"kind": "gap", "rank": 0}, line(0, "two\n"), END])) == 3
    assert "output of rank 0 may be missing here" in capfd.readouterr().err


def test_half_a_line_gets_out_before_the_reason_and_apart_from_it(attached: Any, capfdbinary: Any) -> None:
    assert attached(Daemon([ATTACHED, line(0, "half"), END]), prefix=True) == 3
    assert capfdbinary.readouterr().out == b"[rank 0] half\n"


@pytest.mark.parametrize("text", ["", "x", "-1", "1,,2", "1;2", "9" * 8, ",".join("1" * 1025), "١"])
def test_what_is_no_rank_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([f"--rank={text}"])
    assert "ranks are up to 1024 whole numbers" in capsys.readouterr().err


def test_ranks_are_named_with_commas() -> None:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    assert parser.parse_args(["--rank", "0,31"]).rank == (0, 31)


@pytest.mark.parametrize(
    ("longest", "user", "minted"),
    [(86400, 2001, "a.b.c for 4500"), (1800, 2001, "a.b.c for 1800"), (0, 2001, None), (86400, 0, None)],
)
def test_a_token_for_as_long_as_the_job_or_as_the_site_lets_users_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, longest: int, user: int, minted: str | None
) -> None:
    """Never one of root's, which may act for everybody."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(
        f"#!/bin/sh\nseconds=${{2#lifespan=}}; seconds=${{seconds:-1800}}\n"
        f'[ "$seconds" -le {longest} ] && echo "SLURM_JWT=a.b.c for $seconds"\n'
    )
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("SLURM_JOB_END_TIME", "4600")
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: 1000.5))
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert module._own_token() == minted
