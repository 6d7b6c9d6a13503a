"""Specs that cannot run: each refusal names the field, the fault and the cure, and all come at once."""

from typing import Any

import pytest
import yaml

from bridge.job.render import render
from tests.unit.job.given import placement, reasons, site

POD = "spec.pytorchReplicaSpecs.Worker.template.spec"
MAIN = f"{POD}.containers[0]"


def job(pod: dict[str, Any] | None = None, container: dict[str, Any] | None = None, **spec: Any) -> str:
    main = {"name": "pytorch", "image": "x", **(container or {})}
    template = {"spec": {"containers": [main], **(pod or {})}}
    return yaml.safe_dump(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}, **spec},
        }
    )


def short(**fields: Any) -> str:
    return yaml.safe_dump({"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob", "image": "x", **fields})


def mount(**source: Any) -> dict[str, Any]:
    return {"pod": {"volumes": [{"name": "v", **source}]}}


def asks(name: str, amount: object, side: str = "limits") -> dict[str, Any]:
    return {"container": {"resources": {side: {name: amount}}}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (job({"hostNetwork": True}), f"{POD}.hostNetwork: true is not allowed; remove it: pods have no namespaces"),
        (job({"hostPID": True}), f"{POD}.hostPID: true is not allowed"),
        (job({"ephemeralContainers": [{"name": "x"}]}), f"{POD}.ephemeralContainers: "),
        (job({"resourceClaims": [{"name": "x"}]}), f"{POD}.resourceClaims: "),
        (job({"resources": {"limits": {"cpu": 1}}}), f"{POD}.resources: "),
        (job({"hostnetwork": True}), f"{POD}.hostnetwork: no such field; write hostNetwork"),
        (job({"colour": "red"}), f"{POD}.colour: no such field; remove it"),
        (job({"hostNetwrok": True}), f"{POD}.hostNetwrok: no such field; write hostNetwork"),
        (
            job(container={"securityContext": {"privileged": True}}),
            f"{MAIN}.securityContext.privileged: true is not allowed; remove it: the pods have no privileges",
        ),
        (
            job(container={"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}),
            f'{MAIN}.securityContext.capabilities.add: ["SYS_ADMIN"] is not allowed; remove it',
        ),
        (job(container={"ports": [{"containerPort": 1, "hostPort": 80}]}), f"{MAIN}.ports[0].hostPort: 80 is"),
        (job(container={"ports": [{"containerPort": 0}]}), f"{MAIN}.ports[0]: has no containerPort"),
        (job(container={"image": ""}), f"{MAIN}.image: is missing; write the image to run"),
        (job(container={"image": "a b"}), f"{MAIN}.image: 'a b' cannot be used"),
        (job(container={"image": 7}), f'{MAIN}.image: must be text, is 7; write "7"'),
        (job(container={"command": "python x"}), f"{MAIN}.command: must be a list of texts"),
        (job(container={"env": [{"name": "A", "value": 1}]}), f'{MAIN}.env[0].value: must be text, is 1; write "1"'),
        (job(container={"env": [{"name": "A=B"}]}), f"{MAIN}.env[A=B]: 'A=B' is no name of a variable"),
        (job(container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]}), f"{MAIN}.volumeMounts[0].name: the pod"),
        (job(container={"volumeDevices": [{"name": "v"}]}), f"{MAIN}.volumeDevices: "),
        (job(**mount(hostPath={"path": "/etc"})), f"{POD}.volumes[0].hostPath: '/etc' of the node is not open to pods"),
        (job(**mount(hostPath={"path": "/dev/infiniband"})), f"{POD}.volumes[0].hostPath: "),
        (job(**mount(hostPath={})), f"{POD}.volumes[0].hostPath: '' of the node"),
        (job(**mount(persistentVolumeClaim={"claimName": "x"})), f"{POD}.volumes[0].persistentVolumeClaim.claimName: "),
        (job(**mount(nfs={"server": "s", "path": "/"})), f"{POD}.volumes[0].nfs: "),
        (job(**mount(csi={"driver": "d"})), f"{POD}.volumes[0].csi: "),
        (job(**mount(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]})), f"{POD}.volumes[0].projected."),
        (
            job(**mount(emptyDir={"medium": "Memory", "sizeLimit": "20Gi"})),
            f"{POD}.volumes[0].emptyDir.sizeLimit: 20480Mi of memory, but the training's share of a node is 16384Mi",
        ),
        (job(**mount(emptyDir={"sizeLimit": "big"})), f"{POD}.volumes[0].emptyDir.sizeLimit: 'big' is no quantity"),
        (
            job(**asks("cpu", 9)),
            f"{MAIN}.resources.limits.cpu: asks for cpu 9, Slurm gave 8 per node; "
            "lower it or submit with --cpus-per-task=9",
        ),
        (job(**asks("cpu", "8500m", "requests")), f"{MAIN}.resources.requests.cpu: asks for cpu 8500m, Slurm gave 8"),
        (
            job(**asks("memory", "20Gi")),
            f"{MAIN}.resources.limits.memory: asks for memory 20480Mi, Slurm gave 16384Mi per node; "
            "lower it or submit with --mem=20480M",
        ),
        (
            job(**asks("nvidia.com/gpu", 3)),
            f"{MAIN}.resources.limits.nvidia.com/gpu: asks for 3 nvidia.com/gpu, Slurm gave 2 per node; "
            "write 2, or remove it, or submit with --gpus-per-node=3",
        ),
        (job(**asks("nvidia.com/gpu", 0)), f"{MAIN}.resources.limits.nvidia.com/gpu: asks for 0"),
        (job(**asks("nvidia.com/mig-1g.5gb", 1)), f"{MAIN}.resources.limits.nvidia.com/mig-1g.5gb: "),
        (job(**asks("amd.com/gpu", 1)), f"{MAIN}.resources.limits.amd.com/gpu: "),
        (job(**asks("cpu", "two")), f"{MAIN}.resources.limits.cpu: 'two' is no quantity; write one such as 2"),
        (job(metadata={"x": 1}), "spec.metadata: no such field"),
        (job(nprocPerNode="many"), "spec.nprocPerNode: 'many' is no number of processes; write auto, cpu, gpu"),
        (job(elasticPolicy={"nProcPerNode": 0}), "spec.elasticPolicy.nProcPerNode: 0 is no number"),
        (job(runPolicy={"clean": 1}), "spec.runPolicy.clean: no such field"),
        (short(volumes=["home"]), "volumes[0]: the site has no volume 'home'; use one of: data, scratch, team"),
        (short(volumes="data"), "volumes: must be a list"),
        (short(volumes=["data", "data"]), "volumes[1]: '/data' is taken by another mount"),
        (short(volumes=[{"name": "data", "mountPath": "x"}]), "volumes[0].mountPath: is no absolute path"),
        (short(volumes=[{"mountPath": "/x"}]), "volumes[0]: has no name"),
        (short(env={"A": 1}), 'env.A: 1 is not text; write "1"'),
        (short(env={"A": True}), 'env.A: true is not text; write "true"'),
        (short(env="A=1"), "env: must be a list"),
        (short(ports=[70000]), "ports[0]: has no containerPort"),
        (short(shmSize="20Gi"), "shmSize: 20480Mi of memory"),
        (short(shmSize="big"), "shmSize: 'big' is no quantity"),
        (short(resources={}), "resources: no such field"),
        (short(image=None), "image: is missing"),
        (short(metadata={"labels": {"a": "b c"}}), "metadata.labels[a]: 'b c' is no value of a label"),
        (short(metadata={"labels": {"a": 1}}), "metadata.labels: must be an object whose values are text"),
        (short(metadata={"finalizers": ["x"]}), 'metadata.finalizers: ["x"] is not allowed; remove them'),
        (short(metadata={"ownerReferences": [{}]}), "metadata.ownerReferences: "),
        (short(kind="Job"), "kind: 'Job' of 'slurm-k8s-bridge/v1' cannot be run; write PyTorchJob of kubeflow.org/v1"),
        ("a: 1", "kind: null of null cannot be run; write PyTorchJob"),
        ("apiVersion: [1]\nkind: {}", "kind: {} of [1] cannot be run"),
        ("apiVersion: kubeflow.org/v1\nkind: PyTorchJob", "spec.pytorchReplicaSpecs: has neither Worker nor Master"),
        (
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {pytorchReplicaSpecs: {Worker: {}}}",
            f"{POD}.containers: has no container; write one named pytorch",
        ),
    ],
)
def test_refused(text: str, reason: str) -> None:
    told = reasons(text)
    assert len(told) == 1, told
    assert told[0].startswith(reason)


