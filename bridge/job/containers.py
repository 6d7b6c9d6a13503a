"""The containers of the pod: the training first, then those beside it, then those before it."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from bridge.config import Config
from bridge.job import checkpoints, secrets, security
from bridge.job.environment import HOME_ENTRY, environment, rendezvous
from bridge.job.findings import Findings, at, shown
from bridge.job.images import mirrored
from bridge.job.placement import Placement
from bridge.job.pod_rows import ELSEWHERE
from bridge.job.resources import Share
from bridge.job.spec import JobSpec, Part
from bridge.job.volumes import Volumes

Fields = dict[str, Any]

_KEPT = (
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "ports",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "workingDir",
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SECRET = (
    "looks like a secret, and whoever may read workloads reads it; put it into a Kubernetes Secret in the namespace, "
    "and write valueFrom: {secretKeyRef: {name: SECRET, key: KEY}} under env"
)
IMAGE = r"[^\s\x00-\x1f]{1,1024}"


@dataclass
class Containers:
    """Builds each container from what the spec says of it and what the allocation gives it.

    `checkpoints` is the job's directory for them, '' for none.
    """

    placement: Placement
    config: Config
    findings: Findings
    volumes: Volumes
    shares: dict[str, Share]
    checkpoints: str = ""
    names: set[str] = field(default_factory=set)

    def main(self, spec: JobSpec) -> list[Fields]:
        """The training, and the containers that run beside it."""
        training = self._container(spec.training, is_training=True)
        training["env"] = environment(spec, self.placement, self.config, self.findings, self.checkpoints)
        training["volumeMounts"] = self.volumes.of_training(training["volumeMounts"])
        if HOME_ENTRY in training["env"]:
            training["volumeMounts"] = self.volumes.with_home(training["volumeMounts"])
        self._tell_probes(spec.training)
        return [training, *(self._other(part, spec) | self._checked_probes(part) for part in spec.sidecars)]

    def before(self, spec: JobSpec) -> list[Fields]:
        """The init containers: the maker of the checkpoint directory first, since others may put files there."""
        maker = [self._maker(spec)] if self.checkpoints else []
        return [*maker, *(self._init(part, spec) for part in spec.inits)]

    def _maker(self, spec: JobSpec) -> Fields:
        image = mirrored(spec.training.fields.get("image", ""), self.config.pod.mirrors)
        share = replace(self.shares[spec.training.path], gpus=0, extra={})
        return {
            **checkpoints.maker(self.checkpoints, image, self.config),
            "resources": share.to_manifest(),
            "securityContext": security.of_container(Part("", {}), self.config, self.findings, is_training=False),
            "volumeMounts": [self.volumes.of_checkpoints()],
        }

    def _init(self, part: Part, spec: JobSpec) -> Fields:
        container = self._other(part, spec) | self._checked_probes(part)
        policy = part.fields.get("restartPolicy")
        if policy == "Always":
            container["restartPolicy"] = policy
        elif policy not in (None, "Never"):
            path = at(part.path, "restartPolicy")
            self.findings.notice(path, f"{shown(policy)} left out: a failed run ends its Slurm job")
        return container

    def _other(self, part: Part, spec: JobSpec) -> Fields:
        env = rendezvous(part, spec, self.placement, self.config, self.findings)
        return self._container(part) | ({"env": env} if env else {})

    def _container(self, part: Part, *, is_training: bool = False) -> Fields:
        self._check(part)
        fields = part.fields
        container = {name: fields[name] for name in _KEPT if fields.get(name)}
        container |= self._mirrored(part)
        return {
            "name": fields.get("name", ""),
            **container,
            "resources": self.shares[part.path].to_manifest(),
            "securityContext": security.of_container(part, self.config, self.findings, is_training=is_training),
            "volumeMounts": self.volumes.mounts(part),
        }

    def _mirrored(self, part: Part) -> Fields:
        image = part.fields.get("image", "")
        name = mirrored(image, self.config.pod.mirrors)
        if name == image:
            return {}
        self.findings.notice(at(part.path, "image"), f"{shown(image)} comes from the site's mirror as {shown(name)}")
        return {"image": name}

    def _check(self, part: Part) -> None:
        name, image = part.fields.get("name", ""), part.fields.get("image", "")
        self._check_text(at(part.path, "name"), name, _NAME.fullmatch(name), "use lower case letters, digits, `-`")
        self._check_text(at(part.path, "image"), image, re.fullmatch(IMAGE, image), "write the image to run")
        if name in self.names:
            self.findings.refuse(at(part.path, "name"), f"{shown(name)} is there twice", "rename one container")
        self.names.add(name)
        for place in secrets.places(part.fields):
            self.findings.notice(at(part.path, place), _SECRET)
        for n, port in enumerate(part.fields.get("ports", [])):
            if not 0 < port.get("containerPort", 0) < 65536:
                path = at(part.path, f"ports[{n}]")
                self.findings.refuse(path, "has no containerPort from 1 to 65535", "write one")

    def _check_text(self, path: str, text: str, good: object, cure: str) -> None:
        if not good and path not in self.findings.faulty:
            self.findings.refuse(path, f"{shown(text)} cannot be used" if text else "is missing", cure)

    def _probes(self, part: Part) -> Fields:
        return {name: part.fields[name] for name in _PROBES if name in part.fields}

    def _checked_probes(self, part: Part) -> Fields:
        """Those that stay. Pod Security refuses other hosts than the pod itself, too (Kubernetes 1.34)."""
        probes = self._probes(part)
        for name, probe in probes.items():
            for handler in ("httpGet", "tcpSocket"):
                asked = probe.get(handler) if isinstance(probe, dict) else None
                host = asked.get("host") if isinstance(asked, dict) else None
                if host:
                    path = at(part.path, f"{name}.{handler}.host")
                    self.findings.refuse(path, f"{shown(host)} is not allowed", ELSEWHERE)
        return probes

    def _tell_probes(self, part: Part) -> None:
        for name in self._probes(part):
            self.findings.notice(at(part.path, name), "left out: the prolog takes a started container for ready")
