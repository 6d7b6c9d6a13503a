"""What slurmctld shows of a job that has no run."""

import subprocess

import pytest

from bridge.cli import asked

_SHOWN = """JobId=7 JobName=train
   UserId=ml(2001) GroupId=ml(2001) MCS_label=N/A
   Comment={comment}
   Extra={extra}
   StdOut=/home/ml/out
"""


def answering(monkeypatch: pytest.MonkeyPatch, text: str, code: int = 0) -> None:
    """scontrol says this."""
    done = subprocess.CompletedProcess([], code, text, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)


@pytest.mark.parametrize(
    ("comment", "extra", "path"),
    [
        ("my words, k8s=a.yaml", "", "a.yaml"),
        ("", "k8s=b.yaml", "b.yaml"),
        ("k8s=a.yaml | k8s: finished", "", "a.yaml"),
        ("k8s=", "", "…"),
    ],
)
def test_a_job_that_asks_for_the_bridge_is_told_what_it_asked(
    monkeypatch: pytest.MonkeyPatch, comment: str, extra: str, path: str
) -> None:
    answering(monkeypatch, _SHOWN.format(comment=comment, extra=extra))
    assert f"job 7 asks for the bridge (k8s={path}), but no prolog of it has come" in asked.without_run(7)


@pytest.mark.parametrize("text", ["", "slurm_load_jobs error", _SHOWN.format(comment="mine", extra="x")])
def test_another_job_is_not(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    answering(monkeypatch, text)
    assert asked.without_run(7) == ""


def test_without_scontrol_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", absent)
    assert asked.without_run(7) == ""
