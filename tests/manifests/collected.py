"""The collected manifests: where each comes from, and what the bridge makes of it on a usual site."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.config import Config, load
from bridge.errors import SpecError
from bridge.job.ids import RunKey, workload_name
from bridge.job.placement import Placement
from bridge.job.render import Rendered, render
from tests.unit.job.given import placement

HERE = Path(__file__).parent
_FIRST_JOB = 5001
_NODES = ("node-a", "node-b")
_NAMESPACE = "slurm-jobs"


@dataclass(frozen=True)
class Manifest:
    """One collected file; `allocation` is what its Slurm job asks for on each node."""

    name: str
    number: int
    source: str
    licence: str
    special: str
    allocation: dict[str, Any]

    @property
    def data(self) -> bytes:
        """The file."""
        return (HERE / "public" / f"{self.name}.yaml").read_bytes()

    @property
    def sbatch(self) -> str:
        """The options of sbatch that give this allocation."""
        given = self.allocation
        kind = f"{given['gpu_type']}:" if "gpu_type" in given else ""
        gpus = f" --gpus-per-node={kind}{given['gpus']}" if given["gpus"] else ""
        return f"--nodes={given['nodes']}{gpus} --cpus-per-task={given['cpus']} --mem={given['memory_gib']}G"

    @property
    def key(self) -> RunKey:
        """Of the run that a test makes of it."""
        return RunKey("alps", _FIRST_JOB + self.number, 0)

    def placement(self, config: Config, nodes: tuple[str, ...], namespace: str) -> Placement:
        """This allocation on the first of these nodes."""
        given, names = self.allocation, nodes[: self.allocation["nodes"]]
        return placement(
            name=workload_name(config.cluster.tag, self.key),
            namespace=namespace,
            tag=config.cluster.tag,
            key=self.key,
            nodes=names,
            cpus_per_node=given["cpus"],
            memory_mib=given["memory_gib"] * 1024,
            gpus_per_node=given["gpus"],
            gpu_resource=config.gpu.resource_of(given.get("gpu_type", "")),
        )

    def rendered(
        self, nodes: tuple[str, ...] = _NODES, namespace: str = _NAMESPACE, config: Config | None = None
    ) -> Rendered | None:
        """The workload, None where it is refused; by another site where one is given."""
        config = config or site()
        try:
            return render(self.data, self.placement(config, nodes, namespace), config)
        except SpecError:
            return None

    def refusals(self) -> list[str]:
        """Why it is refused, empty where it is not."""
        config = site()
        try:
            render(self.data, self.placement(config, _NODES, _NAMESPACE), config)
        except SpecError as error:
            return error.reasons
        return []


def site() -> Config:
    """The one site by which all are rendered."""
    return load(HERE / "site.toml")


def manifests() -> list[Manifest]:
    """All of them, in the order of their index."""
    index = tomllib.loads((HERE / "index.toml").read_text())
    return [_manifest(name, number, row) for number, (name, row) in enumerate(index.items())]


def _manifest(name: str, number: int, row: dict[str, Any]) -> Manifest:
    source = row.get("page") or f"https://github.com/{row['repository']}/blob/{row['commit']}/{row['path']}"
    return Manifest(name, number, source, row["licence"], row["special"], row["allocation"])
