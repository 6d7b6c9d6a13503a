"""What the tests of the checks share: recorded words of the servers, and what a judgement says."""

import json
from pathlib import Path
from typing import Any

from bridge.config import Config
from bridge.doctor.check import CannotLook, Check
from bridge.doctor.place import Place
from bridge.kube.api import Object
from bridge.slurm import shown

RECORDED = Path(__file__).parent / "recorded"
CONFIG = (RECORDED / "scontrol-config.24.11.txt").read_text()
NODE = (RECORDED / "scontrol-node.24.11.txt").read_text()
SLURM, SLURM_NODE = shown.settings(CONFIG), shown.node(NODE)
DUMP = (RECORDED / "containerd-dump.1.7.toml").read_text()
UNKNOWN = "unknown: "


def judged(check: Check[Any], facts: object) -> list[str]:
    """Names of what is found; behind `unknown: ` that of why something is not known."""
    names: list[str] = []
    try:
        for told in check.judge(facts):
            assert all(told[part] for part in ("cause", "consequence", "cure"))
            names.append(told["name"])
    except CannotLook as error:
        names.append(UNKNOWN + error.told["name"])
    return names


def node() -> Object:
    """A Node of 1.36."""
    found: Object = json.loads((RECORDED / "node.1.36.json").read_text())
    return found


def site(**sections: Any) -> Config:
    """The stack's bridge.toml."""
    usual = {
        "cluster": {"name": "demo", "tag": "demo"},
        "kubernetes": {"kubeconfig": "/none"},
        "pod": {"max_cpus": 2, "max_memory": "4Gi"},
        "slurmrest": {"url": "https://slurmrestd:6820"},
    }
    return Config.model_validate(usual | sections)


class Somewhere(Place):
    """A place with these answers: what a command says by its first two words, and who is asked as Kubernetes."""

    def __init__(self, root: Path, kubernetes: Any = None, config: Config | None = None, **more: Any) -> None:
        super().__init__(root / "bridge.toml", root=root, host="compute1", **more)
        self.__dict__ |= {"site": config or site(), "kubernetes": kubernetes}
        self.says: dict[str, str | Exception] = {}
        self.asked: list[tuple[str, ...]] = []

    def has(self, command: str) -> bool:
        return any(known.split()[0] == command for known in self.says)

    def command(self, *words: str, seconds: float = 0.0) -> str:  # noqa: ARG002 - as the real one's
        self.asked.append(words)
        said = next((said for known, said in self.says.items() if " ".join(words).startswith(known)), None)
        if isinstance(said, Exception) or said is None:
            raise said or AssertionError(words)
        return said