def test_memory_that_slurm_does_not_count_is_the_sites() -> None:
    (told,) = reasons(job(**asks("memory", "61Gi")), placement(memory_mib=None))
    assert "asks for memory 62464Mi, and the site lets a pod have 61440Mi; lower it" in told


def test_gpus_without_gpus() -> None:
    (told,) = reasons(job(**asks("nvidia.com/gpu", 1)), placement(gpus_per_node=0))
    assert told.endswith("Slurm gave 0 per node; remove it, or submit with --gpus-per-node=1")


@pytest.mark.parametrize("uid", [0, 999])
def test_system_users_have_no_pods(uid: int) -> None:
    (told,) = reasons(short(), placement(uid=uid))
    assert told.startswith(f"uid: {uid} belongs to the system")


def test_everything_is_said_at_once() -> None:
    text = job(
        {"hostNetwork": True, "volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]},
        {"securityContext": {"privileged": True}, "resources": {"limits": {"cpu": 99, "nvidia.com/gpu": 3}}},
        colour="red",
    )
    assert len(reasons(text, placement(uid=0))) == 7


def roles(master: dict[str, Any], worker: dict[str, Any]) -> str:
    both = {
        role: {"template": {"spec": {"containers": [{"name": "pytorch", "image": "x", **container}]}}}
        for role, container in (("Master", master), ("Worker", worker))
    }
    return yaml.safe_dump(
        {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": both}}
    )


@pytest.mark.parametrize(
    ("master", "worker", "where"),
    [
        ({"args": ["a", "b"]}, {"args": ["a", "c"]}, "args[1]: 'b', but 'c' in Worker"),
        ({"args": ["a"]}, {"args": ["a", "c"]}, 'args: ["a"], but ["a", "c"] in Worker'),
        ({}, {"command": ["a"]}, 'command: null, but ["a"] in Worker'),
        ({"image": "y"}, {}, "image: 'y', but 'x' in Worker"),
        ({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]}, "env[0].value: '1', but"),
    ],
)
def test_a_master_that_differs_is_refused_with_the_first_field(
    master: dict[str, Any], worker: dict[str, Any], where: str
) -> None:
    (told,) = reasons(roles(master, worker))
    assert told.startswith(f"spec.pytorchReplicaSpecs.Master.template.spec.containers[0].{where}")
    assert "RANK" in told


@pytest.mark.parametrize(
    ("master", "worker"),
    [
        ({"env": []}, {}),
        ({"resources": {"limits": {"cpu": 1}}}, {"resources": {"limits": {"cpu": "1"}}}),
        ({"securityContext": {"runAsUser": 0}}, {}),
        ({"tty": True}, {}),
    ],
)
def test_a_master_that_differs_in_nothing_that_stays_is_merged(master: dict[str, Any], worker: dict[str, Any]) -> None:
    made = render(roles(master, worker).encode(), placement(), site())
    assert list(made.manifest["spec"]["pytorchReplicaSpecs"]) == ["Worker"]


def containers(*others: dict[str, Any], names: tuple[str, ...] = ("pytorch", "log")) -> str:
    parts = [{"name": name, "image": "x"} for name in names]
    for part, fields in zip(parts[1:], others, strict=False):
        part.update(fields)
    return job({"containers": parts})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (containers(names=("a", "b")), f"{POD}.containers: none of 'a', 'b' is the training; name the training's"),
        (containers(names=("pytorch", "pytorch")), f"{POD}.containers[1].name: 'pytorch' is there twice"),
        (containers(names=("pytorch", "A_b")), f"{POD}.containers[1].name: 'A_b' cannot be used"),
        (
            containers({"resources": {"limits": {"nvidia.com/gpu": 1}}}),
            f"{POD}.containers[1].resources.limits.nvidia.com/gpu: a container beside the training asks for GPUs",
        ),
        (
            containers({"livenessProbe": {"httpGet": {"port": 80, "host": "10.0.0.1"}}}),
            f"{POD}.containers[1].livenessProbe.httpGet.host: '10.0.0.1' is not allowed; remove it: the kubelet asks",
        ),
        (
            job({"initContainers": [{"name": "a", "image": "x", "startupProbe": {"tcpSocket": {"host": "a"}}}]}),
            f"{POD}.initContainers[0].startupProbe.tcpSocket.host: 'a' is not allowed",
        ),
        (
            containers({"lifecycle": {"preStop": {"httpGet": {"host": "127.0.0.1", "port": 1}}}}),
            f"{POD}.containers[1].lifecycle.preStop.httpGet.host: '127.0.0.1' is not allowed; remove it",
        ),
        (containers({"resources": {"limits": {"cpu": "7500m"}}}), f"{POD}: the other containers leave the training no"),
        (containers({"resources": {"limits": {"memory": "16Gi"}}}), f"{POD}: the other containers leave the training"),
    ],
)
def test_containers_beside_the_training(text: str, reason: str) -> None:
    told = reasons(text)
    assert len(told) == 1, told
    assert told[0].startswith(reason)


