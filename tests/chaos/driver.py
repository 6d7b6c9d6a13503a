"""Jobs come and go while faults strike, until as many lifecycles as were wanted are over and nothing moves any more."""

import math
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from bridge.messages.bridged import EPILOG_UNPROVEN
from tests.integration.specs import container_job
from tests.integration.stack import visit

from . import leaving
from .ending import gone_by, left
from .history import Drain, Ended
from .laws import own_text
from .plan import LIMIT, NONE_OF_OURS, Kind, Lifecycle, Mix, lifecycles
from .site import Site
from .striking import Faults

_PERIOD = 1.0  # seconds between two looks at Slurm
_LOOKS = 30.0  # seconds between two looks at the laws
_VISITS = 15.0  # seconds between two jobs for a node that has something left
_PATIENCE = 420.0  # seconds for the last jobs to end, once all faults are over
_ATTACHED = "attached"  # file of a job that tells when its script came to `attach`
_SUBMISSIONS = 5  # tries: slurmctld that ends resets the connection
_FORGOTTEN = 40.0  # seconds behind its prologs after which a script without output will never be started
# A job that is cancelled while it goes back into the queue keeps the last one in accounting (seen with 24.11.5).
_ENDED = re.compile(r"COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|DEADLINE|BOOT_FAIL|REQUEUED")
_ALL_TOLD = re.compile(r"^DBD Agent queue size: 0$", re.MULTILINE)  # of sdiag: slurmctld owes accounting nothing


