"""`${SLURM_…}` in a spec: the closed list of names, what becomes of them, and placeholders that nobody filled in.

Every text of a spec is looked through, once: what a value itself holds is not replaced again. A name that is not in the
list stays as it is, since shells need it; so does one that has no value in this job.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bridge.errors import SpecError
from bridge.job.findings import Findings, at, shown
from bridge.wellknown import SPEC_LIMIT

NAMES = {
    "SLURM_JOB_ID": "number of the job; of an array's element its own",
    "SLURM_JOB_NAME": "name of the job (`--job-name`); with slurmrestd only",
    "SLURM_JOB_USER": "user name of the job's owner",
    "SLURM_JOB_UID": "uid of the job's owner",
    "SLURM_JOB_GID": "gid of the job",
    "SLURM_JOB_ACCOUNT": "account of the job; none on a cluster without accounts",
    "SLURM_JOB_PARTITION": "partition in which the job runs",
    "SLURM_JOB_NODELIST": "Slurm's names of the job's nodes in rank order, with commas between them, no brackets",
    "SLURM_JOB_NUM_NODES": "number of nodes, which is the number of ranks",
    "SLURM_NNODES": "the same",
    "SLURM_JOB_WORK_DIR": "working directory of the batch script (`--chdir`, else where sbatch was called)",
    "SLURM_CLUSTER_NAME": "name of the Slurm cluster",
    "SLURM_RESTART_COUNT": "how often the job was requeued, 0 at first",
    "SLURM_ARRAY_JOB_ID": "number of the array; in arrays only, with slurmrestd only",
    "SLURM_ARRAY_TASK_ID": "index of the array's element; in arrays only, with slurmrestd only",
    "SLURM_CPUS_ON_NODE": "CPUs that the job has on the node where it has the fewest",
    "SLURM_GPUS_ON_NODE": "GPUs that the job has on each node, 0 without any",
}
"""Each name and what it stands for, for the documentation."""

GROWTH_LIMIT = SPEC_LIMIT  # characters that the values of one spec may add: a node list of 1,000 names has 16,000

LEFTOVER = rf"<[^<>]*>|\{{\{{[^{{}}]*\}}\}}|\$\{{(?!(?:{'|'.join(NAMES)})\}})[^{{}}]*\}}"
"""What is a placeholder in every job, as a regular expression that JSON schemas know, too."""

FILLED = rf"\$\{{(?:{'|'.join(NAMES)})\}}"
"""What is filled in, where it has a value, likewise."""

_VARIABLE = re.compile(r"\$\{(SLURM_[A-Z0-9_]{1,40})\}")
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}|<[^<>]*>|\{\{[^{}]*\}\}")
NAMING = frozenset({"claimName", "image", "mountPath", "name", "secretName", "subPath", "workingDir"})
"""Fields that name an image, a volume, a claim, an object or a place in the container."""
_FREE = frozenset({"annotations", "labels", "metadata"})
"""Where any text may stand under any name, or where the name is replaced anyway."""


def filled_in(document: dict[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """The same document with the values in place of their names.

    Raises SpecError where it would grow by more than GROWTH_LIMIT characters.
    """
    filled = _Filler(values).fill(document)
    assert isinstance(filled, dict)
    return filled


@dataclass
class _Filler:
    values: Mapping[str, str]
    grown: int = 0

    def fill(self, value: Any) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(self._value, value) if "${SLURM_" in value else value
        if isinstance(value, dict):
            return {name: self.fill(inner) for name, inner in value.items()}
        return [self.fill(item) for item in value] if isinstance(value, list) else value

    def _value(self, match: re.Match[str]) -> str:
        text = self.values.get(match[1], match[0])
        self.grown += len(text)
        if self.grown > GROWTH_LIMIT:
            raise SpecError([f"{match[0]}: so often that the values have over {GROWTH_LIMIT} characters; use it less"])
        return text


def check_placeholders(document: dict[str, Any], findings: Findings) -> None:
    """Refuses what somebody was to fill in where an image, a volume, a claim or a place in the container is named."""
    for path, text in _naming_texts(document, ""):
        found = _PLACEHOLDER.search(text)
        if found:
            findings.refuse(path, f"{shown(found[0])} is a placeholder", _cure(found[0]))


def _cure(placeholder: str) -> str:
    name = placeholder[2:-1] if placeholder.startswith("${") else ""
    if name in NAMES:
        return f"it has no value in this job ({NAMES[name]}); write another one"
    if name == "SLURM_SUBMIT_DIR":
        return "write ${SLURM_JOB_WORK_DIR}, the directory that Slurm tells a prolog"
    return "write what it stands for; only Slurm's own variables are filled in, see docs/reference/environment.md"


def _naming_texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for n, item in enumerate(value):
            # The short form names volumes of the site by a text alone.
            if isinstance(item, str) and path == "volumes":
                yield f"{path}[{n}]", item
            yield from _naming_texts(item, f"{path}[{n}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            where = at(path, str(name))
            if isinstance(inner, str) and name in NAMING:
                yield where, inner
            elif name not in _FREE:
                yield from _naming_texts(inner, where)
