"""Spec files with more than the job: what is needless is left out and named, the rest is refused."""

import pytest
import yaml

from bridge.job.render import Rendered, render
from tests.unit.job.given import placement, reasons, site

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        metadata: {labels: {app: train}}
        spec: {containers: [{name: pytorch, image: x}]}
"""
ETCD = """\
kind: %s
metadata: {name: etcd}
spec: {template: {metadata: {labels: {app: etcd}}, spec: {containers: [{image: "%s", command: [%s]}]}}}
"""
SERVICE = "kind: Service\nmetadata: {name: rdzv}\nspec: {clusterIP: %s, selector: {%s}}\n"
POD = "kind: Pod\nmetadata: {name: etcd-server, labels: {app: etcd}}\nspec: {containers: [{image: quay.io/etcd}]}\n"


def file(*documents: str) -> str:
    return "---\n".join((*documents, JOB))


def rendered(*documents: str) -> Rendered:
    return render(file(*documents).encode(), placement(), site())


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        (
            [ETCD % ("Deployment", "registry.k8s.io/etcd:3.4.13-0", "")],
            ["Deployment etcd: left out: the bridge brings"],
        ),
        ([ETCD % ("StatefulSet", "a.b:5000/c@sha256:0", "/usr/local/bin/etcd")], ["StatefulSet etcd: left out: the "]),
        ([POD, SERVICE % ("", "app: etcd")], ["Pod etcd-server: left out: the bridge", "Service rdzv: left out: the "]),
        ([SERVICE % ("None", "app: train")], ["Service rdzv: left out: the bridge brings torch's rendezvous"]),
        ([SERVICE % ("None", "training.kubeflow.org/job-name: train")], ["Service rdzv: left out: the bridge brings"]),
        (["kind: Namespace\nmetadata: {name: ml}\n"], ["Namespace ml: left out: the site gives"]),
        (["kind: RoleBinding\nmetadata: {name: r}\n"], ["RoleBinding r: left out: the pods have no identity"]),
        (["kind: LocalQueue\nmetadata: {name: q}\n"], ["LocalQueue q: left out: Slurm has scheduled the job already"]),
        (
            ["kind: PersistentVolumeClaim\nmetadata: {name: team-claim}\n"],
            ["PersistentVolumeClaim team-claim: left out: the site lets specs use this claim, but it must be there"],
        ),
    ],
)
def test_what_the_bridge_makes_needless_is_left_out(documents: list[str], told: list[str]) -> None:
    alone = render(JOB.encode(), placement(), site())
    made = rendered(*documents)
    assert made.manifest == alone.manifest
    first = [notice for notice in made.notices if notice not in alone.notices]
    assert len(first) == len(told)
    assert all(notice.startswith(start) for notice, start in zip(first, told, strict=True)), first


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (
            "kind: ConfigMap\nmetadata: {name: scripts}\ndata: {a: b}\n",
            "ConfigMap scripts: is not made by the bridge, which creates the job alone; create it once with kubectl in "
            "namespace slurm-jobs, or ask the site to, and remove it from this file",
        ),
        ("kind: Secret\nmetadata: {name: hub}\nstringData: {t: hf_x}\n", "Secret hub: is not made by the bridge"),
        (
            "kind: PersistentVolumeClaim\nmetadata: {name: mine}\n",
            "PersistentVolumeClaim mine: is not made by the bridge, which creates the job alone; create it once with "
            "kubectl in namespace slurm-jobs, or ask the site to, and remove it from this file; the site must name",
        ),
        (SERVICE % ("", "app: train"), "Service rdzv: is not made by the bridge"),
        (SERVICE % ("None", "app: other"), "Service rdzv: is not made by the bridge"),
        (SERVICE % ("None", ""), "Service rdzv: is not made by the bridge"),
        (
            ETCD % ("Deployment", "redis", ""),
            "Deployment etcd: is not made by the bridge, which creates the job alone; "
            "remove it: run it as an init container of the job, or as a job of its own",
        ),
        (
            "kind: MPIJob\nmetadata: {name: m}\n",
            "MPIJob m: is not made by the bridge, which creates the job alone; rem",
        ),
        ("a: 1\n", "document: is not made by the bridge"),
        ("kind: [1]\nmetadata: 7\n", "document: is not made by the bridge"),
        ("kind: Service\nmetadata: {name: [x]}\nspec: 3\n", "Service: is not made by the bridge"),
        ("kind: Pod\nspec: {containers: [null, {image: 1, command: 2}, {command: []}]}\n", "Pod: is not made by the"),
    ],
)
def test_what_the_job_would_miss_is_refused(document: str, reason: str) -> None:
    (told,) = reasons(file(document))
    assert told.startswith(reason)
    assert "hf_x" not in told


def test_all_reasons_come_at_once() -> None:
    text = file("kind: Secret\n", "kind: ConfigMap\n").replace("image: x", "image: x, colour: red")
    assert [reason.partition(":")[0] for reason in reasons(text)] == [
        "Secret",
        "ConfigMap",
        "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].colour",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (file(JOB), "kind: 2 jobs in one file, PyTorchJob train, PyTorchJob train; give each a file and an sbatch"),
        ("kind: Service\n---\nkind: Pod\n", "kind: none of Service, Pod is a job; write a PyTorchJob or a Conta"),
        ("kind: Service\n", "kind: 'Service' of null cannot be run; write PyTorchJob of kubeflow.org/v1"),
    ],
)
def test_a_file_has_one_job(text: str, reason: str) -> None:
    (told,) = reasons(text)
    assert told.startswith(reason)


def test_a_long_name_is_cut() -> None:
    (told,) = reasons(file(yaml.safe_dump({"kind": "Secret", "metadata": {"name": "x" * 500}})))
    assert len(told) < 300
