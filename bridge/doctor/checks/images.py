"""The site's registry: the container runtime itself pulls an image, by its own mirrors, authorities and proxies.

The kubelet does the same by the same runtime. What it adds, the pull secrets of the namespace, this node may not read.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.messages import doctor as messages

_SECONDS = 120.0
_CRI = ("io.containerd.cri.v1.images", "io.containerd.grpc.v1.cri")


@dataclass(frozen=True)
class Pull:
    """``fault`` is why it was not pulled, '' where it was; ``unasked`` why nobody could try."""

    image: str
    fault: str = ""
    unasked: str = ""


def look(place: Place) -> Pull:
    image = place.image or place.site.kubernetes.test_image
    if not image:
        return Pull("", unasked=messages.NO_TEST_IMAGE)
    words = _pull(place, image)
    if words is None:
        return Pull(image, unasked=messages.NO_PULLER)
    try:
        place.command(*words, seconds=_SECONDS)
    except BridgeError as error:
        return Pull(image, clause(error))
    return Pull(image)


def _pull(place: Place, image: str) -> list[str] | None:
    """crictl asks the runtime as the kubelet does; ctr, containerd's own, is told where the runtime's mirrors stand."""
    if place.has("crictl"):
        return ["crictl", "pull", image]
    if not place.has("ctr"):
        return None
    hosts = _hosts(place.command("containerd", "config", "dump"))
    return ["ctr", "--namespace", "k8s.io", "images", "pull", *(["--hosts-dir", hosts] if hosts else []), image]


def _hosts(dump: str) -> str:
    plugins = tomllib.loads(dump).get("plugins") or {}
    found = ((plugins.get(name) or {}).get("registry") or {} for name in _CRI)
    return next((str(each["config_path"]) for each in found if each.get("config_path")), "")


def judge(facts: Pull) -> Iterator[Told]:
    if facts.unasked:
        raise CannotLook(messages.IMAGE_UNTRIED.told(why=facts.unasked))
    if facts.fault:
        yield messages.IMAGE_NOT_PULLED.told(image=facts.image, why=facts.fault)


CHECK = Check("images", "the container runtime pulls the site's test image (without pull secrets)", look, judge)
