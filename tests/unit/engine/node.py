"""One node wired as `bridge.daemon` wires it, over the fakes: real sockets, journal, engine and threads.

`Node.crash` stands in for kill -9: from that moment no thread of the old daemon reaches a server or the
journal, its connections break, and a new daemon starts on what was written.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bridge.config import Config
from bridge.engine import events
from bridge.engine.adoption import Adopter
from bridge.engine.cluster_work import ClusterWork
from bridge.engine.executor import Executor
from bridge.engine.hooks import HookDoor
from bridge.engine.identities import Identities
from bridge.engine.inbox import Happened, Stop
from bridge.engine.job_words import asking, asking_as_owner
from bridge.engine.logs import LogHub
from bridge.engine.loop import Engine, Watcher
from bridge.engine.node_work import NodeWork
from bridge.engine.reconciler import Reconciler
from bridge.engine.recover import replayed
from bridge.engine.release_work import ReleaseWork
from bridge.engine.slurm_work import SlurmWork
from bridge.engine.state import Mark, Run
from bridge.engine.users import UserDoor
from bridge.errors import ConfigError, Unavailable
from bridge.job.ids import RunKey
from bridge.kube.api import Kubernetes
from bridge.kube.by_namespace import ByNamespace
from bridge.slurmrest.service import service_token
from bridge.store.journal import Journal
from bridge.store.markers import Marker
from bridge.wire.frames import FRAME_LIMIT, Channel
from bridge.wire.peercred import Peer
from bridge.wire.server import Bounds, Handler, Server, listener
from tests.failpoints.failpoint import Failpoints
from tests.fakes.kubelet import FakeKubelet
from tests.fakes.kubernetes import FakeKubernetes
from tests.fakes.slurmrest import FakeSlurmRest

from .clients import OWNER, PATIENCE, Attach, Finds, Hook, Job, MortalHook, connected, question
from .mortal import Connection, Deadly, Killed, MortalJournal, Perils

Runs = Mapping[RunKey, Run]

_BOUNDS = Bounds(others=128, root=64, frame=FRAME_LIMIT)  # whoever runs the tests


class Daemon:
    """One life of bridged on a node."""

    def __init__(self, node: "Node") -> None:
        config = node.config
        self._node = node
        own, rest = self._reached("kubernetes", node.kube), self._reached("slurmrest", node.rest)
        self._connections = [own, rest]
        identities = Identities(config, own, lambda path: self._connected(node, path), self._runs)
        kube = ByNamespace(own, identities.of)
        self.hub = LogHub(kube)
        self._journal = MortalJournal(config.journal_dir, node.perils, node.failpoints)
        self.engine = Engine(config, self._journal, self.hub, node.is_marked, node.all_marked, node.watch)
        works = ClusterWork(config, kube, self.hub, self.engine.known).works()
        works |= ReleaseWork(config, kube, node.name, self.engine.known).works()
        works |= NodeWork(
            config,
            kube,
            self._reached("kubelet", node.kubelet),
            lambda: node.full_disk,
            f"boot-{node.name}",
            identities.of,
        ).works()
        service, ask, as_owner, slurm = None, None, None, None
        if config.slurmrest is not None:
            slurm, service = rest, service_token(config.slurmrest)
            works |= SlurmWork(config, rest, self.engine.credential, service).works()
            ask, as_owner = asking(rest, service), asking_as_owner(rest, self.engine.credential)
        runs, post = (lambda: self.engine.runs), self.engine.happened
        adopter = Adopter(config, kube, runs, node.name, node.markers.get, post, ask, slurm)
        marked, tell = node.all_marked, self.engine.post
        self.reconciler = Reconciler(config, kube, runs, node.name, ask, adopter.take_up, as_owner, marked, tell)
        self._executor = Executor(works, self.engine.came)
        hooks = HookDoor(self.engine)
        users = UserDoor(config, self.engine, self.hub, node.name, self.reconciler, adopter, service)
        self.servers = [
            Server("hook", listener("hook", node.hook_socket, 0o600), self._from(lambda: 0, hooks), _BOUNDS),
            Server(
                "user", listener("user", node.user_socket, 0o666), self._from(lambda: node.peer_uid, users), _BOUNDS
            ),
        ]
        self._reconciles = node.reconciles
        self.recovered: Runs = {}

    def _runs(self) -> Iterable[Run]:
        return self.engine.known()

    def _connected(self, node: "Node", kubeconfig: Path) -> Connection:
        self._connections.append(self._reached("kubernetes", node.connect(kubeconfig)))
        return self._connections[-1]

    def _reached(self, port: str, server: object) -> Connection:
        return Connection(port, server, self._node.failpoints, self._die)

    def _die(self) -> None:
        """kill -9 from any thread: nothing of what it was about to do is done."""
        if threading.current_thread() is self._node.thread:
            raise Killed
        deadly: Any = Deadly()
        self.engine.post(Happened(deadly, events.Ticked(0.0)))
        eventually(lambda: self._connections[0].cut)
        raise Unavailable("the process that asks is dead")

    def _from(self, uid: Callable[[], int], door: Handler) -> Handler:
        """The door, told that this user knocks."""

        def handle(channel: Channel, peer: Peer) -> None:
            said = channel.send

            def send(message: dict[str, Any]) -> None:
                try:
                    self._node.failpoints.around(f"reply.{message['kind']}", lambda: said(message), self._die)
                except (OSError, Unavailable) as error:
                    with suppress(OSError):
                        channel.sock.shutdown(socket.SHUT_RDWR)
                    raise OSError("the peer is gone") from error

            with patch.object(channel, "send", send):
                door(channel, Peer(peer.pid, uid(), peer.gid))

        return handle

    def start(self) -> bool:
        """Until it would say ready; whether it came to that and was not killed."""
        try:
            self.engine.recover(self._executor)
        except Killed:
            for server in self.servers:
                server.start()  # else there is nothing that `_vanish` could stop
            self._vanish()
            return False
        self.recovered = self.engine.runs
        for server in self.servers:
            server.start()
        if self._reconciles:
            self.reconciler.start()
        return True

    def serve(self) -> bool:
        """Until it ends; whether it was killed."""
        try:
            self.engine.run()
        except Killed:
            self._vanish()
            return True
        self.reconciler.stop()
        for server in self.servers:
            server.stop()
        return False

    def _vanish(self) -> None:
        """What the kernel does with the process."""
        for connection in self._connections:
            connection.cut = True
        for server in self.servers:
            server.stop()
        self.reconciler.stop()
        self._executor.stop_all()
        self._journal.close()


def no_kubeconfig(path: Path) -> Kubernetes:
    """There is no file here but the node's own."""
    raise ConfigError(f"{path}: cannot be used as a kubeconfig: No such file or directory")


