"""Rows of the fault table on the real stack: who is told what, and that no node is drained.

tests/fault_rows.py says where the others are.
"""

from typing import Any

from .policies import ADMISSION, in_force
from .rows import NAMESPACED, Case, applied, explained, manifest, refused
from .stack import Job, Stack, eventually

HERE = ("-N1", "--nodelist=compute1")  # whose daemon is asked to explain
CREATED = {"apiGroups": ["kubeflow.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pytorchjobs"]}


def test_what_kubelets_say_of_images_and_containers(stack: Stack) -> None:
    """Many jobs at once, the patient rows first."""
    missing = [{"name": "v", "secret": {"secretName": "nothing"}}]
    empty = [{"name": "v", "emptyDir": {}}]
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "nothing", "key": "k"}}}]
    init = {"name": "prepare", "image": stack.images["small"], "command": ["sh", "-c", "exit 3"]}
    started = {"exec": {"command": ["true"]}, "initialDelaySeconds": 60}
    lasting = {"restartPolicy": "Always", "startupProbe": started, "resources": {"limits": {"cpu": "0"}}}
    beside = {"name": "beside", "image": stack.images["small"], "command": ["false"], **lasting}
    with stack.registry_answering("401", "/skb/train/"):
        refused(
            stack,
            Case("crash-loop", manifest(stack, inits=[beside]), "restarting failed"),
            Case("volume-missing", manifest(stack, volumes=missing, **mounted("/v")), 'secret "nothing" not found'),
            Case("image-no-registry", manifest(stack, image="no.such.registry.invalid/x:1"), "no such host"),
            Case("image-platform", always(stack, "registry:5000/faulty/foreign:1"), "no match for platform"),
            Case("image-forbidden", always(stack, stack.images["train"]), "the registry refuses image"),
            Case("container-create", manifest(stack, volumes=empty, **mounted("/etc/passwd")), "/etc/passwd"),
            Case("container-config", manifest(stack, env=env), 'secret "nothing" not found'),
            Case("container-too-small", manifest(stack), "OOM-killed", ("--mem=1M",)),
            Case("init-failed", manifest(stack, inits=[init]), "the init container prepare of rank 0 on compute"),
            Case("bad-command", manifest(stack, "no-such-program"), "executable file not found in $PATH"),
            Case("image-name", always(stack, "UPPER/Case:1"), "image name UPPER/Case:1 is not valid"),
            Case(
                "image-never-pulled",
                manifest(stack, image="registry:5000/skb/absent:1", imagePullPolicy="Never"),
                "is not present with pull policy of Never",
            ),
            seconds=240,
        )


def mounted(path: str) -> dict[str, Any]:
    """A container that has the volume v here."""
    return {"volumeMounts": [{"name": "v", "mountPath": path}]}


def always(stack: Stack, image: str) -> str:
    """A job that asks the registry for its image, whatever its node has."""
    return manifest(stack, image=image, imagePullPolicy="Always")


def test_a_limit_range(stack: Stack) -> None:
    limit = {"type": "Container", "max": {"cpu": "1"}}
    metadata = {"name": "tight", "namespace": stack.namespace}
    with applied(stack, {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [limit]}}):
        in_force(stack, "Pod", "maximum cpu usage")
        words = "maximum cpu usage per Container is 1"
        refused(stack, Case("limit-range", manifest(stack), words, ("--exclusive",)))


def test_an_admission_policy(stack: Stack) -> None:
    constraints = {"resourceRules": [CREATED], "namespaceSelector": NAMESPACED}
    rule = {"expression": "false", "message": "no training on a Saturday"}
    policy = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "saturday"},
        "spec": {"failurePolicy": "Fail", "matchConstraints": constraints, "validations": [rule]},
    }
    binding = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "saturday"},
        "spec": {"policyName": "saturday", "validationActions": ["Deny"]},
    }
    with applied(stack, policy, binding):
        in_force(stack, "PyTorchJob", "no training on a Saturday")
        refused(stack, Case("policy", manifest(stack), "no training on a Saturday"))


def test_a_webhook_that_does_not_answer_is_nobodys_mistake(stack: Stack) -> None:
    """Its job waits, is told why, and runs as soon as the webhook is gone."""
    hook = {
        "name": "dead.example.test",
        "clientConfig": {"url": "https://no-such-webhook.invalid/"},
        "rules": [CREATED],
        "namespaceSelector": NAMESPACED,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 2,
    }
    configuration = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "dead"},
        "webhooks": [hook],
    }
    with applied(stack, configuration):
        in_force(stack, "PyTorchJob", "failed calling webhook")
        job = stack.submit(manifest(stack), *HERE)
        words = "a webhook that Kubernetes asks about the workload does not answer"
        eventually(lambda: explaining(stack, job, words), 60, "a prolog that waits for the webhook")
        assert stack.state(job) == "RUNNING"
    stack.await_end(job)
    assert stack.state(job) == "COMPLETED"


def explaining(stack: Stack, job: Job, words: str) -> bool:
    """Whether the owner of a job that waits is told so."""
    said = stack.exec("compute1", "bridgectl", "explain", str(job.id), user=job.user, check=False)
    return words in " ".join(said.split())


def test_a_rank_that_runs_out_of_memory(stack: Stack) -> None:
    grow = "x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; done"
    job = stack.run(manifest(stack, "sh", "-c", grow), *HERE, "--mem=64M")
    assert stack.sacct(job, "State,ExitCode") == "FAILED|75:0"
    assert "rank 0 on compute1 ran out of memory and was killed; ask for more with --mem" in stack.output(job)
    assert explained(stack, job)["row"] == "out-of-memory"


def test_the_table_is_there_for_everybody(stack: Stack) -> None:
    said = stack.exec("compute1", "bridgectl", "explain", "--table", user="other")
    assert "image-missing  (container)" in said and max(map(len, said.splitlines())) <= 100