def test_claims_of_the_project_by_a_pattern_of_the_site() -> None:
    claim = job(**mount(persistentVolumeClaim={"claimName": "team-a", "readOnly": True}))
    assert "is not a claim of the site" in reasons(claim)[0]
    made = render(claim.encode(), placement(), site(claims=["team-*"]))
    volumes = made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["volumes"]
    assert volumes[0]["persistentVolumeClaim"] == {"claimName": "team-a", "readOnly": True}
    nameless = job(**mount(persistentVolumeClaim={"claimName": ""}))
    assert "'' is not a claim" in reasons(nameless, config=site(claims=["*"]))[0]


@pytest.mark.parametrize("path", ["/dev/gdrdrv", "/dev/nvidia-caps-imex-channels/", "/usr/local/nvidia"])
def test_what_comes_with_the_gpus_is_left_out_with_its_mounts(path: str) -> None:
    text = job(
        {"volumes": [{"name": "v", "hostPath": {"path": path}}]},
        {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
    )
    made = render(text.encode(), placement(), site())
    pod = made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]] == ["/dev/shm", "/slurm-home"]
    assert [volume["name"] for volume in pod["volumes"]] == ["slurm-k8s-bridge-shm", "slurm-k8s-bridge-home"]
    assert f"{POD}.volumes[0].hostPath: {path} left out: it comes with the GPUs" in made.notices


