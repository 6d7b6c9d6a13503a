"""A pull, by what the node has for it."""

from pathlib import Path

from bridge.doctor.checks.images import CHECK, Pull
from bridge.errors import BridgeError

from .given import DUMP, UNKNOWN, Somewhere, judged, site

_IMAGE = "registry.example/pause:3"


def _place(tmp_path: Path, **says: str | Exception) -> Somewhere:
    place = Somewhere(tmp_path, image=_IMAGE)
    place.says = dict(says)
    return place


def test_crictl_asks_the_runtime_as_the_kubelet_does(tmp_path: Path) -> None:
    place = _place(tmp_path, crictl="", ctr="")
    assert CHECK.look(place) == Pull(_IMAGE) and judged(CHECK, Pull(_IMAGE)) == []
    assert place.asked == [("crictl", "pull", _IMAGE)]


def test_ctr_is_told_where_the_mirrors_are(tmp_path: Path) -> None:
    place = _place(tmp_path, ctr="", containerd=DUMP)
    CHECK.look(place)
    words = ("ctr", "--namespace", "k8s.io", "images", "pull", "--hosts-dir", "/etc/containerd/certs.d", _IMAGE)
    assert place.asked[-1] == words


def test_what_does_not_come_is_a_finding_and_what_nobody_tried_is_not_known(tmp_path: Path) -> None:
    found = CHECK.look(_place(tmp_path, crictl=BridgeError("503 Service Unavailable")))
    assert "503" in found.fault and judged(CHECK, found) == ["image-not-pulled"]
    assert judged(CHECK, CHECK.look(_place(tmp_path))) == [UNKNOWN + "image-untried"]
    assert judged(CHECK, CHECK.look(Somewhere(tmp_path))) == [UNKNOWN + "image-untried"]
    named = Somewhere(tmp_path, config=site(kubernetes={"kubeconfig": "/none", "test_image": _IMAGE}))
    named.says = {"crictl": ""}
    assert CHECK.look(named) == Pull(_IMAGE)
