"""Every row of the fault table is met by what it is meant for: objects and answers recorded on real systems
(`recorded/`, each with its provenance), and for what only the bridge itself sees, a case of its own."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import (
    AUTHORITY_UNKNOWN,
    CERTIFICATE_REFUSED,
    CLIENT_EXPIRED,
    CLOCK_WRONG,
    EMPTY_ANSWER,
    FOREIGN_JOB,
    SERVER_EXPIRED,
    TOKEN_EXPIRED,
    AllocationError,
    BridgeError,
    ConfigError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from bridge.job.faults import TABLE, UNKNOWN, Fault, Finding, Moment, Verdict, admission, finding, row, runs
from bridge.job.faults.pod_events import PodEvent, of_event, telling
from bridge.job.faults.pods import failure, how_it_ended
from bridge.job.faults.row import CONSEQUENCES
from bridge.job.faults.servers import of_kubernetes, of_slurm
from bridge.job.pods import PodFacts, pod_facts
from bridge.job.words import plain
from bridge.kube.answers import refusal
from bridge.slurmrest.errors import content
from tests.fault_rows import NOT_HERE, ON_THE_STACK

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
SLURMREST = Path(__file__).parents[1] / "slurmrest" / "recorded" / "24.11.5" / "v0.0.42"
INTEGRATION = Path(__file__).parents[2] / "integration"
ENGINE = Path(__file__).parents[1] / "engine"

# Rows that no object shows: the engine meets them, and the tests that make it do so say so with the row's name.
IN_THE_ENGINE = {
    "spec-refused": "engine/test_rows.py",
    "spec-broken": "engine/test_rows.py",
    "spec-unreadable": "engine/test_rows.py",
    "spec-word": "engine/test_rows.py",
    "het-job": "engine/test_rows.py",
    "salloc": "engine/test_rows.py",
    "allocation-unfit": "engine/test_rows.py",
    "gpus-unnamed": "engine/test_rows.py",
    "job-over": "engine/test_rows.py",
    "job-unknown": "engine/test_rows.py",
    "ended-by-slurm": "engine/test_users.py",
    "hook-left": "engine/test_rows.py",
    "hook-away": "engine/test_rows.py",
    "daemon-silent": "engine/test_rows.py",
    "slurm-no-token": "engine/test_rows.py",
    "kubelet-dead": "engine/test_own_node.py",
    "runtime-down": "engine/test_own_node.py",
    "node-short": "job/test_nodes.py",
    "disk-full": "job/test_nodes.py",
    "gpus-gone": "job/test_nodes.py",
    "hook-mismatch": "engine/test_rows.py",
    "environment": "engine/test_rows.py",
    "node-unknown": "engine/test_rows_of_tries.py",
    "node-foreign": "engine/test_rows_of_tries.py",
    "gpus-missing": "engine/test_rows_of_tries.py",
    "earlier-run": "engine/test_rows.py",
    "leftovers": "engine/test_rows.py",
    "pods-remain": "engine/test_rows.py",
    "not-scanned": "engine/test_rows.py",
    "bridge-bug": "engine/test_executor.py",
    "operator-silent": "engine/test_rows_of_tries.py",
    "predecessor": "engine/test_rows_of_tries.py",
    "name-taken": "engine/test_rows_of_tries.py",
    "workload-deleted": "engine/test_rows.py",
    "deadline": "engine/test_rows.py",
    "pod-deleted": "engine/test_rows.py",
    "not-started": "engine/test_rows.py",
    "api-outage": "engine/test_rows.py",
}


def recorded_pod(recorded: dict[str, Any]) -> PodFacts:
    """The facts of a recorded pod."""
    facts = pod_facts(recorded)
    assert facts is not None
    return facts


def of_pod(recorded: dict[str, Any]) -> Finding | None:
    """As the engine looks at a pod: why it does not start, how it ended, who took it away."""
    pod = recorded_pod(recorded)
    return how_it_ended(pod) if pod.started and not pod.running else finding(pod) or failure(pod)


def of_events(recorded: dict[str, Any]) -> Finding | None:
    """As the engine looks at a silent pod's events."""
    event = telling(PodEvent(item["type"], item["reason"], item["message"]) for item in recorded["events"])
    return None if event is None else of_event(recorded_pod(recorded["pod"]), event.reason, event.message)