def test_gpus_by_another_name_of_the_site() -> None:
    named = site().model_copy(update={"gpu": site().gpu.model_copy(update={"aliases": ("nvidia.com/a40",)})})
    made = render(job(**asks("nvidia.com/a40", 2)).encode(), placement(), named)
    pod = made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert "asks for 3 nvidia.com/gpu, Slurm gave 2" in reasons(job(**asks("nvidia.com/a40", 3)), config=named)[0]


def test_the_nodes_shared_memory_is_not_needed() -> None:
    made = render(job({"hostIPC": True}).encode(), placement(), site())
    assert "hostIPC" not in made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert f"{POD}.hostIPC: true left out: the processes of a rank share the pod's own /dev/shm" in made.notices


def test_a_volumes_name_that_no_pod_can_have_is_mended_with_its_mounts() -> None:
    volumes = [{"name": "IO_benchmark", "emptyDir": {}}]
    text = job({"volumes": volumes}, {"volumeMounts": [{"name": "IO_benchmark", "mountPath": "/io"}]})
    made = render(text.encode(), placement(), site())
    pod = made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert pod["volumes"][0]["name"] == "io-benchmark"
    assert pod["containers"][0]["volumeMounts"][0] == {"name": "io-benchmark", "mountPath": "/io"}
    told = f"{POD}.volumes[0].name: 'IO_benchmark' replaced by io-benchmark: a volume's name has no such characters"
    assert told in made.notices


@pytest.mark.parametrize("names", [("a-b", "a_b"), ("__",), ("",), ("x" * 64,)])
def test_a_volumes_name_that_cannot_be_mended_is_refused(names: tuple[str, ...]) -> None:
    (told,) = reasons(job({"volumes": [{"name": name, "emptyDir": {}} for name in names]}))
    assert "is no name of a volume; use up to 63 lower case letters" in told
