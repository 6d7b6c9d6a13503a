"""What a test does with the stack: submit as a user, look at both worlds, break things on purpose."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import Request, urlopen

from .bridge_toml import changed
from .pod_watch import OPTIONS, PodWatch

STACK = Path(__file__).parent.parent / "stack" / "stack"
NODES = ("compute1", "compute2")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
T = TypeVar("T")
_CONFIG = "/etc/slurm-k8s-bridge/bridge.toml"
_TOKEN = "/etc/slurm-k8s-bridge/slurm-token"
_CHANGES = "/etc/slurm/changes.sed"  # slurmctld begins with these (tests/stack/slurm)
_OPERATOR = "other"  # a user of the stack, while a test has made them one
# Asks neither Kubernetes nor the bridge, so that a test may have broken both.
_LET_GO = """
for process in /proc/[0-9]*; do
    grep -q kubepods $process/cgroup && grep -qz '^SLURM_JOB_ID=%d$' $process/environ &&
        touch $process/root/tmp/let-go && echo $process
done 2>/dev/null; true
"""
# What a node says of itself, where Slurm waits for it in vain.
_LAST_WORDS = """
timeout 10 bridgectl status 2>&1 | tail -n +3
grep -h error: /var/log/slurm/slurmd.log | tail -n 5
journalctl -u slurm-k8s-bridge -n 5 --no-pager -o cat | cut -c1-300
journalctl -u kubelet -u containerd -n 300 --no-pager -o cat | grep slurm-jobs/ | tail -n 5 | cut -c1-300
true
"""
_PERIOD = 0.1  # seconds between two looks at something that sends no event


def eventually(look: Callable[[], T], seconds: float, what: str) -> T:
    """The first true answer of `look`; fails naming what did not come. It rests as long as the look took: whoever
    waits leaves the processor to what is waited for."""
    end = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        answer = look()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds:.0f} s; last seen: {answer!r}")
        time.sleep(max(_PERIOD, time.monotonic() - began))


@dataclass
class Job:
    """A submitted job and where its output goes."""

    id: int
    user: str
    output: str
    directory: str


class Stack:
    """A running stack."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.description = description
        self.namespace = str(description["namespace"])
        self.nodes: list[str] = description["nodes"]
        self.images: dict[str, str] = description["images"]
        self._disturbed = False
        self._is_clean = False  # the last test has been seen to leave it so

    @staticmethod
    def describe() -> dict[str, Any]:
        """What the stack says of itself."""
        done = subprocess.run([STACK, "status", "--json"], check=True, capture_output=True, text=True)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    # -- commands

    def exec(self, node: str, *words: str, check: bool = True, stdin: str | None = None, user: str = "") -> str:
        """Run a command on a node; its standard output."""
        command = ["docker", "exec", "-i", *(["--user", user] if user else []), self.container(node), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, input=stdin)
        if check and done.returncode:
            raise AssertionError(f"{' '.join(words)} on {node}: exit {done.returncode}: {done.stderr or done.stdout}")
        return done.stdout

    def sh(self, node: str, script: str, check: bool = True) -> str:
        """Run a line of shell on a node as root."""
        return self.exec(node, "sh", "-c", script, check=check)

    def put(self, file: Path, node: str, target: str) -> None:
        """Copy a file of this machine to a node."""
        subprocess.run(["docker", "cp", "-q", str(file), f"{self.container(node)}:{target}"], check=True)

    def container(self, service: str) -> str:
        """The container of a service."""
        return str(self.description["containers"][service])

    def docker(self, verb: str, service: str) -> None:
        """docker stop, start, restart, pause, unpause of one service.

        A container may refuse to freeze while something is being forked in it (cgroup v1): it is asked again.
        """
        words = ["docker", verb, self.container(service)]
        for last in (False, False, True):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if not done.returncode:
                return
            assert verb == "pause" and not last, f"{' '.join(words)}: {done.stderr}"

    @contextmanager
    def stopped(self, service: str) -> Iterator[None]:
        """A service that is not there: connections are refused. It is healthy again afterwards, whatever happens."""
        with self._without(service, "stop", "start"):
            yield

    @contextmanager
    def paused(self, service: str) -> Iterator[None]:
        """A service that hangs: it accepts connections and never answers. Healthy again afterwards, too."""
        with self._without(service, "pause", "unpause"):
            yield

    @contextmanager
    def _without(self, service: str, away: str, back: str) -> Iterator[None]:
        self._disturbed = True  # others end with it and come back later, as the operator with the API server
        try:
            self.docker(away, service)
            yield
        finally:
            self.docker(back, service)
            eventually(lambda: self._answers_its_probe(service), 60, f"{service} healthy again")
            if (service, back) == ("kube-apiserver", "start"):
                # Where several run, each ends with its lease and begins anew. The stack's only one has none, and its
                # garbage collector was seen to do nothing any more after the API server had begun anew (1.36).
                self.docker("restart", "kube-controller-manager")

    @contextmanager
    def slurm_conf(self, *edits: str) -> Iterator[None]:
        """slurmctld has a slurm.conf with these edits of sed. It begins anew with it and without it: 24.11.5 was seen
        to answer nobody any more after a `scontrol reconfigure`, once in some dozens of gates."""
        try:
            self.exec("slurmctld", "sh", "-c", f"cat > {_CHANGES}", stdin="\n".join(edits))
            self._slurmctld_anew()
            yield
        finally:
            self.exec("slurmctld", "rm", "-f", _CHANGES)
            self._slurmctld_anew()

    def _slurmctld_anew(self) -> None:
        self.docker("restart", "slurmctld")
        eventually(lambda: self._answers_its_probe("slurmctld"), 60, "slurmctld with its slurm.conf")
        self.await_idle(60)

    def _answers_its_probe(self, service: str) -> bool:
        inspect = ["docker", "inspect", "--format", "{{json .Config.Healthcheck.Test}}", self.container(service)]
        kind, *words = json.loads(subprocess.run(inspect, check=True, capture_output=True, text=True).stdout)
        probe = ["sh", "-c", words[0]] if kind == "CMD-SHELL" else words
        asked = subprocess.run(["docker", "exec", self.container(service), *probe], capture_output=True, check=False)
        return asked.returncode == 0

    def await_healthy(self, seconds: float = 120) -> None:
        """Until every service answers its own probe."""
        services = list(self.description["containers"])
        eventually(lambda: all(self._answers_its_probe(service) for service in services), seconds, "a healthy stack")
        self._disturbed = False

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """kubectl as the cluster's administrator."""
        done = subprocess.run(self.kubectl_command(*words), capture_output=True, text=True, check=False, input=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def refusal(self, *words: str, stdin: str | None = None) -> str:
        """What kubectl says where it is refused; '' where it is not."""
        done = subprocess.run(self.kubectl_command(*words), capture_output=True, text=True, check=False, input=stdin)
        return done.stderr if done.returncode else ""

    def answer(self, *words: str, stdin: str | None = None) -> str:
        """What kubectl says, done or refused."""
        done = subprocess.run(self.kubectl_command(*words), capture_output=True, text=True, check=False, input=stdin)
        return done.stderr if done.returncode else done.stdout

    def kubectl_command(self, *words: str) -> list[str]:
        """kubectl as the cluster's administrator, as an argument vector."""
        return [self.description["kubectl"], "--kubeconfig", self.description["admin_kubeconfig"], *words]

    def objects(self, kind: str, selector: str = "") -> list[dict[str, Any]]:
        """All objects of a kind in the jobs' namespace."""
        words = ["-n", self.namespace, "get", kind, "-o", "json", *(["-l", selector] if selector else [])]
        items: list[dict[str, Any]] = json.loads(self.kubectl(*words))["items"]
        return items

    @contextmanager
    def watching_pods(self) -> Iterator[PodWatch]:
        """An independent watcher of the pods in the jobs' namespace."""
        words = self.kubectl_command("get", "--raw", f"/api/v1/namespaces/{self.namespace}/pods?{OPTIONS}")
        watch = PodWatch()
        reader = threading.Thread(target=watch.read, args=(words,))
        reader.start()
        try:
            assert watch.begun.wait(20)
            yield watch
        finally:
            watch.end()
            reader.join()

    # -- Slurm

    def write(self, path: str, text: str, owner: str = "ml", mode: str = "644") -> None:
        """Write a file in a shared home."""
        self.exec("login", "sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path} && chown {owner}: {path} "
                  f"$(dirname {path}) && chmod {mode} {path}", stdin=text)  # fmt: skip

    def submit(
        self,
        spec: str | None,
        *options: str,
        script: str = "exec bridgectl attach",
        user: str = "ml",
        name: str = "job",
    ) -> Job:
        """sbatch as this user, in a new directory of their home; the spec goes to job.yaml in it."""
        directory = self.new_directory(user, name)
        if spec is not None:
            self.write(f"{directory}/job.yaml", spec, user)
            options = ("--comment=k8s=job.yaml", *options)
        text = f"#!/bin/bash\n{script}\n"
        words = ["sbatch", "--parsable", f"--chdir={directory}", f"--output={directory}/out", *options]
        number = self.exec("login", *words, stdin=text, user=user).strip()
        return Job(int(number.split(";")[0]), user, f"{directory}/out", directory)

    def new_directory(self, user: str, name: str) -> str:
        """An empty directory in a user's home."""
        return self.exec("login", "mktemp", "-d", f"/home/{user}/{name}-XXXXXX", user=user).strip()

    def run(self, spec: str | None, *options: str, script: str = "exec bridgectl attach", seconds: float = 60) -> Job:
        """Submit and wait until the job has ended and its nodes are idle."""
        job = self.submit(spec, *options, script=script)
        self.await_end(job, seconds)
        return job

    def await_end(self, job: Job, seconds: float = 60) -> None:
        """Until the job is over and accounted for, and both nodes idle."""
        self.await_ended([job], seconds)
        self.await_idle(30)

    def await_ended(self, jobs: Sequence[Job], seconds: float) -> None:
        """Until accounting knows the end of each of these jobs."""
        waiting = {job.id: job for job in jobs}

        def look() -> bool:
            for job in list(waiting.values()):
                if self.state(job) not in ENDED:
                    break
                del waiting[job.id]
            drained = [f"{node} {state}" for node, state in self.node_states().items() if "drain" in state]
            assert not drained, drained
            return not waiting

        eventually(look, seconds, f"end of jobs {sorted(waiting)}")

    def await_state(self, job: Job, state: str, seconds: float = 30) -> None:
        """Until slurmctld shows this job state."""
        eventually(lambda: self.show(job).get("JobState") == state, seconds, f"job {job.id} {state}")

    def await_idle(self, seconds: float = 15) -> None:
        """Until both nodes are idle, none drained; fails with what Slurm says of each, what those that are not idle say
        of themselves, and which pods are left."""
        try:
            eventually(lambda: set(self.node_states().values()) == {"idle"}, seconds, "idle nodes")
        except AssertionError as error:
            # Each node once, however many partitions it is in.
            said = dict.fromkeys(self.exec("login", "sinfo", "-h", "-N", "-o", "%N %T: %E").splitlines())
            told = [*said, self._pods_left()]
            late = [node for node, state in self.node_states().items() if state != "idle"]
            told += [f"{node}:\n{self.sh(node, _LAST_WORDS, check=False)}" for node in late]
            raise AssertionError("\n".join([str(error), *told])) from None

    def _pods_left(self) -> str:
        columns = "custom-columns=POD:.metadata.name,NODE:.spec.nodeName,DELETED:.metadata.deletionTimestamp"
        columns += ",CONTAINERS:.status.containerStatuses[*].state,INIT:.status.initContainerStatuses[*].state"
        words = self.kubectl_command("--request-timeout=5s", "-n", self.namespace, "get", "pods", "-o", columns)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def node_states(self) -> dict[str, str]:
        """Slurm's state of each node."""
        lines = self.exec("login", "sinfo", "-h", "-N", "-o", "%N %T").split("\n")
        return dict(line.split() for line in lines if line)

    def state(self, job: Job) -> str:
        """The job's state as accounting has it."""
        return self.sacct(job, "State").split(" ")[0]

    def sacct(self, job: Job, field_name: str) -> str:
        """One field of the job's own line in accounting."""
        words = ["sacct", "-X", "-n", "-P", "-j", str(job.id), "-o", field_name]
        lines = self.exec("login", *words).strip().split("\n")
        return lines[-1]

    def let_go(self, job: Job) -> None:
        """The trainings of this job go on that run `specs.UNTIL_LET_GO`, on each node where one has started."""
        script = _LET_GO % job.id
        eventually(lambda: "".join([self.sh(node, script) for node in self.nodes]), 60, f"a training of job {job.id}")

    def show(self, job: Job) -> dict[str, str]:
        """`scontrol show job`, as far as it is NAME=value."""
        text = self.exec("login", "scontrol", "show", "job", str(job.id), check=False)
        return dict(re.findall(r"^\s+(\w+)=(.*?)(?:\s+\w+=.*)?$", text, flags=re.MULTILINE)) | dict(
            re.findall(r"\b(JobState|Reason|StartTime|Restarts|ExitCode)=(\S+)", text)
        )

    def comment(self, job: Job) -> str:
        """The job's comment while slurmctld remembers the job."""
        return self.show(job).get("Comment", "")

    def output(self, job: Job) -> str:
        """The Slurm output file."""
        return self.exec("login", "cat", job.output, check=False)

    # -- the daemon's configuration

    @contextmanager
    def configured(self, *nodes: str, **changes: object) -> Iterator[None]:
        """The daemons of these nodes, by default of all, started anew with these keys; a mapping changes keys of a
        section, None takes one away."""
        before = {node: self.exec(node, "cat", _CONFIG) for node in nodes or self.nodes}
        try:
            for node, text in before.items():
                self._configure(node, changed(text, changes))
            yield
        finally:
            for node, text in before.items():
                self._configure(node, text)

    def _configure(self, node: str, text: str) -> None:
        self.exec(node, "sh", "-c", f"cat > {_CONFIG} && systemctl restart slurm-k8s-bridge", stdin=text)

    @contextmanager
    def service_token(self, tier: str, *nodes: str) -> Iterator[dict[str, Any]]:
        """The site gives the bridge on these nodes, by default on all, a Slurm token: of an operator, who is nobody
        else to Slurm and to the nodes, or in tier administrator SlurmUser's; what its section [slurmrest] says of it
        then."""
        user = "slurm" if tier == "administrator" else _OPERATOR
        words = ("install", "-m", "0600", "-o", "slurm-k8s-bridge", "/dev/stdin", _TOKEN)
        try:
            self._set_admin_level("Operator")
            token = self.exec("slurmctld", "scontrol", "token", f"username={user}", "lifespan=3600")
            for node in nodes or self.nodes:
                self.exec(node, *words, stdin=token)
            yield {"tier": tier, "service_user": user, "service_token_file": _TOKEN}
        finally:
            self._set_admin_level("None")
            for node in nodes or self.nodes:
                self.exec(node, "rm", "-f", _TOKEN)

    def _set_admin_level(self, level: str) -> None:
        self.exec("slurmctld", "sacctmgr", "-i", "modify", "user", _OPERATOR, "set", f"adminlevel={level}")

    # -- the state of things

    def make_clean(self) -> None:
        """Before a test: no job, no workload, nodes in service, all services as they should be."""
        if self._disturbed:
            # Who has watched an API server that was away asks it again up to half a minute after it is back, and is
            # healthy all the while (client-go's reflectors).
            for watcher in ("training-operator", "kube-scheduler"):
                self.docker("restart", watcher)
            self.await_healthy()
        self.registry({"mode": "ok"})
        if not self._is_clean:
            self._clean_up()
        self._is_clean = False

    def _clean_up(self) -> None:
        self.exec("login", "scancel", "--user=ml,other", "--full", check=False)
        self.exec("login", "sh", "-c", "scancel -u ml; scancel -u other", check=False)
        for node, state in self.node_states().items():
            if "drain" in state or "down" in state:
                self.exec("slurmctld", "scontrol", "update", f"nodename={node}", "state=resume", check=False)
        self.await_idle(60)
        for node in self.marked():
            self.exec("login", *visit(node), "--wait", user="ml")
        self.assert_clean()

    def assert_clean(self) -> None:
        """Nothing left anywhere: nodes idle, no workload, pod, service or run marker."""
        self._is_clean = False
        self.await_idle(30)
        for kind in ("pytorchjobs", "pods", "services"):
            eventually(lambda kind=kind: not self.names(kind), 10, f"no {kind} left")  # type: ignore[misc]
        assert self.marked() == {}
        self._is_clean = True

    def marked(self) -> dict[str, list[str]]:
        """Nodes that have markers of runs, and which."""
        found = {node: self.exec(node, "ls", "/var/lib/slurm-k8s-bridge/runs").split() for node in self.nodes}
        return {node: markers for node, markers in found.items() if markers}

    def names(self, kind: str) -> list[str]:
        """Names of all objects of a kind in the jobs' namespace."""
        return [item["metadata"]["name"] for item in self.objects(kind)]

    def registry(self, rule: dict[str, Any]) -> None:
        """Tell the registry how to answer."""
        url = f"{self.description['registry_control']}/mode"
        with urlopen(Request(url, data=json.dumps(rule).encode(), method="PUT"), timeout=5) as answer:
            assert answer.status == 200

    @contextmanager
    def registry_answering(self, mode: str, match: str = "/skb/small/") -> Iterator[None]:
        """The registry answers so to whoever asks for an image whose path matches."""
        self.registry({"mode": mode, "match": match})
        try:
            yield
        finally:
            self.registry({"mode": "ok"})

    def daemon_log(self, node: str, job: Job) -> list[dict[str, Any]]:
        """What bridged said of a job on a node."""
        lines = self.exec(node, "journalctl", "-u", "slurm-k8s-bridge", "-o", "cat", "--no-pager").split("\n")
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [event for event in events if event.get("job") == job.id]

    def epilog_answered(self, node: str, job: Job) -> float:
        """When the epilog of a job was answered on a node, in seconds since the epoch."""
        return _moment(self._epilog_answer(node, job))

    def epilog_began(self, node: str, job: Job) -> float:
        """When that epilog had come, from where the daemon counts: its line of that is some milliseconds late."""
        answer = self._epilog_answer(node, job)
        return _moment(answer) - float(answer["seconds"])

    def _epilog_answer(self, node: str, job: Job) -> dict[str, Any]:
        answers = [e for e in self.daemon_log(node, job) if e["event"] == "hook_answered" and e["phase"] == "epilog"]
        assert [answer["exit"] for answer in answers] == [0], answers
        return answers[0]

    def kill_daemon(self, node: str) -> None:
        """kill -9, and wait until systemd has started the next one."""
        pid = self.main_pid(node)
        self.exec(node, "kill", "-9", pid)
        eventually(lambda: self.main_pid(node) not in ("0", pid), 20, f"a new bridged on {node}")

    def main_pid(self, node: str) -> str:
        """The process of bridged on a node; "0" while there is none."""
        return self.exec(node, "systemctl", "show", "-p", "MainPID", "--value", "slurm-k8s-bridge").strip()


def visit(node: str) -> list[str]:
    """The words that send a job to a node that has something left: only root's hooks may look for processes, and what
    a killed one has not looked at waits for the next."""
    return ["sbatch", "--chdir=/tmp", "--output=/dev/null", "--time=1", f"--nodelist={node}", "--wrap=true"]


def _moment(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["timestamp"]).timestamp()
