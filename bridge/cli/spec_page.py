"""What may stand in a spec, and what becomes of each field: the page of the documentation that is made of tables."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from bridge.cli.table import cell
from bridge.job.pod_rows import POD_TEMPLATE
from bridge.job.schema import schema
from bridge.job.treatments import CONTAINERJOB, PYTORCHJOB_TOP, Row, Shape, Treatment

_HEAD = """# What may stand in a spec

Made from the code by `make docs`. A spec is a ContainerJob or a PyTorchJob of kubeflow.org/v1. Every field that
Kubernetes knows has a row here, and one treatment:

- **kept**: it arrives as it is.
- **set**: Slurm, the site or the bridge decides. Another value is replaced, and named in the job's notice.
- **becomes**: the site has its own way to the same end ([site profiles](../how-to/site-profiles.md)); named in the
  notice.
- **refused**: it cannot be meant, or cannot be allowed. The job is refused with all such reasons at once.

A field without a row is refused as unknown. `bridgectl check FILE` says all of it before the queue; a field may hold
[variables of Slurm](environment.md#slurms-variables) wherever it holds text. In a path `*` stands for any key, `[]` for
each item of a list, and `**` for everything below.
"""
_SHORT = """## ContainerJob

`apiVersion: slurm-k8s-bridge/v1`, `kind: ContainerJob`, and of these at least `image`. Editors check it by its
[JSON schema](containerjob.schema.json), which `bridgectl schema` prints.
"""
_LONG = """## PyTorchJob

Master and Worker become one row of ranks, one pod on each node that Slurm allocated.
"""
_COLUMNS = "| field | what becomes of it |\n|---|---|"
_WORDS = {
    Treatment.KEEP: "kept",
    Treatment.SET: "set",
    Treatment.TRANSLATE: "becomes",
    Treatment.REFUSE: "refused",
}
_SAYS_ITSELF = ("left out", "replaced", "becomes")
_CONTAINERS, _INITS, _VOLUMES = "spec.containers[]", "spec.initContainers[]", "spec.volumes[]"


def as_page() -> str:
    """The whole page."""
    about = {name: field.get("description", "") for name, field in schema()["properties"].items()}
    by_part = {
        part: [row for row in POD_TEMPLATE if row.path.startswith(part)] for part in (_CONTAINERS, _INITS, _VOLUMES)
    }
    pod = [row for row in POD_TEMPLATE if not row.path.startswith(tuple(by_part))]
    own = {_treated(row) + row.path.removeprefix(_CONTAINERS) for row in by_part[_CONTAINERS]}
    inits = [row for row in by_part[_INITS] if _treated(row) + row.path.removeprefix(_INITS) not in own]
    parts = [_HEAD, _SHORT, *_table(CONTAINERJOB, about), "", _LONG, *_table(PYTORCHJOB_TOP)]
    for title, rows in (
        ("Pod template", pod),
        ("Containers", by_part[_CONTAINERS]),
        ("Init containers: as containers, but", inits),
        ("Volumes", by_part[_VOLUMES]),
    ):
        parts += [f"\n### {title}\n", *_table(rows)]
    return "\n".join(parts)


def _table(rows: Iterable[Row], about: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    yield _COLUMNS
    for row in rows:
        yield f"| `{row.path}` | {cell(about.get(row.path) or _treated(row))} |"


def _treated(row: Row) -> str:
    if row.quiet:
        return "left out, in silence"
    if row.why.startswith(_SAYS_ITSELF):
        return row.why
    shape = f" ({row.shape.value})" if row.treatment is Treatment.KEEP and row.shape is not Shape.ANY else ""
    return f"{_WORDS[row.treatment]}{shape}{': ' if row.why else ''}{row.why}"
