"""The prolog's conversation, line by line."""

import base64
import json
import signal

import pytest

from bridge.wire.messages import HookRequest
from tests.unit.hook.stage import ML, Stage, needs_root

pytestmark = needs_root


def test_a_job_of_ours_is_told_whole_and_marked_before_anybody_is_asked(stage: Stage) -> None:
    stage.spec("kind: ContainerJob\n")
    stage.scontrol_says('echo "SLURM_JWT=a.b.c for $2 $3"')
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURM_JOB_END_TIME="1700003600"))
    chat = stage.accepts()
    question = chat.hears()
    assert json.loads((stage.markers / "7").read_text()) == {
        "cluster": "test",
        "restart": 0,
        "start": 1700000000,
        "uid": ML,
        "gpus": False,
        "end": 1_700_003_600,
        "began": question["began"],
    }
    assert (question["v"], question["phase"], question["bridge"]) == (1, "prolog", True)
    assert question["env"]["SLURM_JOB_USER"] == "ml"
    assert ML in question["groups"]
    assert question["spec"]["path"] == str(stage.home / "train.yaml")
    assert base64.b64decode(question["spec"]["data"]) == b"kind: ContainerJob\n"
    assert question["token"] == "a.b.c for username=ml lifespan=1800"
    assert question["token_error"] is None
    assert HookRequest.model_validate(question).spec is not None, "the daemon reads it so"
    chat.says("hello", v=1, deadline=5)
    chat.says("note", text="waiting for 2 pods")
    chat.says("answer", exit=0, message=None, output=None, released=[])
    assert hook.ends() == (0, "")
    assert stage.marked() == ["7"]


def test_a_marker_says_which_run_of_the_job_it_is_and_whether_it_may_have_gpus(stage: Stage) -> None:
    """By this alone the door knows what a run holds whose journal is lost."""
    stage.daemon_starts()
    env = stage.job(SLURMD_NODENAME="n2", SLURM_JOB_RESTART_COUNT="2", SLURM_JOB_GPUS="0,1")
    hook = stage.hook("prolog", env)
    chat = stage.accepts()
    marker = json.loads((stage.markers / "7").read_text())
    assert (marker["restart"], marker["start"], marker["gpus"]) == (2, 1_700_000_000, True)
    chat.hears()
    chat.says("answer", exit=0)
    assert hook.ends() == (0, "")


@pytest.mark.parametrize("through", ['exec "$@" <&- >&- 2>&-', 'exec "$@" >&-', 'ulimit -n 12; exec "$@"'])
def test_neither_closed_nor_few_descriptors_change_what_it_asks(stage: Stage, through: str) -> None:
    stage.spec("kind: ContainerJob\n")
    stage.scontrol_says("echo SLURM_JWT=a.b.c")
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(), through)
    chat = stage.accepts()
    question = chat.hears()
    assert (question["token"], base64.b64decode(question["spec"]["data"])) == ("a.b.c", b"kind: ContainerJob\n")
    chat.says("answer", exit=1, message="no room", output=None)
    assert chat.sees_the_end(), "what is said to slurmd does not go into the socket"
    assert hook.ends()[0] == 1


def test_another_node_of_the_job_reads_and_mints_nothing(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    question = chat.hears()
    assert (question["spec"], question["token"], question["token_error"]) == (None, None, None)
    chat.says("answer", exit=0)
    assert hook.ends() == (0, "")


def test_what_cannot_be_read_or_minted_is_told_in_sentences(stage: Stage) -> None:
    stage.scontrol_says("echo 'slurm_fetch_token: error: Access/permission denied' >&2; exit 1")
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job())
    chat = stage.accepts()
    question = chat.hears()
    assert question["spec"]["error"].startswith(f"cannot read {stage.home}/train.yaml as user ml: no such file;")
    assert HookRequest.model_validate(question).spec is not None
    assert question["token_error"] == (
        "no Slurm token: scontrol token said: slurm_fetch_token: error: Access/permission denied "
        "[no-token]; see that root may run `scontrol token` on this node, or give the bridge a token of the site's own "
        "(slurmrest.tier in bridge.toml)"
    )
    chat.says("answer", exit=0)
    assert hook.ends()[0] == 0


def test_a_spec_that_does_not_fit_beside_the_jobs_groups_is_the_jobs_fault(stage: Stage) -> None:
    stage.spec("#" * 1024 * 1024)
    stage.daemon_starts()
    extra = {f"SLURM_LIST_{number}": "x" * 100_000 for number in range(8)}
    hook = stage.hook("prolog", stage.job(**extra))
    chat = stage.accepts()
    spec = chat.hears()["spec"]
    assert (spec["path"], spec.get("data")) == (str(stage.home / "train.yaml"), None)
    assert "is too large" in spec["error"] and spec["error"].endswith("make the file smaller")
    chat.says("answer", exit=0)
    assert hook.ends() == (0, "")


