"""How long a prolog waits: for a daemon that is away, is another's, says nothing, or is past its own deadline."""

import contextlib
import threading

import pytest

from bridge import clock
from bridge.hook import conversation
from tests.unit.hook.stage import Stage, needs_root

pytestmark = needs_root


def test_a_restart_of_the_daemon_is_outlived_with_the_same_question(stage: Stage) -> None:
    stage.spec()
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(), prolog=3)
    chat = stage.accepts()
    question = chat.hears()
    chat.says("hello", v=1, deadline=60)
    stage.daemon_dies()
    chat.hangs_up()
    hook.goes_on(0.2)
    stage.daemon_starts()
    chat = stage.accepts()
    assert chat.hears() == question
    chat.says("hello", v=1, deadline=60)
    chat.says("answer", exit=0)
    assert hook.ends() == (0, "")


def test_its_patience_begins_when_the_daemon_goes_however_long_that_was_there(stage: Stage) -> None:
    stage.spec()
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(), prolog=1)
    chat = stage.accepts()
    chat.hears()
    chat.says("hello", v=1, deadline=60)
    hook.goes_on(1.2)
    chat.hangs_up()
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=0)
    assert hook.ends() == (0, "")


def test_without_a_daemon_the_node_is_at_fault(stage: Stage) -> None:
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"), prolog=0.2)
    code, said = hook.ends()
    assert code == 1
    assert said.startswith("slurm-k8s-bridge: prolog of job 7 on n2: bridged did not answer for 0 s (")
    assert "No such file or directory" in said
    assert "journalctl -u slurm-k8s-bridge" in said
    assert "scontrol update nodename=n2 state=resume" in said
    assert stage.marked() == ["7"]


def test_a_node_that_was_never_set_up_lets_the_job_pass_and_stays_in_service(stage: Stage) -> None:
    stage.config.unlink()
    code, said = stage.hook("prolog", stage.job(), prolog=3).ends()
    assert code == 0
    assert said.startswith("slurm-k8s-bridge: prolog of job 7 on n1: slurm-k8s-bridge is installed here and was never ")
    assert f"{stage.config} is not there" in said and "[no-configuration]; write that file and " in said
    assert "state=resume" not in said
    assert stage.marked() == [], "and no epilog has anything to prove"


@pytest.mark.parametrize("sign", ["config", "socket", "marker", "unlistable markers"])
def test_one_sign_of_a_bridge_is_enough_to_wait_for_it(stage: Stage, sign: str) -> None:
    """A file that somebody has removed proves nothing: runs of before may still hold this node's GPUs."""
    if sign != "config":
        stage.config.unlink()
    if sign == "socket":
        stage.daemon_starts()
        assert stage._listener is not None
        stage._listener.close()
    if sign == "marker":
        stage.markers.mkdir()
        (stage.markers / "5").write_text("{}")
    if sign == "unlistable markers":
        stage.markers.write_text("")
    assert stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"), prolog=0.2).ends()[0] == 1


def test_a_daemon_of_another_protocol_is_given_time_to_be_replaced(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    chat.hears()
    chat.says("mismatch", v=2, oldest=2, sentence="the hook is the older one")
    chat.hangs_up()
    chat = stage.accepts()
    chat.hears()
    chat.says("hello", v=1, deadline=5, remaining=5)
    chat.says("answer", exit=0)
    assert hook.ends() == (0, "")


@pytest.mark.parametrize(("bridge", "gpus", "exit_code"), [(True, "", 1), (False, "", 0), (False, "0", 1)])
def test_and_when_none_comes_the_sentence_says_which_side_to_install(
    stage: Stage, bridge: bool, gpus: str, exit_code: int
) -> None:
    stage.markers.mkdir()
    (stage.markers / "5").write_text("{}")
    stage.daemon_starts()
    job = stage.job(bridge, SLURMD_NODENAME="n2", SLURM_JOB_GPUS=gpus)
    hook = stage.hook("prolog", job, prolog=2, foreign=2)
    while hook.process.poll() is None:
        with contextlib.suppress(OSError):  # nobody came, or is gone again
            chat = stage.accepts(seconds=0.1)
            chat.hears()
            chat.says("mismatch", v=2, oldest=2, sentence="the hook is the older one; install the package again")
            chat.hangs_up()
    code, said = hook.ends()
    assert code == exit_code
    assert "bridged did not answer for 2 s" in said
    assert "the hook is the older one; install the package again" in said


@pytest.mark.parametrize(
    ("hello", "answered"), [({"deadline": 0.1, "remaining": 0.1}, True), ({"deadline": 0.1}, False)]
)
def test_what_was_spent_before_the_first_word_comes_off_the_margin_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, hello: dict[str, float], answered: bool
) -> None:
    """A daemon that tells what remains has counted it already."""
    monkeypatch.setattr(conversation, "_MARGIN_LEAST", 0.1)
    stage.daemon_starts()
    question = conversation.request("prolog", True, {})
    talk = conversation.Conversation(str(stage.socket), question, dict, patience=30.0, margin=15.0, last_word=0.1)
    talk._started -= 20.0  # spent on the spec, on the token, on a daemon that was not there
    answers: list[object] = []

    def ask() -> None:
        with contextlib.suppress(conversation.NoAnswerError):
            answers.append(talk.answer())

    hook = threading.Thread(target=ask)
    hook.start()
    chat = stage.accepts()
    chat.hears()
    chat.says("hello", v=1, **hello)
    hook.join(2)
    with contextlib.suppress(OSError):  # it has given up
        chat.says("answer", exit=0)
    hook.join(5)
    assert [bool(answer) for answer in answers] == ([True] if answered else [])


def test_the_hook_tells_when_it_began(stage: Stage) -> None:
    before = clock.now()
    stage.daemon_starts()
    stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"))
    assert before <= stage.accepts().hears()["began"] <= clock.now()


def test_a_daemon_that_accepts_and_says_nothing_is_none(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"), prolog=0.5)
    stage.accepts().hears()
    code, said = hook.ends()
    assert code == 1
    assert "it accepts, but says nothing" in said


def test_past_its_own_deadline_the_daemon_has_one_last_word(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"), margin=0.1)
    chat = stage.accepts()
    chat.hears()
    chat.says("hello", v=1, deadline=0.1)
    again = stage.accepts()
    again.hears()
    again.says("answer", exit=0)
    assert hook.ends() == (0, "")


def test_and_without_it_the_last_known_state_is_said(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"), margin=0.1, last_word=0.2)
    chat = stage.accepts()
    chat.hears()
    chat.says("hello", v=1, deadline=0.4)
    chat.says("note", text="image x still pulling on n2")
    code, said = hook.ends()
    assert code == 1
    assert "no verdict in its own time" in said
    assert "last known: image x still pulling on n2" in said


def test_its_last_word_is_the_last_one(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"), margin=0.1, last_word=0.2)
    for _ in range(2):
        chat = stage.accepts()
        chat.hears()
        chat.says("hello", v=1, deadline=0.1)
    code, said = hook.ends()
    assert (code, "no verdict in its own time" in said) == (1, True)
    with pytest.raises(TimeoutError):
        stage.accepts(0.05)


def test_a_daemon_that_begins_anew_gets_no_more_time(stage: Stage) -> None:
    """Slurm's own clock goes on."""
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"), margin=0.1, last_word=0.2)
    for remaining in (0.3, 60):
        chat = stage.accepts()
        chat.hears()
        chat.says("hello", v=1, remaining=remaining)
        if remaining < 60:
            chat.hangs_up()
    code, said = hook.ends()
    assert (code, "no verdict in its own time" in said) == (1, True)
