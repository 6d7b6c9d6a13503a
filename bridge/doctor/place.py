"""Where the checks look: this node's files and commands, and its servers, each asked once."""

import shutil
import socket
import time
from contextlib import closing
from functools import cached_property
from pathlib import Path

from bridge import clock, commands, config, wellknown
from bridge.errors import BridgeError
from bridge.kube.inquiry import Inquiry
from bridge.kube.transport import Transport
from bridge.messages import doctor as messages
from bridge.slurm import shown

SECONDS = 15.0  # for an answer of slurmctld
_AGENT = "slurm-k8s-bridge-doctor"  # not the daemon, whose rights are measured by what it asks


class Place:
    """A node. What cannot be looked at raises BridgeError, each time it is asked for."""

    def __init__(
        self,
        config_file: Path = Path(wellknown.CONFIG_FILE),
        root: Path = Path("/"),
        kubeconfig: Path | None = None,
        image: str | None = None,
        host: str | None = None,
    ) -> None:
        """``root`` is that of the node's file system, ``kubeconfig`` replaces the node's own; ``image`` is to be
        pulled, instead of the one that bridge.toml names; ``host``: of another machine."""
        self.config_file = config_file
        self.root = root
        self.image = image
        self.host = host or socket.gethostname().partition(".")[0]
        self._kubeconfig = kubeconfig
        self._asked_slurm = 0.0

    def path(self, name: str) -> Path:
        """Of this absolute name."""
        return self.root / name.lstrip("/")

    @cached_property
    def site(self) -> config.Config:
        return config.load(self.config_file)

    @property
    def kubernetes_node(self) -> str:
        return self.site.cluster.kubernetes_node(self.host)

    @property
    def kubeconfig(self) -> Path:
        return self._kubeconfig or self.site.kubernetes.kubeconfig

    @cached_property
    def kubernetes(self) -> Inquiry:
        return self.kubernetes_by(self.kubeconfig)

    def kubernetes_by(self, kubeconfig: Path) -> Inquiry:
        """The API server, asked with this credential."""
        return Inquiry(Transport(kubeconfig, self.site.kubernetes.timeout, agent=_AGENT))

    @cached_property
    def slurm(self) -> shown.SlurmSettings:
        self._asked_slurm = time.time()
        return shown.settings(self.command("scontrol", "show", "config"))

    @property
    def ahead_of_slurm(self) -> float | None:
        """Seconds by which this clock is before slurmctld's; None where that says no time."""
        as_of = self.slurm.as_of  # told in this machine's own time zone
        return None if as_of is None else self._asked_slurm - as_of.timestamp()

    @cached_property
    def slurm_node(self) -> shown.SlurmNode:
        found = shown.node(self.command("scontrol", "show", "node", self.host))
        if found is None:
            raise BridgeError(messages.SLURM_NODE_UNKNOWN.sentence(host=self.host))
        return found

    @cached_property
    def boot_id(self) -> str:
        return clock.boot_id()

    def has(self, command: str) -> bool:
        return shutil.which(command) is not None

    def command(self, *words: str, seconds: float = SECONDS) -> str:
        """What it says on standard output. Raises BridgeError where it fails."""
        if not self.has(words[0]):
            raise BridgeError(messages.COMMAND_MISSING.sentence(command=words[0]))
        done = commands.run(list(words), seconds)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise BridgeError(messages.COMMAND_FAILED.sentence(command=" ".join(words[:3]), said=said))
        return done.stdout

    def kubelet_words(self) -> list[str]:
        """The command line of this machine's kubelet, empty where none runs."""
        for directory in self.path("/proc").glob("[0-9]*"):
            try:
                words = (directory / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if Path(words[0]).name == "kubelet":
                return words[1:]
        return []

    def close(self) -> None:
        if "kubernetes" in self.__dict__:
            with closing(self.kubernetes):
                pass