class Node:
    """A node with its directory; ``peer_uid`` is who knocks at the user socket. With ``reconciles`` the daemon looks
    after its workloads by itself."""

    def __init__(
        self,
        name: str,
        directory: Path,
        config: Config,
        kube: FakeKubernetes,
        rest: FakeSlurmRest,
        reconciles: bool = False,
        connect: Callable[[Path], Kubernetes] = no_kubeconfig,
    ) -> None:
        directory.mkdir(exist_ok=True)
        self.name = name
        self.reconciles = reconciles
        self.config = config.model_copy(update={"journal_dir": directory})
        self.kube = kube
        self.connect = connect
        self.rest = rest
        self.kubelet = FakeKubelet()
        self.full_disk = ""
        self.markers: dict[int, Marker | None] = {}  # None: damaged
        self.hook_socket = directory / "hook.sock"
        self.user_socket = directory / "user.sock"
        self.peer_uid = OWNER
        self.watchers: list[Watcher] = []
        self.perils = Perils()
        self.failpoints = Failpoints()
        self.lives = 0
        self._ending = threading.Event()
        self.thread = threading.Thread(target=self._live, name=f"bridged-{name}")
        self._daemon = Daemon(self)

    # -- its life

    def start(self) -> "Node":
        """The daemon starts; when it is killed, systemd starts the next one."""
        self._daemon.start()
        self.thread.start()
        return self

    def watch(self, before: Run | None, after: Run) -> None:
        """A run has changed."""
        for watcher in self.watchers:
            watcher(before, after)

    def stop(self) -> None:
        """SIGTERM."""
        self._ending.set()
        if self.thread.is_alive():
            self.engine.post(Stop())
            self.thread.join()

    def crash(self) -> tuple[Runs, Runs]:
        """kill -9, and a new daemon: the runs in the old one's memory, and those that the new one recovered."""
        old = self._daemon
        deadly: Any = Deadly()
        old.engine.post(Happened(deadly, events.Ticked(0.0)))
        lives = self.lives
        eventually(lambda: self.lives > lives)
        return old.engine.runs, self._daemon.recovered

    def _live(self) -> None:
        while self._daemon.serve() and not self._ending.is_set():
            while not self._begins_anew():
                pass
            self.lives += 1
            if self._ending.is_set():
                self.engine.post(Stop())  # `stop` may have told the daemon before

    def _begins_anew(self) -> bool:
        """Whether the next daemon came to be ready."""
        try:
            self._daemon = Daemon(self)
        except Killed:
            return False
        return self._daemon.start()

    @property
    def engine(self) -> Engine:
        """The engine of the daemon that lives now."""
        return self._daemon.engine

    @property
    def hub(self) -> LogHub:
        """Its output."""
        return self._daemon.hub

    @property
    def connections(self) -> int:
        """How many there are on both sockets."""
        return sum(server.connections for server in self._daemon.servers)

    @property
    def reconciler(self) -> Reconciler:
        """Its reconciler."""
        return self._daemon.reconciler

    # -- what it knows

    def run(self, job: Job) -> Run:
        """What it knows of this run."""
        return self.engine.runs[job.key]

    def until(self, true: Callable[[Run], object], job: Job) -> Run:
        """Waits until this is true of the run."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            engine = self.engine
            with engine.changed:
                run = engine.runs.get(job.key)
                if run is not None and true(run):
                    return run
                engine.changed.wait(0.02)
        raise AssertionError(f"never came: {self.engine.runs}")

    def journalled(self) -> list[tuple[str, events.Event]]:
        """Its journal's lines."""
        journal = Journal(self.config.journal_dir)
        lines = [(line.run, events.from_json(line.body)) for line in journal.lines()]
        journal.close()
        return lines

    def replayed(self) -> Runs:
        """What a daemon would know that started now."""
        journal = Journal(self.config.journal_dir)
        runs = replayed(self.config, journal)
        journal.close()
        return runs

    # -- who comes to it

    def prolog(self, job: Job, finds: Finds = (), **changes: object) -> Hook:
        """slurmd runs the prolog of a bridge job."""
        self.mark(job)
        return Hook(self.hook_socket, job.prolog(self.name) | changes, finds, markers=self.markers)

    def mortal_prolog(self, job: Job) -> MortalHook:
        """The same, and slurmd may kill it."""
        self.mark(job)
        return MortalHook(self.hook_socket, job.prolog(self.name))

    def epilog(self, job: Job, finds: Finds = (), *, may_scan: bool = True, **changes: object) -> Hook:
        """slurmd runs the epilog of a bridge job."""
        asked = job.epilog(self.name) | changes
        return Hook(self.hook_socket, asked, finds, may_scan=may_scan, markers=self.markers)

    def mortal_epilog(self, job: Job) -> MortalHook:
        """The same, and slurmd may kill it."""
        return MortalHook(self.hook_socket, job.epilog(self.name))

    def mortal_foreign_prolog(self, job_id: int) -> MortalHook:
        """A foreign prolog that slurmd may kill."""
        return MortalHook(self.hook_socket, question("prolog", False, {"SLURM_JOB_ID": str(job_id)}))

    def bare_epilog(self, job: Job, finds: Finds = (), **changes: object) -> Hook:
        """slurmd runs an epilog that has nothing but the job's number."""
        asked = question("epilog", True, {"SLURM_JOB_ID": str(job.id)}) | changes
        return Hook(self.hook_socket, asked, finds, markers=self.markers)

    def foreign_prolog(self, job_id: int, finds: Finds = ()) -> Hook:
        """slurmd runs the prolog of a job that is none of ours, and some run's marker is there."""
        asked = question("prolog", False, {"SLURM_JOB_ID": str(job_id)})
        return Hook(self.hook_socket, asked, finds, markers=self.markers)

    def is_marked(self, mark: Mark) -> bool:
        """As `bridge.store.markers.may_name` has it."""
        if mark.job_id not in self.markers:
            return False
        found = self.markers[mark.job_id]
        return found is None or mark.start in (None, found.start)

    def all_marked(self) -> dict[int, Marker | None]:
        """As `bridge.store.markers.all_there` has it."""
        return self.markers.copy()

    def mark(self, job: Job) -> None:
        """As the prolog's hook does first of all."""
        self.markers[job.id] = Marker(job.restart, job.start, OWNER, job.gpus > 0)

    def attach(self, job: Job, **told: object) -> Attach:
        """The batch script runs `bridgectl attach`, which tells this besides the job."""
        return Attach(self.user_socket, job.id, **told)

    def ask(self, **request: object) -> dict[str, Any]:
        """One question of `bridgectl`, and the first frame of its answer."""
        channel = connected(self.user_socket)
        try:
            channel.send({"v": 1, **request})
            frame = channel.receive()
        finally:
            channel.close()
        assert frame is not None
        return frame


def eventually(true: Callable[[], object]) -> None:
    """Waits for something that has no condition of its own."""
    end, pause = time.monotonic() + PATIENCE, threading.Event()
    while not true():
        assert time.monotonic() < end, "never came"
        pause.wait(0.005)
