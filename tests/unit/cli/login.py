"""A login node without a daemon, as bridgectl meets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridge import wellknown
from bridge.cli.main import main

_JOB = """JobId=7 JobName=train
   UserId=ml(2001) GroupId=ml(2001) MCS_label=N/A
   JobState={state} Reason={reason} Dependency=(null)
   SubmitTime=2026-01-01T00:00:00 EligibleTime=2026-01-01T00:00:00
   StartTime=2026-01-01T00:00:05 EndTime=Unknown Deadline=N/A
   NodeList=n[1-2]
   BatchHost=n1
   Comment=k8s=job.yaml | k8s: 2/2 pods ready on n[1-2] after 3.1 s
   StdErr={home}/out
   StdOut={home}/out
"""
RUN = {"job": 7, "phase": "released", "rank": 0, "nodes": ["n1"], "fault": "rank-failed", "namespace": "jobs"}
RUN |= {"outcome": {"exit": 3, "reason": "failed: rank 0 on n1 exited 3 (Error)"}}


class Login:
    """A login node: its commands, and the home that all nodes share."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self._bin = root / "bin"
        self._bin.mkdir()
        monkeypatch.setenv("PATH", f"{self._bin}:/usr/bin:/bin")
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setattr(wellknown, "USER_SOCKET", str(root / "none.sock"))

    def has(self, command: str, script: str) -> None:
        path = self._bin / command
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def job(self, state: str, reason: str = "None") -> None:
        """What scontrol shows."""
        shown = self.home / "shown"
        shown.write_text(_JOB.format(state=state, reason=reason, home=self.home))
        self.has("scontrol", f"cat {shown}")

    def step(self, answer: object, *, code: int = 0, complaint: str = "") -> None:
        """What the step's bridgectl says; its words are kept."""
        (self.home / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))
        script = f'echo "$@" >{self.home}/words; env >{self.home}/env; cat {self.home}/answer'
        self.has("srun", f"{script}; echo '{complaint}' >&2; exit {code}")

    def left(self, job: int = 7, **changes: Any) -> Path:
        """What the epilog left."""
        path = self.home / "out.k8s.json"
        path.write_text(json.dumps({"v": 1, "written": 1, "run": {**RUN, "job": job}} | changes))
        return path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(list(words)) == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out
