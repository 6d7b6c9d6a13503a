"""What becomes of each field of a spec: the table, as data.

One row per field path. `*` stands for any key, `[]` for every item of a list, and `**` at the end for
everything below. A path without a row is refused as unknown. The rows of a pod are in `pod_rows`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from bridge.job import findings


class Treatment(Enum):
    """What the bridge does with a field that a spec has."""

    KEEP = "keep"
    SET = "set"
    TRANSLATE = "translate"
    REFUSE = "refuse"


class Shape(Enum):
    """Form of a value; the words are for a person."""

    TEXT = "text"
    NUMBER = "a whole number"
    SWITCH = "true or false"
    TEXTS = "a list of texts"
    TEXT_MAP = "an object whose values are text"
    AMOUNTS = "an object whose values are quantities"
    AMOUNT = "a quantity such as 2Gi"
    COUNT_TEXT = "a number or a word"
    ANY = "anything"


@dataclass(frozen=True)
class Row:
    """One field path and its treatment.

    `why` finishes the sentence "PATH: …": for SET it says what stands there instead and why, for REFUSE
    what to write instead. `harmless` are values that say what the bridge does anyway; they pass in
    silence. With `quiet` a replaced value is not told, since every spec has one. With `rule` the value
    stays in the tree, and a rule of the renderer deals with it and says so. A `private` value may be a
    secret, and is not shown where the name beside it looks like that of one.
    """

    path: str
    treatment: Treatment
    shape: Shape = Shape.ANY
    why: str = ""
    harmless: tuple[object, ...] = ()
    quiet: bool = False
    rule: bool = False
    private: bool = False


def keep(path: str, shape: Shape = Shape.ANY) -> Row:
    """A field that is taken as it is."""
    return Row(path, Treatment.KEEP, shape, rule=True)


def put(path: str, why: str, *harmless: object) -> Row:
    """A field that Slurm, the site or the bridge decides; another value is replaced and named."""
    return Row(path, Treatment.SET, why=why, harmless=harmless)


def hide(path: str) -> Row:
    """A field that says nothing about the training, and which a spec may well have: left out in silence."""
    return Row(path, Treatment.SET, why="left out", quiet=True)


def put_by_rule(path: str, shape: Shape, why: str) -> Row:
    """A field whose new value depends on the allocation: the renderer compares, replaces and tells."""
    return Row(path, Treatment.SET, shape, why, rule=True)


def translate(path: str, shape: Shape, why: str) -> Row:
    """A field that becomes something else by a rule of the site."""
    return Row(path, Treatment.TRANSLATE, shape, why, rule=True)


def refuse(path: str, cure: str, *harmless: object) -> Row:
    """A field that cannot be meant or cannot be allowed."""
    return Row(path, Treatment.REFUSE, why=cure, harmless=harmless)


def under(prefix: str, rows: Iterable[Row]) -> tuple[Row, ...]:
    """The same rows below another path."""
    return tuple(replace(row, path=findings.at(prefix, row.path)) for row in rows)


KIND = (keep("apiVersion", Shape.TEXT), keep("kind", Shape.TEXT))

_BY_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
METADATA = (
    *under("metadata", (hide(name) for name in _BY_SERVER)),
    put_by_rule("metadata.name", Shape.ANY, "the name of the run"),
    hide("metadata.generateName"),
    put_by_rule("metadata.namespace", Shape.TEXT, "the namespace that the site gives Slurm's jobs"),
    keep("metadata.labels", Shape.TEXT_MAP),
    keep("metadata.annotations", Shape.TEXT_MAP),
    refuse("metadata.finalizers", "remove them: they would keep the workload, and with it the node, for ever"),
    refuse("metadata.ownerReferences", "remove them: the Slurm job owns the workload"),
    put("metadata.deletionGracePeriodSeconds", "left out: only a delete sets it"),
    put("metadata.deletionTimestamp", "left out: only a delete sets it"),
)

_FIXED_SIZE = "left out: the size is fixed, one pod on each node that Slurm allocated"
RUN_POLICY = (
    put("activeDeadlineSeconds", "left out: Slurm's time limit decides, use --time"),
    put("backoffLimit", "left out: a failed run ends its Slurm job, use --requeue"),
    put("cleanPodPolicy", "replaced by Running: when a rank fails, the others end", "Running"),
    put("managedBy", "left out: the training operator makes the pods", "kubeflow.org/training-operator", ""),
    put("schedulingPolicy.**", "left out: Slurm has scheduled the job already"),
    put("suspend", "left out: the pods start when Slurm has allocated the nodes", False),
    put("ttlSecondsAfterFinished", "left out: the workload goes with the Slurm job"),
)
ELASTIC_POLICY = (
    put_by_rule("nProcPerNode", Shape.NUMBER, "becomes spec.nprocPerNode"),
    *(
        put(name, _FIXED_SIZE)
        for name in (
            "maxReplicas",
            "maxRestarts",
            "metrics.**",
            "minReplicas",
            "rdzvBackend",
            "rdzvConf.**",
            "rdzvHost",
            "rdzvId",
            "rdzvPort",
            "standalone",
        )
    ),
)
REPLICAS = (
    put_by_rule("replicas", Shape.NUMBER, "one pod on each node that Slurm allocated"),
    put("imagePullPolicy", "left out: only a container has this field, and every server drops it here"),
    put("restartPolicy", "replaced by Never: a failed run ends its Slurm job, use --requeue", "Never"),
)

# `kubectl get -o yaml` prints what the operator wrote; people keep that.
PYTORCHJOB_TOP = (
    *KIND,
    *METADATA,
    hide("status.**"),
    keep("spec.nprocPerNode", Shape.COUNT_TEXT),
    *under("spec.runPolicy", RUN_POLICY),
    *under("spec.elasticPolicy", ELASTIC_POLICY),
    *under("spec.pytorchReplicaSpecs.*", REPLICAS),
)
"""Everything of a PyTorchJob but the pod template."""

CONTAINERJOB = (
    *KIND,
    *METADATA,
    keep("image", Shape.TEXT),
    keep("imagePullPolicy", Shape.TEXT),
    keep("command", Shape.TEXTS),
    keep("args", Shape.TEXTS),
    keep("env"),
    keep("workingDir", Shape.TEXT),
    translate("volumes", Shape.ANY, "the site's volume of that name"),
    translate("shmSize", Shape.AMOUNT, "a memory-backed volume at /dev/shm"),
    keep("ports"),
    keep("nprocPerNode", Shape.COUNT_TEXT),
    keep("profile", Shape.TEXT),
)
"""The short form; what may stand in env, volumes and ports is read by `short_form`."""