def of_refusal(recorded: dict[str, Any]) -> Finding | None:
    """As the engine looks at a creation that failed."""
    error = refusal(recorded["status"], recorded["headers"], recorded["body"].encode())
    return admission.of_creation(error) or of_kubernetes(error)


KINDS: dict[str, Callable[[dict[str, Any]], Finding | None]] = {
    "pod": of_pod,
    "pod events": of_events,
    "refusal": of_refusal,
    "event": lambda recorded: admission.of_pod_creation(recorded["message"]),
}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_what_was_recorded_meets_its_row(file: Path) -> None:
    case = json.loads(file.read_text(encoding="utf-8"))
    found = KINDS[case["kind"]](case["object"])
    assert found is not None and found.fault.name == case["row"], found
    assert "{" not in found.sentence and found.sentence.startswith(found.fault.cause.split("{")[0])
    assert case["provenance"]


KUBE = [
    ("api-unreachable", Unavailable("No answer from https://kube:6443: [Errno 113] No route to host")),
    ("api-unreachable", Unavailable("Kubernetes: HTTP status 408", status=408)),
    ("api-clock", Unavailable("kube: it is 7 s behind", reason=CLOCK_WRONG)),
    ("api-server-expired", Unavailable("kube: by it …", reason=SERVER_EXPIRED)),
    ("api-authority", Unavailable("kube: signed by nobody", reason=AUTHORITY_UNKNOWN)),
    ("api-certificate", Unavailable("kube: Hostname mismatch", reason=CERTIFICATE_REFUSED)),
    ("api-token-expired", Unauthenticated("Kubernetes: Unauthorized", status=401, reason=TOKEN_EXPIRED)),
    ("api-client-expired", Unauthenticated("Kubernetes: Unauthorized", status=401, reason=CLIENT_EXPIRED)),
    ("api-fault", Unavailable("Kubernetes: etcdserver: leader changed", status=500, reason="InternalError")),
    ("api-fault", Unavailable("Kubernetes: HTTP status 503", status=503)),
    ("api-throttled", Unavailable("Kubernetes: too many requests", status=429, retry_after=2.0)),
    ("api-expired", Unavailable("Kubernetes: too old resource version: 1 (2)", status=410, reason="Expired")),
    ("crd-missing", Unavailable("Kubernetes: HTTP status 404", status=404)),
    ("api-credential", Unauthenticated("Kubernetes: Unauthorized", status=401)),
    ("api-kubeconfig", ConfigError("/etc/physics: cannot be used as a kubeconfig: No such file or directory")),
    ("api-conflict", Conflict("Kubernetes: the object has been modified", status=409)),
    ("api-conflict", Invalid("Kubernetes: the server rejected our request due to an error in our request", status=422)),
    ("api-forbidden", Forbidden('Kubernetes: pods "p" is forbidden: User "u" cannot patch resource "pods"')),
    ("webhook-down", Unavailable("Kubernetes: Internal error occurred: failed calling webhook", status=500)),
    ("unknown", Forbidden("Kubernetes: HTTP status 403", status=403)),
    ("unknown", Invalid("Kubernetes: HTTP status 405", status=405)),
    ("unknown", AllocationError("none of its business")),
]
SLURM = [
    ("slurmrestd-unreachable", Unavailable("No answer from slurmrestd at https://s:6820: timed out")),
    (
        "slurmrestd-certificate",
        Unavailable("No answer: certificate verify failed", reason=CERTIFICATE_REFUSED),
    ),
    ("slurmctld-silent", Unavailable("Slurm: Unable to contact (error 1800)", status=500, reason="1800")),
    ("slurmctld-silent", Unavailable("Slurm: (error -1)", status=500, reason="-1")),
    ("slurmctld-silent", Unavailable("slurmrestd answers HTTP status 504", status=504)),
    ("slurmrestd-empty", Unavailable("slurmrestd's answer about job 7 has 0 jobs", reason=EMPTY_ANSWER)),
    ("slurm-token", Unauthenticated("Slurm: Protocol authentication error (error 1007)", reason="1007")),
    ("slurm-denied", Forbidden("Slurm: Access denied (error 2002)", reason="2002")),
    ("slurm-foreign-job", Forbidden("job 7 of uid 1, slurmd says 2", reason=FOREIGN_JOB)),
    ("slurm-refused", Invalid("Slurm: Job has finished (error 2084)", reason="2084")),
    ("slurmrestd-version", Unsupported("slurmrestd serves none of v0.0.42")),
    ("slurm-service-token", ConfigError("/etc/token: holds no token")),
    ("job-unknown", NotFound("Slurm: Invalid job id (error 2017)", reason="2017")),
    ("unknown", AllocationError("none of its business")),
]


