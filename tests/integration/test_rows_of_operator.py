"""Rows of the training-operator and of its CRD on the real stack. The job that meets them waits, is told, and runs as
soon as all is as it should be: nobody starts it or the daemon anew."""

import json

from .policies import in_force
from .rows import changed, hears, manifest
from .stack import Job, Stack

_CRD = ("customresourcedefinition", "pytorchjobs.kubeflow.org")
_TEMPLATE = "properties/spec/properties/pytorchReplicaSpecs/additionalProperties/properties/template"
_GATES = f"/spec/versions/0/schema/openAPIV3Schema/{_TEMPLATE}/properties/spec/properties/schedulingGates"
_HERE = ("-N1", "--nodelist=compute1")  # whose daemon is asked to explain


def test_a_crd_that_is_too_old_and_then_not_served(stack: Stack) -> None:
    with changed(stack, *_CRD, _GATES):
        in_force(stack, "PyTorchJob", "schedulingGates")
        job = stack.submit(manifest(stack), *_HERE)
        hears(stack, job, "crd-too-old")
        with changed(stack, *_CRD, "/spec/versions/0/served", False):
            hears(stack, job, "crd-missing")
    runs_at_last(stack, job)


def test_an_operator_that_is_silent_and_then_may_not_make_pods(stack: Stack) -> None:
    """Where its webhook may fail, a workload is made that nobody attends to."""
    webhook = ("validatingwebhookconfiguration", "validator.training-operator.kubeflow.org")
    role = ("clusterrole", "training-operator")
    rules = json.loads(stack.kubectl("get", *role, "-o", "json"))["rules"]
    index = next(index for index, rule in enumerate(rules) if rule["resources"] == ["pods"])
    others = [verb for verb in rules[index]["verbs"] if verb != "create"]
    with changed(stack, *role, f"/rules/{index}/verbs", others):
        with changed(stack, *webhook, "/webhooks/0/failurePolicy", "Ignore"), stack.stopped("training-operator"):
            job = stack.submit(manifest(stack), *_HERE)
            hears(stack, job, "operator-silent")
        hears(stack, job, "operator-forbidden")
    runs_at_last(stack, job)


def runs_at_last(stack: Stack, job: Job) -> None:
    """What waited is tried again by everybody, later and later."""
    stack.await_ended([job], 180)
    stack.await_idle(90)
    assert stack.state(job) == "COMPLETED"