@dataclass
class Driver:
    """`at_once`: jobs that are there at the same time, waiting ones among them."""

    site: Site
    mix: Mix
    seed: int
    count: int
    at_once: int
    faults: Faults
    look: Callable[["Driver"], None]
    """Called now and then, at the violations that there are so far."""
    issued: dict[int, Lifecycle] = field(default_factory=dict)
    """By number."""
    is_over: bool = False
    _jobs: dict[int, Lifecycle] = field(default_factory=dict)
    _folders: dict[int, str] = field(default_factory=dict)
    """Working directories, but of jobs whose submission failed and that were there nevertheless."""
    _silent: dict[int, float] = field(default_factory=dict)
    """Since when each job that runs has had no output file, as far as is known."""
    _due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _looked: float = field(default_factory=time.monotonic)
    _visited: float = 0.0
    _drained: dict[str, float] = field(default_factory=dict)
    """Until when each node is left alone that is out of service."""

    def drive(self) -> None:
        """To the end, and what is left then goes into the history."""
        for lifecycle in islice(lifecycles(self.seed, len(self.site.stack.nodes), self.mix), self.count):
            self.issued[lifecycle.number] = lifecycle
        waiting = list(self.issued.values())
        with self.faults.striking():
            while waiting:
                present = self._present()
                for lifecycle in waiting[: max(0, self.at_once - len(present))]:
                    self._submit(lifecycle)
                    waiting.remove(lifecycle)
                self.site.arming.turn()
                self._turn(len(waiting))
        self._await(lambda: not self._present(), _PATIENCE, "the last jobs")
        self._await(self._is_accounted, 60, "accounting")
        end = gone_by(time.time(), self.site.history.hooks)
        while (still := self._left()) and time.time() < end:
            self._visit()
            self._turn(0)
        self.site.history.left.extend(still)
        self._account()
        self.is_over = True

    # -- jobs

    def _submit(self, lifecycle: Lifecycle) -> None:
        job = self._submitted(lifecycle)
        self._jobs[job] = lifecycle
        word = {Kind.CANCEL: ("scancel",), Kind.REQUEUE: ("scontrol", "requeue")}.get(lifecycle.kind)
        if word:
            self._due.append((time.monotonic() + lifecycle.after, lambda: self._say(*word, str(job))))

    def _submitted(self, lifecycle: Lifecycle) -> int:
        """Its job. slurmctld may begin anew meanwhile: then somebody has to look whether the job is there. Where that
        happens during the prologs it may forget to start the script (seen with 24.11.5 and DeferBatch), and the limit
        ends the job."""
        why = ""
        for _ in range(_SUBMISSIONS):
            try:
                job, folder = self.site.user.submit(self._options(lifecycle), self._spec(lifecycle), _script(lifecycle))
            except RuntimeError as error:
                why = str(error)
                print(f"lifecycle {lifecycle.number}: {why}", file=sys.stderr)
                if found := self._found(lifecycle):
                    return found
            else:
                self._folders[job] = folder
                return job
        raise AssertionError(f"lifecycle {lifecycle.number} was not taken: {why}")

    def _options(self, lifecycle: Lifecycle) -> list[str]:
        limit = 1 if lifecycle.kind is Kind.TIME_LIMIT else LIMIT
        return [
            f"--job-name={self._name(lifecycle)}",
            f"--comment={own_text(lifecycle)}",
            f"-N{lifecycle.nodes}",
            f"--nice={100 * lifecycle.nodes}",  # else most nodes stand idle while eight are kept for one job
            f"--time={limit}",
            "--mem=500M",
            "--requeue",
            *(["--gpus-per-node=2"] if lifecycle.kind is not Kind.FOREIGN else []),
        ]

    def _spec(self, lifecycle: Lifecycle) -> str | None:
        """Its command is for `kubelets`, which looks there for how the pod is to live."""
        if lifecycle.kind in NONE_OF_OURS:
            return None
        if lifecycle.kind is Kind.BAD_SPEC:
            return lifecycle.bad_spec
        return container_job(self.site.stack.images["small"], "", command=["lifecycle", str(lifecycle.number)])

    def _name(self, lifecycle: Lifecycle) -> str:
        return f"chaos-{self.seed}-{lifecycle.number}"

    def _found(self, lifecycle: Lifecycle) -> int | None:
        """The job, which may be there although its submission failed."""
        listed: list[str] = []

        def look() -> bool:
            answer = self._ask("squeue", "-h", "-t", "all", "-o", "%A", "-n", self._name(lifecycle))
            if answer is not None:
                listed.extend(answer.split())
            return answer is not None

        self._await(look, 120, "slurmctld")
        return int(listed[0]) if listed else None

    def _say(self, *words: str) -> None:
        """Once more where slurmctld does not answer; a job that is over takes nothing."""
        try:
            self.site.user.run(*words)
        except RuntimeError as error:
            if "onnect" in str(error) or "imed out" in str(error):
                self._due.append((time.monotonic() + 1, lambda: self._say(*words)))

    def _present(self) -> list[str]:
        """Names of the jobs that are not over; all that were ever issued while nobody knows."""
        answer = self._ask("squeue", "-h", "-o", "%A|%j|%T|%r")
        if answer is None:
            return [str(number) for number in self.issued]
        lines = [line.split("|", 3) for line in answer.splitlines()]
        self._release([int(job) for job, _, _, why in lines if "held" in why])
        self._end_forgotten([int(job) for job, _, state, why in lines if (state, why) == ("RUNNING", "None")])
        return [name for _, name, _, _ in lines]

    def _release(self, held: list[int]) -> None:
        """Slurm holds a job whose prologs have failed five times, and the bridge one whose third try has failed; or one
        that it has refused, and whose owner gives it up."""
        for job in held:
            is_refused = job in self._jobs and self._jobs[job].kind is Kind.BAD_SPEC
            self._ask(*(["scancel"] if is_refused else ["scontrol", "release"]), str(job))

    def _end_forgotten(self, running: list[int]) -> None:
        """slurmctld that begins anew forgets to start the scripts of jobs that are in their prologs (seen with 24.11.5
        and DeferBatch). They would keep their nodes until their limit; their owner sees no output, and cancels them."""
        now = time.monotonic()
        self._silent = {job: self._silent.get(job, now) for job in running}
        for job in [job for job, since in self._silent.items() if now > since + _FORGOTTEN]:
            if job in self._folders and self._output(job) is None:
                self._ask("scancel", str(job))
                self._silent[job] = now
            else:
                self._silent[job] = math.inf

    def _ask(self, *words: str) -> str | None:
        try:
            return self.site.root.run(*words)
        except RuntimeError:
            return None

    # -- time

    def _turn(self, waiting: int) -> None:
        """What is due, and a rest."""
        leaving.leave_if_asked()
        for each in [due for due in self._due if due[0] <= time.monotonic()]:
            self._due.remove(each)
            each[1]()
        self._look_at_nodes()
        if time.monotonic() > self._looked + _LOOKS:
            self._looked = time.monotonic()
            self.look(self)
            strikes = sum(self.site.arming.struck.values())
            print(f"{self.count - waiting} of {self.count} lifecycles begun, {strikes} strikes", file=sys.stderr)
        time.sleep(_PERIOD)

    def _await(self, look: Callable[[], bool], seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not look():
            if time.monotonic() > end:
                self.site.history.left.append(f"{what}: not within {seconds:.0f} s")
                return
            self._turn(0)

    def _look_at_nodes(self) -> None:
        """A node that is drained is written down, and given back if nobody does that in time."""
        answer, now = self._ask("sinfo", "-h", "-N", "-p", "main", "-o", "%N|%T|%E"), time.time()
        if answer is None:
            return
        drained = {}
        for line in answer.splitlines():
            node, state, reason = line.split("|", 2)
            if re.search("drain|down|fail", state):
                if node not in self._drained:
                    self.site.history.drains.append(Drain(node, now, f"{state}: {reason}"))
                    # The daemon lifts no other drain.
                    self._drained[node] = now + (self.mix.given_back if EPILOG_UNPROVEN.name in reason else 0)
                drained[node] = self._drained[node]
        self._drained = drained
        for node in [node for node, until in drained.items() if now >= until]:
            self._ask("scontrol", "update", f"nodename={node}", "state=resume")
            del drained[node]

    # -- the end

    def _is_accounted(self) -> bool:
        """Asked when no job is there any more."""
        if not _ALL_TOLD.search(self._ask("sdiag") or ""):
            return False
        rows = self._rows()
        return all(_ENDED.match(rows[job][0]) for job in self._jobs if job in rows) and self._jobs.keys() <= rows.keys()

    def _rows(self) -> dict[int, list[str]]:
        """State, exit code, start and comment of each job, of its last run."""
        fields = "JobIDRaw,State,ExitCode,Start,Comment%2000"
        words = ("sacct", "-X", "-n", "-P", "-S", "now-1day", "-o", fields)
        found = {}
        for line in (self._ask(*words) or "").splitlines():
            number, *rest = line.split("|", 4)
            found[int(number)] = rest
        return found

    def _account(self) -> None:
        rows = self._rows()
        for job, lifecycle in self._jobs.items():
            state, code, start, comment = rows.get(job, ["UNKNOWN", "", "", ""])
            began = start not in ("None", "Unknown", "") and any(hook.job == job for hook in self.site.history.hooks)
            output = self._output(job) if lifecycle.attaches and began else None
            attached = self._read(job, _ATTACHED)
            self.site.history.ended[job] = Ended(
                lifecycle, state.split(" ")[0], code, comment, began, output, float(attached) if attached else None
            )

    def _output(self, job: int) -> str | None:
        return self._read(job, "out")

    def _read(self, job: int, name: str) -> str | None:
        """A file of its working directory."""
        try:
            return self.site.user.run("cat", f"{self._folders[job]}/{name}")
        except (KeyError, RuntimeError):
            return None

    def _left(self) -> list[str]:
        """What is still there: markers are looked for where there is nothing else."""
        return left(self.site.history.at_this_moment()) or [
            f"marker {marker} on {node}" for node, markers in self.site.stack.marked().items() for marker in markers
        ]

    def _visit(self) -> None:
        """A job comes to each node that has something left."""
        if time.monotonic() < self._visited + _VISITS:
            return
        self._visited = time.monotonic()
        for node in self.site.stack.marked():
            self._say(*visit(node))


def _script(lifecycle: Lifecycle) -> str:
    looks = "bridgectl logs $SLURM_JOB_ID >/dev/null 2>&1\n" if lifecycle.looks else ""
    attach = f"echo $EPOCHREALTIME >{_ATTACHED}\nexec bridgectl attach --prefix"
    return looks + attach if lifecycle.attaches else "true"