@pytest.mark.parametrize(("name", "error"), KUBE)
def test_an_error_of_the_api_server_meets_its_row(name: str, error: BridgeError) -> None:
    assert of_kubernetes(error).fault.name == name


@pytest.mark.parametrize(("name", "error"), SLURM)
def test_an_error_of_slurmrestd_meets_its_row(name: str, error: BridgeError) -> None:
    assert of_slurm(error).fault.name == name


@pytest.mark.parametrize(
    ("answer", "name"),
    [("badtoken", "slurm-token"), ("denied", "slurm-denied"), ("unknown", "job-unknown"), ("late", "slurm-refused")],
)
def test_a_recorded_answer_of_slurmrestd_meets_its_row(answer: str, name: str) -> None:
    said = json.loads((SLURMREST / f"{answer}.json").read_text(encoding="utf-8"))
    with pytest.raises(BridgeError) as raised:
        content(said["status"], said["content_type"], json.dumps(said["body"]).encode())
    assert of_slurm(raised.value).fault.name == name


CREATION = [
    ("crd-too-old", Invalid('strict decoding error: unknown field "spec.x.template.spec.schedulingGates"', status=400)),
    ("admission-starting", Forbidden('pods "w" is forbidden: not yet ready to handle request', status=403)),
    ("admission-denied", Forbidden('pytorchjobs "w" is forbidden: only on Sundays', status=403)),
    ("webhook-down", Unavailable("no endpoints available for service", status=500)),
    (
        "node-identity",  # what Kubernetes 1.36 said
        Forbidden(
            'Kubernetes: pytorchjobs.kubeflow.org "slurm-demo-1-0" is forbidden: ValidatingAdmissionPolicy '
            "'slurm-k8s-bridge-workload' with binding 'slurm-k8s-bridge-workload' denied request: node-claim: this "
            "credential says no node",
            status=403,
        ),
    ),
    (
        "policy",
        Forbidden(
            'Kubernetes: pytorchjobs.kubeflow.org "slurm-demo-1-0" is forbidden: ValidatingAdmissionPolicy '
            "'slurm-k8s-bridge-workload' with binding 'slurm-k8s-bridge-workload' denied request: workload-claim: the "
            "claim is not one that the namespace opens to jobs",
            status=403,
        ),
    ),
    ("object-invalid", Invalid("the object is no good", status=422)),
    (
        "object-too-large",  # what Kubernetes 1.36 said of 2.3 MiB
        Unavailable(
            "Kubernetes: rpc error: code = ResourceExhausted desc = trying to send message larger than max "
            "(2402804 vs. 2097152)",
            status=500,
        ),
    ),
    ("unknown", Forbidden("<html>go away</html>", status=403)),
]
PODS_REFUSED = [
    ("operator-forbidden", 'pods is forbidden: User "system:serviceaccount:k:o" cannot create resource "pods"'),
    ("webhook-down", "Internal error occurred: failed calling webhook: context deadline exceeded"),
    ("object-invalid", 'Pod "w-worker-0" is invalid: spec.containers[0].image: Required value'),
    ("webhook-denied", 'admission webhook "w.example" denied the request: exceeded quota, or so it says'),
    ("unknown", "the operator is tired"),
]


