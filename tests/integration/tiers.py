"""One node in one tier, and what works there: each ability of docs/reference/tiers.md is measured."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from .callers import of_node, rendered, workloads
from .drains import gpu_held, is_released, reason
from .rows import await_training, explained, in_training, manifest
from .specs import SCRIPT_UNTIL_GO, UNTIL_LET_GO, container_job
from .stack import Job, Stack, eventually

_TOLD = "k8s=job.yaml | k8s: finished: 1/1 ranks exited 0"
_ATTACH = "exec bridgectl attach"
_SMALL = ("-n1", "--mem=128M", "-t10")
_THIRD = "--comment=k8s=job.yaml | k8s: try 2 of 3 failed, requeued: the image does not come"
_NOBODYS = 8_000_001  # a job that slurmctld does not know


@dataclass
class Measured:
    """``found``: whether each ability was there, by its name; ``outputs``: of a job that ended well, and a refused."""

    stack: Stack
    node: str
    tier: str
    found: dict[str, bool]
    delayed: Job | None = None
    outputs: tuple[str, str] | None = None

    def submit(self, spec: str | None, script: str = _ATTACH, name: str = "job", *more: str) -> Job:
        """A small job on this node."""
        return self.stack.submit(spec, "-N1", f"--nodelist={self.node}", *_SMALL, *more, script=script, name=name)

    # -- what jobs are told that come to their end

    def begin_ends(self) -> None:
        """One that trains and attaches nobody, one that ends well, one that is refused; one begins after half a minute,
        which Slurm counts as a whole one."""
        training = container_job(self.stack.images["small"], f"touch $HOME/here; {UNTIL_LET_GO}")
        self._unattached = self.submit(training, SCRIPT_UNTIL_GO)
        self._well = self.submit(container_job(self.stack.images["small"], "echo done"))
        self._refused = self.submit("kind: Sonata")
        if self.tier in ("service", "administrator"):
            before = {"name": "before", "image": self.stack.images["small"], "command": ["sleep", "31"]}
            delayed = manifest(self.stack, "sh", "-c", f"echo here; {UNTIL_LET_GO}", inits=[before])
            self.delayed = self.submit(delayed, name="delayed")

    def see_ends(self) -> None:
        """The daemon begins anew before the first of them has ended."""
        self.stack.await_ended([self._well, self._refused], 90)
        eventually(lambda: self._phase(self._unattached) == "running", 60, "a training without an attach")
        self.stack.exec(self.node, "systemctl", "restart", "slurm-k8s-bridge")
        self.stack.let_go(self._unattached)
        eventually(lambda: "exited 0" in str(self._story(self._unattached).get("sentence")), 60, "its end, seen")
        eventually(lambda: self._is_settled(self._unattached), 60, "its end, told or not")
        self.stack.exec("login", "touch", f"{self._unattached.directory}/go", user="ml")
        self.stack.await_ended([self._unattached], 60)
        self.found["comment"] = self.stack.sacct(self._well, "Comment").startswith(_TOLD)
        self.found["restart"] = self.stack.sacct(self._unattached, "Comment").startswith(_TOLD)
        refused = self.stack.sacct(self._refused, "State,ExitCode")
        self.found["cancel"] = refused.startswith("CANCELLED")
        assert self.found["cancel"] or refused == "FAILED|1:0", refused
        self.outputs = self.stack.output(self._well), self.stack.output(self._refused)
        self.found["output"] = self.outputs[0] == "done\n" and "kind" in self.outputs[1]
        assert self.stack.sacct(self._well, "State,ExitCode") == "COMPLETED|0:0"
        self.found["extend"] = self.delayed is not None and self._is_extended(self.delayed)

    def _is_settled(self, job: Job) -> bool:
        """The comment was written, or it was given up."""
        done = " ".join(self._story(job)["done"])
        return self.tier == "none" or "told in the job's comment" in done or "not told" in done

    # -- what becomes of jobs whose image does not come

    def begin_waits(self) -> None:
        """One is cancelled while its prolog waits, one waits to the end, one for the third time."""
        late = manifest(self.stack, imagePullPolicy="Always")
        self._cancelled, self._waiting = self.submit(late, name="cancelled"), self.submit(late, name="waiting")
        self._third = self.submit(late, _ATTACH, "third", _THIRD)
        eventually(lambda: self._phase(self._cancelled) == "prolog", 60, "a prolog")
        self.stack.exec("login", "scancel", str(self._cancelled.id), user="ml")

    def see_waits(self) -> None:
        """How the bridge decides about them."""
        stack = self.stack
        eventually(lambda: self._story(self._cancelled).get("verdict"), 90, "the end of a prolog")
        self.found["notice"] = self._story(self._cancelled)["row"] == "job-over"
        eventually(lambda: self._story(self._waiting).get("verdict"), 90, "the prolog's deadline")
        eventually(lambda: self._is_back(self._waiting) or self._has_failed(self._waiting), 60, "requeued, or run")
        self.found["requeue"] = self._is_back(self._waiting)
        eventually(lambda: self._is_held(self._third) or self._has_failed(self._third), 90, "held, or run")
        self.found["hold"] = self._is_held(self._third)
        told = stack.comment(self._third) if self.found["hold"] else stack.sacct(self._third, "Comment")
        assert ("try 3 of 3 failed, held: " in told) is self.found["hold"], told
        for job in (self._waiting, self._third):
            stack.exec("login", "scancel", str(job.id), user="ml", check=False)
        stack.await_ended([self._cancelled, self._waiting], 90)  # of one that is held sacct says REQUEUED for ever

    def _is_extended(self, job: Job) -> bool:
        await_training(self.stack, job)
        eventually(lambda: self.stack.show(job).get("TimeLimit") != "00:10:00", 30, "its minute back")
        self.stack.let_go(job)
        self.stack.await_ended([job], 60)
        return self.stack.sacct(job, "Timelimit") == "00:11:00"

    def _is_back(self, job: Job) -> bool:
        return int(self.stack.show(job).get("Restarts", 0)) > 0

    def _is_held(self, job: Job) -> bool:
        return self.stack.show(job).get("Reason") == "job_requeued_in_held_state"

    def _has_failed(self, job: Job) -> bool:
        return self.stack.sacct(job, "State,ExitCode") == "FAILED|75:0"

    # -- a workload that is nobody's, and a release that is not proven

    def see_orphan(self) -> None:
        """Somebody has made a workload of a run that this node knows nothing of."""
        made = rendered(self.stack, _NOBODYS, self.node)
        code, said = of_node(self.stack, self.node).ask("POST", workloads(self.stack), made)
        assert code == 201, said
        try:
            said = self.stack.exec(self.node, "bridgectl", "gc", "--dry-run", "-o", "json", check=False)
            states = {row["workload"]: row["state"] for row in json.loads(said)["workloads"]}
            self.found["orphans"] = states[made["metadata"]["name"]] == "orphan"
        finally:
            name = made["metadata"]["name"]
            self.stack.kubectl("-n", self.stack.namespace, "delete", "pytorchjob", name, "--ignore-not-found")

    def begin_drain(self, later: ExitStack) -> None:
        """An epilog is given up, since somebody holds a GPU."""
        later.enter_context(gpu_held(self.stack, self.node))
        self._unproven = in_training(self.stack, self.node, "--gpus-per-node=2")
        await_training(self.stack, self._unproven)
        self.stack.let_go(self._unproven)
        eventually(lambda: reason(self.stack, self.node), 90, f"{self.node} drained")
        self.found["drain"] = reason(self.stack, self.node).startswith("slurm-k8s-bridge slurm-demo-")
        assert self.found["drain"] or reason(self.stack, self.node) == "Epilog error"

    def see_drain(self) -> None:
        """After the GPU has been let go."""
        eventually(lambda: is_released(self.stack, self._unproven, self.node), 60, "the release, proven")
        if self.tier == "administrator":
            eventually(lambda: not reason(self.stack, self.node), 30, "a node that is resumed")
        self.found["resume"] = not reason(self.stack, self.node)
        if not self.found["resume"]:
            self.stack.exec("slurmctld", "scontrol", "update", f"nodename={self.node}", "state=resume")

    def _story(self, job: Job) -> dict[str, Any]:
        return explained(self.stack, job, self.node)

    def _phase(self, job: Job) -> object:
        return self._story(job).get("phase")
