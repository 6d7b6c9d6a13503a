"""Where a contract test of slurmrestd happens."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

from bridge.config.servers import Slurmrest
from bridge.slurmrest.api import Credential, SlurmRest
from bridge.slurmrest.client import SlurmRestClient
from tests.fakes.slurmrest import FakeSlurmRest, a_job
from tests.integration.contract.running import run
from tests.integration.stack import eventually


class Slurm(Protocol):
    """A cluster, and the credentials of the user ml, of somebody else, of nobody, and of an administrator."""

    rest: SlurmRest
    ml: Credential
    other: Credential
    revoked: Credential
    administrator: Credential

    def running_array(self, size: int, comment: str) -> Sequence[int]:
        """Job numbers of the elements, all running; the last bears the number of the array.

        The comment names no specification: the bridge on the nodes would take the elements for its own jobs.
        """

    def an_operator(self) -> Credential:
        """Somebody else than the user ml, who is an operator from now on."""

    def close(self) -> None: ...


class FakeSlurm:
    """In memory."""

    ml = Credential("ml", "m")
    other = Credential("other", "o")
    revoked = Credential("ml", "r")
    administrator = Credential("slurm", "s")

    def __init__(self) -> None:
        self.rest: SlurmRest
        self.rest = self._rest = FakeSlurmRest()
        self._rest.revoked.add(self.revoked.token)
        self._rest.administrators.add(self.administrator.user)

    def running_array(self, size: int, comment: str) -> Sequence[int]:
        numbers = [*range(101, 100 + size), 100]
        for task, number in enumerate(numbers):
            job = a_job(number, array_job_id=100, array_task_id=task, comment=comment)
            self._rest.jobs[number] = job
        return numbers

    def an_operator(self) -> Credential:
        self._rest.operators.add(self.other.user)
        return self.other

    def close(self) -> None:
        """Nothing is left."""


class RealSlurm:
    """The stack's. Its certificate says `slurmrestd`, which only its containers can resolve."""

    def __init__(self, stack: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self._containers: dict[str, str] = stack["containers"]
        rest = self._containers["slurmrestd"]
        network = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        address = run("docker", "inspect", "-f", network, rest)
        resolve = socket.getaddrinfo
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda host, *a, **k: resolve(address if host == "slurmrestd" else host, *a, **k)
        )
        ca = Path(stack["run_dir"]) / "nodes" / "login" / "slurmrestd-ca.pem"
        self._client = SlurmRestClient(Slurmrest(url="https://slurmrestd:6820", ca_file=ca))
        self.rest: SlurmRest = self._client
        self.ml, self.other = self._credential("ml"), self._credential("other")
        self.revoked = Credential("ml", self.other.token)
        self.administrator = self._credential("slurm")
        self._arrays: list[str] = []
        self._promoted = False

    def running_array(self, size: int, comment: str) -> Sequence[int]:
        words = ["--parsable", f"--array=0-{size - 1}", "--cpus-per-task=1", "--mem=10", "--chdir=/tmp"]
        words += ["--output=/dev/null", f"--comment={comment}", "--wrap=exec sleep 300"]
        # With `exec`: a script that is cancelled while it begins may have forked what proctrack/linuxproc does not
        # find in /proc yet, and does not kill.
        array = self._login("sbatch", *words)
        self._arrays.append(array)
        return eventually(lambda: self._running(array, size), 120, "the array runs")

    def an_operator(self) -> Credential:
        self._set_admin_level("Operator")
        self._promoted = True
        return self.other

    def close(self) -> None:
        if self._promoted:
            self._set_admin_level("None")
        self._client.close()
        if self._arrays:
            self._login("scancel", *self._arrays)

    def _running(self, array: str, size: int) -> list[int]:
        lines = self._login("squeue", "-h", "-r", "-j", array, "-t", "R", "-O", "ArrayTaskID,JobID").splitlines()
        numbers = [number for _, number in sorted((int(task), int(job)) for task, job in map(str.split, lines))]
        return numbers if len(numbers) == size else []

    def _set_admin_level(self, level: str) -> None:
        words = ("sacctmgr", "-i", "modify", "user", self.other.user, "set", f"adminlevel={level}")
        run("docker", "exec", self._containers["slurmctld"], *words)

    def _login(self, *words: str) -> str:
        return run("docker", "exec", "--user", "ml", self._containers["login"], *words)

    def _credential(self, user: str) -> Credential:
        words = ["scontrol", "token", f"username={user}", "lifespan=600"]
        token = run("docker", "exec", self._containers["slurmctld"], *words)
        return Credential(user, token.partition("=")[2])