@pytest.mark.parametrize(("name", "error"), CREATION)
def test_a_refused_workload_meets_its_row(name: str, error: BridgeError) -> None:
    found = admission.of_creation(error)
    assert found is not None and found.fault.name == name


@pytest.mark.parametrize("error", [Conflict("taken", status=409), Unavailable("no answer"), AllocationError("x")])
def test_what_says_nothing_about_the_object_is_no_refusal(error: BridgeError) -> None:
    assert admission.of_creation(error) is None


@pytest.mark.parametrize(("name", "message"), PODS_REFUSED)
def test_refused_pods_meet_their_row(name: str, message: str) -> None:
    assert admission.of_pod_creation(message).fault.name == name


A_POD = PodFacts("p", "u", 0, "n", "Pending", False, False, False, None, False, "", "", "i:1", "", "", "", None)
PODS = [
    ("pod-failed", replace(A_POD, phase="Failed")),
    ("evicted", replace(A_POD, phase="Failed", failure="Preempting", failure_message="for a critical pod")),
    ("evicted", replace(A_POD, phase="Failed", failure="DeadlineExceeded", failure_message="active for too long")),
    ("unknown", replace(A_POD, phase="Failed", failure="OfTheFuture")),
    ("unknown", replace(A_POD, waiting="OfTheFuture", waiting_message="who knows")),
    ("unknown", replace(A_POD, waiting="ErrImagePull", waiting_message="the whale is tired")),
    ("image-backoff", replace(A_POD, waiting="ErrImagePull")),
    (
        "runtime-no-space",
        replace(A_POD, waiting="RunContainerError", waiting_message="mkdir /x: no space left on device"),
    ),
    ("crash-loop", replace(A_POD, waiting="CrashLoopBackOff", waiting_message="context deadline exceeded")),
    (
        "image-name",
        replace(A_POD, waiting="ErrImagePull", waiting_message='short-name "x" did not resolve'),
    ),
    ("claim-missing", replace(A_POD, unschedulable="pod has unbound immediate PersistentVolumeClaims")),
]


@pytest.mark.parametrize(("name", "pod"), PODS)
def test_a_pod_meets_its_row(name: str, pod: PodFacts) -> None:
    found = finding(pod) or failure(pod)
    assert found is not None and found.fault.name == name


SEEN = {
    *(json.loads(file.read_text(encoding="utf-8"))["row"] for file in RECORDED),
    *(name for cases in (KUBE, SLURM, CREATION, PODS_REFUSED, PODS) for name, _ in cases),
}


@pytest.mark.parametrize("fault", TABLE, ids=lambda fault: fault.name)
def test_every_row_has_a_case(fault: Fault) -> None:
    """A row that nothing meets is a promise that nobody has tried."""
    if fault.name in SEEN:
        return
    where = ENGINE.parent / IN_THE_ENGINE[fault.name]
    text, constant = where.read_text(encoding="utf-8"), fault.name.upper().replace("-", "_")
    assert f'"{fault.name}"' in text or constant in text, f"{where.name} has no case of this row"


@pytest.mark.parametrize("name", ON_THE_STACK)
def test_a_row_that_is_said_to_be_tried_on_the_stack_is(name: str) -> None:
    file, _, test = ON_THE_STACK[name].partition("::")
    assert row(name).name == name
    assert f"def {test}(" in (INTEGRATION / file).read_text(encoding="utf-8")


def test_every_row_is_tried_on_the_stack_or_it_is_said_why_not() -> None:
    assert sorted([*ON_THE_STACK, *NOT_HERE]) == sorted(fault.name for fault in TABLE)
    assert all(NOT_HERE.values())


@pytest.mark.parametrize("fault", TABLE, ids=lambda fault: fault.name)
def test_every_row_is_whole(fault: Fault) -> None:
    assert row(fault.name) is fault
    assert fault.cause and fault.source and fault.told
    assert fault.cure or "{message}" in fault.cause or fault.verdict in (Verdict.GONE, Verdict.JOB)
    assert not fault.cause.endswith(".") and not fault.cure.endswith(".")
    for moment in fault.phases:
        verdict = fault.verdict_in(moment)
        assert verdict is not None and CONSEQUENCES[moment][verdict]
    words: dict[str, Any] = {"node": "n", "image": "i", "failure": "f", "container": "c", "what": "w", "job": 7}
    assert "words {of} theirs" in fault.finding("words {of} theirs", **words).sentence or "{message}" not in fault.cause


