"""The cgroup driver of kubelet and container runtime: where they differ, pods die under load, or never start."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.messages import doctor as messages
from bridge.messages import doctor_kubernetes as kubernetes_messages

_SECONDS = 10.0
_FLAGS = ("--cgroup-driver=", "--config=")


@dataclass(frozen=True)
class Cgroups:
    """Each `systemd` or `cgroupfs`, '' where it is not known, and ``why`` then."""

    kubelet: str
    runtime: str
    why: str = ""


def look(place: Place) -> Cgroups:
    words = place.kubelet_words()
    if not words:
        return Cgroups("", "", messages.NO_KUBELET_PROCESS)
    try:
        runtime = runtime_driver(place.command("containerd", "config", "dump", seconds=_SECONDS))
    except (BridgeError, ValueError) as error:
        return Cgroups(_kubelet_driver(place, words), "", clause(error))
    return Cgroups(_kubelet_driver(place, words), runtime)


def _kubelet_driver(place: Place, words: list[str]) -> str:
    """The file goes before the default, and a flag before the file."""
    flag, file = (_flag(words, name) for name in _FLAGS)
    if flag or not file:
        return flag or "cgroupfs"
    try:
        content = yaml.safe_load(place.path(file).read_text(encoding="utf-8"))
        return str(content.get("cgroupDriver") or "cgroupfs")
    except (OSError, yaml.YAMLError, AttributeError, UnicodeDecodeError):
        return ""


def _flag(words: list[str], name: str) -> str:
    apart = name.removesuffix("=")
    if apart in words[:-1]:
        return words[words.index(apart) + 1]
    return next((word.removeprefix(name) for word in words if word.startswith(name)), "")


def runtime_driver(dump: str) -> str:
    """Of `containerd config dump`, whichever version of it; ValueError for what is none."""
    plugins = tomllib.loads(dump).get("plugins") or {}
    names = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")
    found = (plugins[name]["containerd"] for name in names if "containerd" in plugins.get(name, {}))
    cri: Any = next(found, {})
    runtime = (cri.get("runtimes") or {}).get(cri.get("default_runtime_name") or "runc") or {}
    systemd = (runtime.get("options") or {}).get("SystemdCgroup")
    return "" if not runtime else "systemd" if systemd else "cgroupfs"


def judge(facts: Cgroups) -> Iterator[Told]:
    if not facts.kubelet or not facts.runtime:
        raise CannotLook(kubernetes_messages.CGROUPS_UNKNOWN.told(why=facts.why or messages.NO_DRIVER_TOLD))
    if facts.kubelet != facts.runtime:
        yield kubernetes_messages.CGROUPS_DIFFER.told(kubelet=facts.kubelet, runtime=facts.runtime)


CHECK = Check("cgroups", "kubelet and containerd have the same cgroup driver", look, judge)
