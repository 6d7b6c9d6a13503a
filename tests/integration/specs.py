"""Specs that the tests submit."""

import json

# A line of shell that trains until `Stack.let_go` is called; what it shall do then stands behind it.
UNTIL_LET_GO = "trap 'exit 143' TERM; until [ -e /tmp/let-go ]; do sleep 0.2; done"
SCRIPT_UNTIL_GO = "until [ -e go ]; do sleep 0.2; done"  # of sbatch: until there is a file `go` in the job's directory
_CONTAINER_JOB = {"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob"}


def container_job(image: str, script: str, **more: object) -> str:
    """A ContainerJob that runs a line of shell. YAML is a superset of JSON."""
    return json.dumps(_CONTAINER_JOB | {"image": image, "command": ["sh", "-c", script]} | more)


def training(image: str, *arguments: str) -> str:
    """The torch DDP training as a ContainerJob."""
    command = ["python3", "/opt/train/ddp.py"]
    return json.dumps(_CONTAINER_JOB | {"image": image, "command": command, "args": list(arguments)})


def pytorch_job(image: str, *arguments: str) -> str:
    """The same as people bring it: a Master and a Worker, OnFailure, no resources, as the operator's examples."""
    container = {
        "name": "pytorch",
        "image": image,
        "imagePullPolicy": "Always",
        "command": ["python3", "/opt/train/ddp.py", *arguments],
    }
    replica = {"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    return json.dumps(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "pytorch-simple", "namespace": "kubeflow"},
            "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}},
        }
    )


def stubborn(image: str, script: str, grace: int, **container: object) -> str:
    """A job of one process that ignores SIGTERM and is killed after ``grace`` seconds."""
    training = {"name": "pytorch", "image": image, "command": ["sh", "-c", f"trap '' TERM; {script}"], **container}
    pod = {"terminationGracePeriodSeconds": grace, "containers": [training]}
    return json.dumps(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "stubborn"},
            "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": pod}}}},
        }
    )
