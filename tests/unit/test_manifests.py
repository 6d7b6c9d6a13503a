"""The collected manifests: nearly all run, each of them as a pod that the policies let in, and the page says so."""

from pathlib import Path
from typing import Any

import pytest

from tests.manifests.__main__ import page
from tests.manifests.collected import HERE, Manifest, manifests

ROOT = Path(__file__).parent.parent.parent
EVERY = manifests()


def test_the_page_is_what_the_code_says() -> None:
    assert (ROOT / "docs" / "reference" / "manifests.md").read_text() == page()


def test_every_file_is_in_the_index_once() -> None:
    assert sorted(path.stem for path in (HERE / "public").iterdir()) == sorted(manifest.name for manifest in EVERY)
    assert len(EVERY) >= 30


def test_nine_of_ten_run_without_an_edit() -> None:
    passed = [manifest for manifest in EVERY if manifest.rendered() is not None]
    assert len(passed) >= 0.9 * len(EVERY)


@pytest.mark.parametrize("manifest", EVERY, ids=lambda manifest: manifest.name)
def test_a_refusal_names_the_field_the_fault_and_the_cure(manifest: Manifest) -> None:
    for reason in manifest.refusals():
        path, _, rest = reason.partition(": ")
        assert path
        assert "; " in rest


@pytest.mark.parametrize("manifest", EVERY, ids=lambda manifest: manifest.name)
def test_the_notice_is_short(manifest: Manifest) -> None:
    made = manifest.rendered()
    notices = made.notices if made else ()
    assert len(notices) <= 25
    assert all(len(notice) <= 600 for notice in notices)


@pytest.mark.parametrize("manifest", EVERY, ids=lambda manifest: manifest.name)
def test_every_pod_is_gated_anonymous_and_has_the_allocation(manifest: Manifest) -> None:
    made = manifest.rendered()
    if made is None:
        return
    (role,) = made.manifest["spec"]["pytorchReplicaSpecs"].values()
    pod: dict[str, Any] = role["template"]["spec"]
    assert role["replicas"] == manifest.allocation["nodes"]
    assert role["restartPolicy"] == "Never"
    assert pod["schedulingGates"] == [{"name": "slurm-k8s-bridge/node"}]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsUser"] == 1001
    assert not {"affinity", "nodeSelector", "nodeName", "hostNetwork", "hostIPC", "hostPID"} & pod.keys()
    amounts = pod["containers"][0]["resources"]["limits"]
    gpus = {name: count for name, count in amounts.items() if name.endswith("/gpu")}
    assert list(gpus.values()) == ([str(manifest.allocation["gpus"])] if manifest.allocation["gpus"] else [])
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        assert not container["securityContext"].get("privileged")
        assert container["resources"]["limits"] == container["resources"]["requests"]
    paths = [volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume]
    assert set(paths) <= {"/mnt/k8s-disks/0"}
