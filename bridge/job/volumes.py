"""Volumes and mounts: a path of the node becomes memory or a volume of the site, or is refused."""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from bridge.config import Config
from bridge.config.pod import Volume
from bridge.job import quantity
from bridge.job.environment import HOME_PATH
from bridge.job.findings import Findings, at, shown
from bridge.job.security import RDMA_PATH, given
from bridge.job.short_form import SHM_PATH, SHM_VOLUME, SITE_VOLUME
from bridge.job.spec import JobSpec, Part

Fields = dict[str, Any]

_OF_SITE = "slurm-k8s-bridge"
HOME_VOLUME = f"{_OF_SITE}-home"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass
class Volumes:
    """The pod's volumes, and what mounts need to know of them.

    `sites` are the volumes that come from the site, by their name in the pod; `devices` are those left out, since a
    device plugin mounts what they held, and `narrowed` those of the site that the spec wants read-only.
    `memory_mib` is the training's share: memory volumes count against it.
    """

    config: Config
    memory_mib: int
    findings: Findings
    manifest: list[Fields] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    sites: dict[str, Volume] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    narrowed: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    """Names that no pod can have, which the operator would find out only after the workload is there."""

    def take(self, spec: JobSpec) -> None:
        """Turns the spec's volumes into the pod's."""
        for part in spec.volumes:
            name = part.fields.get("name", "")
            if name in self.names:
                self.findings.refuse(at(part.path, "name"), f"{shown(name)} is there twice", "rename one")
            self.names.add(name)
            self._rename(part, name)
            if self._is_rdma(part):
                self.devices.add(name)
                continue
            source = self._source(part)
            if source is not None:
                self.manifest.append({"name": self.renamed.get(name, name), **source})

    def _rename(self, part: Part, name: str) -> None:
        """`a_b` is a common slip; nobody but the mounts knows the name."""
        if SITE_VOLUME in part.fields or _LABEL.fullmatch(name):
            return
        better = re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-")
        where = at(part.path, "name")
        if not _LABEL.fullmatch(better) or better in self.names:
            if where not in self.findings.faulty:
                cure = "use up to 63 lower case letters, digits and `-`"
                self.findings.refuse(where, f"{shown(name)} is no name of a volume", cure)
            return
        self.findings.notice(where, f"{shown(name)} replaced by {better}: a volume's name has no such characters")
        self.names.add(better)
        self.renamed[name] = better

    def mounts(self, container: Part) -> list[Fields]:
        """The container's mounts, each with a place, and read-only where the site says so."""
        mounts: list[Fields] = []
        places: set[str] = set()
        for n, mount in enumerate(container.fields.get("volumeMounts", [])):
            path = at(container.path, f"volumeMounts[{n}]") if container.path else f"volumes[{n}]"
            if mount.get("name") in self.devices:
                continue
            made = self._mount(mount, path)
            place = made.get("mountPath", "")
            if place in places:
                self.findings.refuse(path, f"{shown(place)} is taken by another mount", "choose another mountPath")
            places.add(place)
            mounts.append(made)
        return mounts

    def of_training(self, mounts: list[Fields]) -> list[Fields]:
        """The training's mounts with what the site adds: its volumes, huge pages, and /dev/shm where there is none."""
        pod = self.config.pod
        checkpoints = pod.checkpoints.volume if pod.checkpoints else None
        for name in dict.fromkeys([*pod.volumes, *([checkpoints] if checkpoints else [])]):
            mounts = self._with_site_volume(mounts, name, is_needed=name == checkpoints)
        for page in pod.hugepages:
            mounts = self._with_hugepages(mounts, page)
        return self._with_shm(mounts)

    def of_checkpoints(self) -> Fields:
        """The mount of the checkpoints' volume at its own place, for the container that makes the directory."""
        section = self.config.pod.checkpoints
        assert section is not None
        volume = self.config.volumes[section.volume]
        return {"name": self._pod_volume(section.volume), "mountPath": volume.mount_path}

    def _with_site_volume(self, mounts: list[Fields], name: str, *, is_needed: bool) -> list[Fields]:
        volume = self.config.volumes[name]
        there = [mount for mount in mounts if _place(mount) == volume.mount_path.rstrip("/")]
        if not there:
            mount: Fields = {"name": self._pod_volume(name), "mountPath": volume.mount_path}
            return [*mounts, mount | ({"readOnly": True} if volume.read_only else {})]
        whole = not any(mount.get("subPath") or mount.get("subPathExpr") or mount.get("readOnly") for mount in there)
        if is_needed and not (self.sites.get(there[0].get("name", "")) == volume and whole):
            self.findings.refuse(
                volume.mount_path,
                "is where the site's volume of the checkpoint directory belongs, and the spec has something else there",
                "choose another mountPath",
            )
        return mounts

    def _pod_volume(self, name: str) -> str:
        """The pod's volume that is this volume of the site; added where the spec has none."""
        volume = self.config.volumes[name]
        known = [own for own, site in self.sites.items() if site == volume and own not in self.narrowed]
        if known:
            return known[0]
        own = f"{_OF_SITE}-site-{name}"
        self.manifest.append({"name": own, **self._of_site(Part("", {"name": own}), volume)})
        return own

    def _with_hugepages(self, mounts: list[Fields], page: str) -> list[Fields]:
        name, place = f"{_OF_SITE}-hugepages-{page.lower()}", f"/hugepages-{page}"
        if any(_place(mount) == place for mount in mounts):
            return mounts
        self.manifest.append({"name": name, "emptyDir": {"medium": f"HugePages-{page}"}})
        return [*mounts, {"name": name, "mountPath": place}]

    def _with_shm(self, mounts: list[Fields]) -> list[Fields]:
        if any(mount.get("mountPath", "").rstrip("/") == SHM_PATH for mount in mounts):
            return mounts
        self.manifest.append({"name": SHM_VOLUME, "emptyDir": self._memory()})
        return [*mounts, {"name": SHM_VOLUME, "mountPath": SHM_PATH}]

    def with_home(self, mounts: list[Fields]) -> list[Fields]:
        """The training's mounts, with a directory that the job's user can write, whatever the image is like."""
        self.manifest.append({"name": HOME_VOLUME, "emptyDir": {}})
        return [*mounts, {"name": HOME_VOLUME, "mountPath": HOME_PATH}]

    def _memory(self) -> Fields:
        asked = quantity.mebibytes(quantity.parse(self.config.pod.shm_size))
        return {"medium": "Memory", "sizeLimit": f"{min(asked, self.memory_mib)}Mi"}

    def _is_rdma(self, part: Part) -> bool:
        """The node's RDMA devices, which come with the site's RDMA resource."""
        path = part.fields.get("hostPath", {}).get("path", "")
        if path.rstrip("/") != RDMA_PATH or not self.config.pod.rdma:
            return False
        where = at(part.path, "hostPath")
        self.findings.notice(where, f"{RDMA_PATH} of the node became {given(self.config)}; the device plugin mounts it")
        return True

    def _source(self, part: Part) -> Fields | None:
        fields = part.fields
        if SITE_VOLUME in fields:
            return self._site_volume(part, fields[SITE_VOLUME])
        if "hostPath" in fields:
            return self._host_path(part, fields["hostPath"].get("path", ""))
        if "persistentVolumeClaim" in fields:
            return self._claim(part, fields["persistentVolumeClaim"])
        if "emptyDir" in fields:
            return self._empty_dir(part, fields["emptyDir"])
        return {name: value for name, value in fields.items() if name != "name"} or {"emptyDir": {}}

    def _site_volume(self, part: Part, wanted: str) -> Fields | None:
        volume = self.config.volumes.get(wanted)
        if volume is None:
            names = ", ".join(sorted(self.config.volumes)) or "none"
            self.findings.refuse(part.path, f"the site has no volume {shown(wanted)}", f"use one of: {names}")
            return None
        return self._of_site(part, volume)

    def _host_path(self, part: Part, path: str) -> Fields | None:
        where = at(part.path, "hostPath")
        if path.rstrip("/") == SHM_PATH:
            self.findings.notice(where, f"{SHM_PATH} of the node became {self.config.pod.shm_size} of the pod's memory")
            return {"emptyDir": self._memory()}
        if any(fnmatchcase(path.rstrip("/"), pattern) for pattern in self.config.gpu.host_paths):
            self.findings.notice(where, f"{path} left out: it comes with the GPUs")
            self.devices.add(part.fields.get("name", ""))
            return None
        for name, volume in self.config.volumes.items():
            if volume.host_path and volume.host_path.rstrip("/") == path.rstrip("/"):
                if volume.claim:
                    self.findings.notice(where, f"{path} became the site's volume {name}")
                return self._of_site(part, volume)
        self.findings.refuse(where, f"{shown(path)} of the node is not open to pods", self._instead())
        return None

    def _claim(self, part: Part, claim: Fields) -> Fields | None:
        wanted = claim.get("claimName", "")
        for volume in self.config.volumes.values():
            if volume.claim == wanted:
                return self._of_site(part, volume, read_only=claim.get("readOnly", False))
        if wanted and any(fnmatchcase(wanted, pattern) for pattern in self.config.pod.claims):
            return {"persistentVolumeClaim": claim}
        where = at(part.path, "persistentVolumeClaim.claimName")
        self.findings.refuse(where, f"{shown(wanted)} is not a claim of the site", self._instead())
        return None

    def _of_site(self, part: Part, volume: Volume, *, read_only: bool = False) -> Fields:
        self.sites[part.fields.get("name", "")] = volume
        if volume.claim is None:
            return {"hostPath": {"path": volume.host_path, "type": "Directory"}}
        if read_only and not volume.read_only:
            self.narrowed.add(part.fields.get("name", ""))
        claim: Fields = {"claimName": volume.claim}
        return {"persistentVolumeClaim": claim | ({"readOnly": True} if read_only or volume.read_only else {})}

    def _empty_dir(self, part: Part, source: Fields) -> Fields:
        """An emptyDir as it is, if its memory fits into the pod's."""
        limit = source.get("sizeLimit")
        path = part.path if part.fields.get("name") == SHM_VOLUME else at(part.path, "emptyDir.sizeLimit")
        if limit is None:
            return {"emptyDir": source}
        try:
            size = quantity.mebibytes(quantity.parse(limit))
        except ValueError as error:
            self.findings.refuse(path, str(error), "write one such as 2Gi")
            return {"emptyDir": {}}
        if source.get("medium") == "Memory" and size > self.memory_mib:
            self.findings.refuse(
                path,
                f"{size}Mi of memory, but the training's share of a node is {self.memory_mib}Mi",
                f"lower it or submit with --mem={size + size // 4}M",
            )
        return {"emptyDir": {**source, "sizeLimit": str(limit)}}

    def _mount(self, mount: Fields, path: str) -> Fields:
        name = mount.get("name", "")
        site = self.sites.get(name)
        if name not in self.names:
            self.findings.refuse(at(path, "name"), f"the pod has no volume {shown(name)}", "write it under volumes")
        made = {**mount, "name": self.renamed.get(name, name)} if name else dict(mount)
        if site:
            made.setdefault("mountPath", site.mount_path)
        if site and site.read_only:
            if mount.get("readOnly") is False:
                self.findings.notice(path, "mounted read-only, as the site has set")
            made["readOnly"] = True
        if not made.get("mountPath", "").startswith("/") and path not in self.findings.faulty:
            self.findings.refuse(at(path, "mountPath"), "is no absolute path", "write one such as /data")
        return made

    def _instead(self) -> str:
        names = ", ".join(sorted(self.config.volumes))
        return f"use a volume of the site: {names}" if names else "ask the site for a volume; it has none yet"


def _place(mount: Fields) -> str:
    return str(mount.get("mountPath", "")).rstrip("/")
