"""The kubelet and the disks."""

from pathlib import Path

from bridge.doctor.checks.kubelet import CHECK, Kubelet

from .given import Somewhere, judged, site


def test_what_they_complain_of() -> None:
    assert judged(CHECK, Kubelet("", "")) == []
    assert judged(CHECK, Kubelet("http://127.0.0.1:10248/healthz: refused", "")) == ["kubelet-unwell"]
    assert judged(CHECK, Kubelet("", "/var has 3 MiB free of 900")) == ["doctor-disk-full"]


def test_the_kubelet_is_asked(tmp_path: Path) -> None:
    access = {"kubeconfig": "/none", "kubelet_healthz": "http://127.0.0.1:1/healthz", "disks": [str(tmp_path)]}
    found = CHECK.look(Somewhere(tmp_path, config=site(kubernetes=access)))
    assert found.kubelet.startswith("http://127.0.0.1:1/healthz: ") and found.disk == ""
