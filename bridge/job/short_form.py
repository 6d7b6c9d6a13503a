"""The short form, unfolded into the container and the volumes of a pod."""

from typing import Any

from bridge.job.findings import Findings, at, shown
from bridge.job.pod_rows import ENV, PORTS
from bridge.job.secrets import is_secret_name
from bridge.job.sieve import Sieve
from bridge.job.treatments import Shape, keep, under

Fields = dict[str, Any]

SITE_VOLUME = "siteVolume"
"""Key of a volume that is named as bridge.toml names it; only this module writes it."""
SHM_VOLUME = "slurm-k8s-bridge-shm"
SHM_PATH = "/dev/shm"

ENV_SIEVE = Sieve.of(under("env[]", ENV)).below["env"]
PORTS_SIEVE = Sieve.of(under("ports[]", PORTS)).below["ports"]
VOLUME_SIEVE = Sieve.of(
    (
        keep("name", Shape.TEXT),
        keep("mountPath", Shape.TEXT),
        keep("readOnly", Shape.SWITCH),
        keep("subPath", Shape.TEXT),
    )
)
_AS_THEY_ARE = ("image", "imagePullPolicy", "command", "args", "workingDir")


def unfold(job: Fields, findings: Findings) -> tuple[Fields, list[tuple[str, Fields]]]:
    """Container fields, and volumes with the path of each.

    A volume of the site stays `{name, siteVolume}` and its mount may lack the path: the renderer, which
    has the site's configuration, fills them in.
    """
    container = {name: job[name] for name in _AS_THEY_ARE if name in job}
    container["env"] = _environment(job.get("env"), findings)
    container["ports"] = _ports(job.get("ports"), findings)
    mounts, volumes = _volumes(job.get("volumes"), findings)
    if "shmSize" in job:
        sized = {"medium": "Memory", "sizeLimit": job["shmSize"]}
        volumes.append(("shmSize", {"name": SHM_VOLUME, "emptyDir": sized}))
        mounts.append({"name": SHM_VOLUME, "mountPath": SHM_PATH})
    container["volumeMounts"] = mounts
    return container, volumes


def _environment(env: Any, findings: Findings) -> list[Fields]:
    """A map of names and texts, or the list that a Container has."""
    if not isinstance(env, dict):
        return ENV_SIEVE.pass_through(env, "env", findings) or []
    entries = []
    for name, value in env.items():
        if isinstance(value, str):
            entries.append({"name": name, "value": value})
        elif value is not None:
            seen = "…" if is_secret_name(str(name)) else shown(value)
            findings.refuse(at("env", name), f"{seen} is not text", f'write "{seen}"')
    return entries


def _ports(ports: Any, findings: Findings) -> list[Fields]:
    """Numbers, or the list that a Container has."""
    if isinstance(ports, list):
        ports = [{"containerPort": port} if isinstance(port, int) else port for port in ports]
    return PORTS_SIEVE.pass_through(ports, "ports", findings) or []


def _volumes(volumes: Any, findings: Findings) -> tuple[list[Fields], list[tuple[str, Fields]]]:
    if volumes is not None and not isinstance(volumes, list):
        findings.refuse("volumes", "must be a list", "write each of the site's volumes behind a `-`")
        return [], []
    mounts: list[Fields] = []
    named: dict[str, tuple[str, Fields]] = {}
    for n, item in enumerate(volumes or []):
        path, reasons = f"volumes[{n}]", len(findings.reasons)
        mount = {"name": item} if isinstance(item, str) else VOLUME_SIEVE.pass_through(item, path, findings)
        if not mount or "name" not in mount:
            if len(findings.reasons) == reasons:
                findings.refuse(path, "has no name", "write the name of one of the site's volumes")
        else:
            mounts.append(mount)
            named.setdefault(mount["name"], (path, {"name": mount["name"], SITE_VOLUME: mount["name"]}))
    return mounts, list(named.values())
