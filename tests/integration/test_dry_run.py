"""`bridgectl check` with a kubeconfig of its caller's: what the real API server says of the job's objects."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .detours import client_pair, with_client
from .rows import applied, manifest
from .stack import Stack

_TAKES = "Kubernetes would take the PyTorchJob and its pods\n"


@pytest.fixture
def file(stack: Stack) -> Iterator[str]:
    """A spec of ml's, who has a kubeconfig."""
    directory = stack.new_directory("ml", "dry-run")
    stack.write(f"{directory}/job.yaml", manifest(stack))
    admin = stack.exec("login", "cat", "/root/.kube/config")
    stack.write(f"{directory}/kubeconfig", with_client(admin, *client_pair(stack, "ml", 1)), mode="600")
    try:
        yield f"{directory}/job.yaml"
    finally:
        stack.exec("login", "rm", f"{directory}/kubeconfig")
    assert stack.objects("pytorchjobs") == [], "nothing is made of it"


@contextmanager
def rights(stack: Stack, *resources: str) -> Iterator[None]:
    """What ml may create in the namespace of the jobs."""
    here = {"name": "ml", "namespace": stack.namespace}
    rules = [
        {"apiGroups": ["", "kubeflow.org"], "resources": [resource], "verbs": ["create"]} for resource in resources
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": here, "rules": rules}
    binding = {
        **role,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ml"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ml"}],
    }
    del binding["rules"]
    with applied(stack, role, binding):
        yield


def checked(stack: Stack, file: str, *words: str) -> str:
    """What is said, and the exit code behind it."""
    script = 'export KUBECONFIG=$1; shift; bridgectl check "$@" 2>&1; echo "exit $?"'
    kubeconfig = file.replace("job.yaml", "kubeconfig")
    return stack.exec("login", "sh", "-c", script, "sh", kubeconfig, file, *words, user="ml")


def test_what_it_would_take(stack: Stack, file: str) -> None:
    with rights(stack, "pytorchjobs", "pods"):
        said = checked(stack, file, "-N2")
        assert _TAKES in said and said.endswith("exit 0\n"), said
        assert json.loads(checked(stack, file, "-o", "json").rpartition("exit")[0])["kubernetes_takes"] == [
            "the PyTorchJob",
            "its pods",
        ]


def test_what_it_would_not_take(stack: Stack, file: str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": stack.namespace}}
    with rights(stack, "pytorchjobs", "pods"), applied(stack, {**quota, "spec": {"hard": {"pods": "0"}}}):
        said = checked(stack, file)
        assert "refused: Kubernetes refuses the pods: " in said and "exceeded quota: none" in said, said
        assert said.endswith("exit 1\n")
        assert checked(stack, file, "--offline").endswith("exit 0\n")


def test_what_its_caller_may_not_ask(stack: Stack, file: str) -> None:
    with rights(stack, "pytorchjobs"):
        said = checked(stack, file)
        assert "note: Kubernetes was not asked about the pods: your account may not create any there" in said, said
        assert "Kubernetes would take the PyTorchJob\n" in said and said.endswith("exit 0\n")
    said = checked(stack, file)
    assert said.count("your account may not create any there") == 2 and said.endswith("exit 0\n"), said


def test_one_that_is_not_there(stack: Stack, file: str) -> None:
    with stack.stopped("kube-apiserver"):
        said = checked(stack, file)
    assert "note: Kubernetes was asked, and cannot say: " in said and said.endswith("exit 0\n"), said