def test_names_are_unique() -> None:
    assert len({fault.name for fault in TABLE}) == len(TABLE)


def test_a_row_of_another_version_is_unknown() -> None:
    assert row("of-the-future") is UNKNOWN


def test_a_verdict_holds_in_the_phases_of_its_row_only() -> None:
    unreachable = row("api-unreachable")
    assert unreachable.verdict_in(Moment.PROLOG) is Verdict.SHARED
    assert unreachable.verdict_in(Moment.RUNNING) is unreachable.verdict_in(Moment.EPILOG) is Verdict.RETRY
    assert runs.HET_JOB.verdict_in(Moment.EPILOG) is None


@pytest.mark.parametrize(
    "text",
    [
        "/x\nnvidia-container-cli: initialization error: nvml error: driver not loaded",
        "nvidia-container-cli: initialization error: nvml error: driver not loaded",
        'a" nvidia-container-cli: initialization error: nvml error: driver not loaded',
        'nvidia-container-cli: initialization error: nvml error: driver not loaded"',
        "/no space left on device",
    ],
)
@pytest.mark.parametrize(
    "frame",
    [
        "exec: QUOTED: stat BARE: no such file or directory: unknown",
        "exec: QUOTED: executable file not found in $PATH: unknown",
        "error during container init: mkdir BARE: not a directory: unknown",
        "chdir to cwd (QUOTED) set in config.json failed: permission denied: unknown",
    ],
)
def test_the_words_of_a_command_never_drain_a_node(text: str, frame: str) -> None:
    """The runtime quotes a command as Go does (%q), and repeats a path of it bare: never as its last words."""
    words = frame.replace("QUOTED", json.dumps(text)).replace("BARE", text)
    message = f"OCI runtime create failed: runc create failed: unable to start container process: {words}"
    found = finding(replace(A_POD, waiting="RunContainerError", waiting_message=message))
    assert found is not None and found.fault.verdict is Verdict.JOB


@pytest.mark.parametrize(
    ("image", "message", "name"),
    [
        (
            "registry.example/forbidden:1",
            "failed to resolve reference: registry.example/forbidden:1: not found",
            "missing",
        ),
        ("registry.example/x:503", "failed to resolve reference: registry.example/x:503: not found", "missing"),
        ("r.example/x:429", 'Head "https://r.example/v2/x/manifests/429": x509: certificate has expired', "untrusted"),
        ("r.example/x:404", 'Head "https://r.example/v2/x/manifests/404": dial tcp: no such host', "no-registry"),
    ],
)
def test_an_image_whose_name_looks_like_an_answer_decides_nothing(image: str, message: str, name: str) -> None:
    found = finding(replace(A_POD, image=image, waiting="ErrImagePull", waiting_message=message))
    assert found is not None and found.fault.name == f"image-{name}"


def test_somebody_elses_words_are_bounded_and_plain() -> None:
    assert plain("a\x1b[31m\n\tb\x00") == "a [31m b"
    assert len(plain("x" * 10_000)) == 700
    assert plain("") == ""


def test_a_normal_event_after_a_warning_takes_it_back() -> None:
    warning, pulled = PodEvent("Warning", "FailedMount", "no"), PodEvent("Normal", "Pulled", "yes")
    assert telling([warning, pulled]) is None
    assert telling([pulled, warning]) is warning
    summary = PodEvent("Warning", "FailedMount", "Unable to attach or mount volumes: timed out")
    assert telling([warning, summary]) is warning, "the summary names no cause"
    assert telling([warning, PodEvent("Warning", "DNSConfigForming", "x")]) is warning
    assert telling([PodEvent("Warning", "OfTheFuture", "x")]) is not None
    assert of_event(A_POD, "OfTheFuture", "x").fault is UNKNOWN
