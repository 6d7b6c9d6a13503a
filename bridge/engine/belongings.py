"""What in Kubernetes belongs to a run: in which namespace it lies, and how it is told from that of another run."""

from bridge import wellknown
from bridge.config import Config
from bridge.config.jobs import Kind
from bridge.engine.rules import kind
from bridge.engine.state import Run
from bridge.kube.api import Object


def home_of(config: Config, run: Run) -> str:
    """Namespace of the run's workload; of a run that the journal does not know, where it is looked for first."""
    return run.rules.namespace or config.namespace_of(_kind(run))


def start_of(run: Run) -> str:
    """The start that workload and pods of this run carry; '' when it is not known."""
    return "" if run.allocation is None else str(run.allocation.start_time)


def is_of(run: Run, pod: Object) -> bool:
    """Whether a pod with the name of one of this run's is of this very run."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    return start_of(run) in ("", str(annotations.get(wellknown.ANNOTATION_START, "")))


def run_of(item: Object) -> tuple[str, str]:
    """Name and start of the run that a workload or a pod belongs to, as it says itself."""
    meta = item.get("metadata") or {}
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    return str(labels.get(wellknown.LABEL_RUN, "")), str(annotations.get(wellknown.ANNOTATION_START, ""))


def name_of(manifest: Object) -> str:
    """Its own name."""
    return str(manifest["metadata"]["name"])


def _kind(run: Run) -> Kind:
    """As the site's rules see it; nothing is known of a job of which all we have is its number, and the rules of a run
    of before there were namespaces are not today's."""
    return Kind() if run.allocation is None or run.rules.timing else kind(run.allocation)
