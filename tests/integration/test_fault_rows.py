"""Rows of the fault table on the real stack: who is told what, and that no node is drained.

Others are in test_bad_specs.py, test_failures.py, test_shared_faults.py and test_broken_node.py.
"""

import pytest

from .policies import ADMISSION, in_force
from .rows import NAMESPACED, Case, applied, explained, manifest, refused
from .stack import Job, Stack, eventually

HERE = ("-N1", "--nodelist=compute1")  # whose daemon is asked to explain
CREATED = {"apiGroups": ["kubeflow.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pytorchjobs"]}


def test_a_volume_of_a_missing_secret(stack: Stack) -> None:
    volumes = [{"name": "v", "secret": {"secretName": "nothing"}}]
    spec = manifest(stack, volumes=volumes, volumeMounts=[{"name": "v", "mountPath": "/v"}])
    refused(stack, Case("volume-missing", spec, 'secret "nothing" not found'))


def test_a_variable_of_a_missing_secret(stack: Stack) -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "nothing", "key": "k"}}}]
    refused(stack, Case("container-config", manifest(stack, env=env), 'secret "nothing" not found'))


def test_an_init_container_that_fails(stack: Stack) -> None:
    init = {"name": "prepare", "image": stack.images["small"], "command": ["sh", "-c", "exit 3"]}
    refused(
        stack, Case("init-failed", manifest(stack, inits=[init]), "the init container prepare of rank 0 on compute1")
    )


def test_a_command_that_is_not_there(stack: Stack) -> None:
    refused(stack, Case("bad-command", manifest(stack, "no-such-program"), "executable file not found in $PATH"))


@pytest.mark.parametrize(
    ("image", "policy", "row", "words"),
    [
        ("UPPER/Case:1", "Always", "image-name", "image name UPPER/Case:1 is not valid"),
        ("registry:5000/skb/absent:1", "Never", "image-never-pulled", "is not present with pull policy of Never"),
        ("no.such.registry.invalid/x:1", "Always", "image-no-registry", "no such host"),
    ],
)
def test_an_image_that_cannot_come(stack: Stack, image: str, policy: str, row: str, words: str) -> None:
    refused(stack, Case(row, manifest(stack, image=image, imagePullPolicy=policy), words))


def test_an_image_that_is_not_for_everybody(stack: Stack) -> None:
    stack.registry({"mode": "401", "match": "/skb/small/"})
    refused(stack, Case("image-forbidden", manifest(stack, imagePullPolicy="Always"), "the registry refuses image"))
    stack.registry({"mode": "ok"})


def test_a_mount_on_a_file(stack: Stack) -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    spec = manifest(stack, volumes=volumes, volumeMounts=[{"name": "v", "mountPath": "/etc/passwd"}])
    refused(stack, Case("container-create", spec, "/etc/passwd"))


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


def test_a_long_pull_is_told_while_it_lasts(stack: Stack) -> None:
    stack.registry({"mode": "hang", "match": "/skb/small/"})
    job = stack.submit(manifest(stack, imagePullPolicy="Always"), *HERE)
    words = f"image {stack.images['small']} is still being pulled"
    eventually(lambda: explaining(stack, job, words), 60, "a prolog that waits for the image")
    stack.registry({"mode": "ok"})
    stack.await_end(job, 90)
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
