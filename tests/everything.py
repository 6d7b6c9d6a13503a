"""A PyTorchJob with every field of a pod that the bridge takes as it is."""

import json
from typing import Any

_KEY = {"name": "given", "key": "k", "optional": True}
_FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}
_FILE = {"volumeName": "empty", "path": "env", "key": "K", "optional": True}
_HTTP = {"path": "/", "port": 80, "scheme": "HTTP", "httpHeaders": [{"name": "A", "value": "b"}]}
_EXEC = {"exec": {"command": ["true"]}}
_ITEMS = {"name": "given", "optional": True, "defaultMode": 0o444, "items": [{"key": "k", "path": "k"}]}

CONTAINER: dict[str, Any] = {
    "imagePullPolicy": "IfNotPresent",
    "command": ["sh", "-c"],
    "args": ["true"],
    "workingDir": "/tmp",
    "env": [
        {"name": "PLAIN", "value": "x"},
        {"name": "MAP", "valueFrom": {"configMapKeyRef": _KEY}},
        {"name": "POD", "valueFrom": _FIELD},
        {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": _KEY}},
        {"name": "FILE", "valueFrom": {"fileKeyRef": _FILE}},
    ],
    "envFrom": [
        {"prefix": "A_", "configMapRef": {"name": "given", "optional": True}},
        {"secretRef": {"name": "given", "optional": True}},
    ],
    "ports": [{"containerPort": 8080, "name": "web", "protocol": "TCP"}],
    "volumeMounts": [
        {"name": "map", "mountPath": "/map", "readOnly": True, "recursiveReadOnly": "IfPossible", "subPath": "k"},
        {"name": "empty", "mountPath": "/empty", "subPathExpr": "$(PLAIN)"},
    ],
    "securityContext": {"readOnlyRootFilesystem": True},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "FallbackToLogsOnError",
}
_ASKED = {"postStart": _EXEC, "preStop": {"httpGet": _HTTP}}
_WAITING = {"postStart": {"httpGet": _HTTP}, "preStop": {"sleep": {"seconds": 1}}}
_SLEEPING = {"postStart": {"sleep": {"seconds": 1}}, "preStop": {"tcpSocket": {"port": 80}}}
_KNOCKING = {"postStart": {"tcpSocket": {"port": 80}}, "preStop": _EXEC}
_PROBES = {"livenessProbe": _EXEC, "readinessProbe": {"httpGet": _HTTP}, "startupProbe": {"tcpSocket": {"port": 80}}}
_SOURCES = [
    {"configMap": {"name": "given", "optional": True, "items": [{"key": "k", "path": "map"}]}},
    {"secret": {"name": "given", "optional": True, "items": [{"key": "k", "path": "secret"}]}},
    {"downwardAPI": {"items": [{"path": "name", **_FIELD}]}},
    {"clusterTrustBundle": {"name": "given", "optional": True, "path": "bundle.pem"}},
]
VOLUMES: list[dict[str, Any]] = [
    {"name": "map", "configMap": _ITEMS},
    {"name": "secret", "secret": {"secretName": "given", "optional": True}},
    {"name": "own", "downwardAPI": {"items": [{"path": "name", **_FIELD}]}},
    {"name": "empty", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    {"name": "image", "image": {"reference": "registry.example/data:1", "pullPolicy": "IfNotPresent"}},
    {"name": "mixed", "projected": {"defaultMode": 0o444, "sources": _SOURCES}},
    {"name": "disk", "persistentVolumeClaim": {"claimName": "team-claim", "readOnly": False}},
]


def pod(image: str = "registry.example/x:1") -> dict[str, Any]:
    """The pod's spec."""
    part = CONTAINER | {"image": image}
    return {
        "containers": [
            part | {"name": "pytorch", "lifecycle": _ASKED},
            part | {"name": "beside", "lifecycle": _WAITING, **_PROBES},
        ],
        "initContainers": [
            part | {"name": "before"},
            part | {"name": "along", "restartPolicy": "Always", "lifecycle": _SLEEPING, **_PROBES},
            part | {"name": "too", "restartPolicy": "Always", "lifecycle": _KNOCKING},
        ],
        "dnsConfig": {"nameservers": ["10.0.0.1"], "searches": ["a.b"], "options": [{"name": "ndots", "value": "2"}]},
        "dnsPolicy": "ClusterFirst",
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
        "imagePullSecrets": [{"name": "given"}],
        "shareProcessNamespace": True,
        "volumes": VOLUMES,
    }


def pytorch_job(image: str = "registry.example/x:1") -> str:
    """As somebody might write it."""
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": pod(image)}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "everything"}}
    return json.dumps(job | {"spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}}})