def test_exit_1_says_the_daemons_sentence(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=1, message="kubelet of n2 is dead")
    assert hook.ends() == (1, "slurm-k8s-bridge: kubelet of n2 is dead\n")


@pytest.mark.parametrize("code", [2, True, False, None, "0"])
def test_any_other_exit_is_no_leave(stage: Stage, code: object) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=code)
    assert hook.ends()[0] == 1


def test_a_refused_job_finds_the_reason_in_its_output_file(stage: Stage) -> None:
    stage.spec()
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job())
    chat = stage.accepts()
    chat.hears()
    output = stage.home / "slurm-7.out"
    chat.says("answer", exit=0, message="spec.image: is missing", output=str(output))
    assert hook.ends() == (0, "")
    assert output.read_text() == "slurm-k8s-bridge: spec.image: is missing\n"
    assert output.stat().st_uid == ML


def test_a_daemon_that_names_another_file_of_the_users_has_nothing_written(stage: Stage) -> None:
    stage.spec()
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job())
    chat = stage.accepts()
    chat.hears()
    chat.says("answer", exit=0, message="x; touch y", output=str(stage.home / ".bashrc"))
    assert hook.ends() == (0, "")
    assert [path.name for path in stage.home.iterdir()] == ["train.yaml"]


def test_sigterm_ends_it_at_once_with_the_state(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2"))
    chat = stage.accepts()
    chat.hears()
    chat.says("hello", v=1, deadline=60)
    chat.says("note", text="1/2 pods started")
    chat.says("scan", id=1, pods=[], devices=[], uid=None)
    assert chat.hears()["kind"] == "scanned", "so it has read the note, too"
    hook.process.send_signal(signal.SIGTERM)
    code, said = hook.ends()
    assert code == 1
    assert "ended by SIGTERM" in said
    assert "1/2 pods started" in said


def test_sigterm_is_no_yes_where_silence_would_be_one(stage: Stage) -> None:
    """slurmd's time-out ends a prolog that waits for an earlier run, and has no GPUs itself."""
    stage.daemon_starts()
    stage.markers.mkdir()
    (stage.markers / "5").write_text("{}")
    hook = stage.hook("prolog", stage.job(False))
    chat = stage.accepts()
    chat.hears()
    chat.says("hello", v=1, deadline=5)
    chat.says("scan", id=1, pods=[], devices=[], uid=None)
    assert chat.hears()["kind"] == "scanned"
    hook.process.send_signal(signal.SIGTERM)
    code, said = hook.ends()
    assert code == 1
    assert "ended by SIGTERM" in said


def test_a_word_within_a_word_is_none(stage: Stage) -> None:
    assert stage.hook("prolog", stage.job(False, SLURM_JOB_COMMENT="notk8s=x")).ends() == (0, "")
    assert stage.marked() == []


def test_a_job_that_is_not_ours_waits_for_the_release_of_an_earlier_run(stage: Stage) -> None:
    stage.markers.mkdir()
    (stage.markers / "5").write_text("{}")
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(False, SLURM_JOB_GPUS="0"))
    chat = stage.accepts()
    question = chat.hears()
    assert (question["bridge"], question["spec"], question["token"]) == (False, None, None)
    chat.says("hello", v=1, deadline=5)
    chat.says("scan", id=3, pods=["0b8b5a8e-0000-4000-8000-000000000001"], devices=[], uid=None)
    assert chat.hears() == {"kind": "scanned", "id": 3, "leftovers": [], "error": None}
    chat.says("answer", exit=0, released=[5])
    assert hook.ends() == (0, "")
    assert stage.marked() == []


@pytest.mark.parametrize(("gpus", "exit_code"), [("", 0), ("0,1", 1)])
def test_without_a_daemon_it_is_stopped_only_if_it_has_gpus(stage: Stage, gpus: str, exit_code: int) -> None:
    stage.markers.mkdir()
    (stage.markers / "5").write_text("{}")
    code, said = stage.hook("prolog", stage.job(False, SLURM_JOB_GPUS=gpus), foreign=0.2).ends()
    assert code == exit_code
    assert "runs of job 5 have not proven that they left this node" in said


def test_a_fault_of_the_hook_is_one_sentence(stage: Stage) -> None:
    env = stage.job(SLURMD_NODENAME="n1")
    del env["SLURM_JOB_UID"]
    code, said = stage.hook("prolog", env).ends()
    assert code == 1
    assert said.count("\n") == 1
    assert "slurmd gave no SLURM_JOB_UID" in said


def test_bytes_that_are_no_utf8_do_not_stop_it(stage: Stage) -> None:
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job(SLURMD_NODENAME="n2", SLURM_JOB_RESERVATION="\udcff"))
    chat = stage.accepts()
    assert chat.hears()["env"]["SLURM_JOB_RESERVATION"] == "�"
    chat.says("answer", exit=0)
    assert hook.ends()[0] == 0
