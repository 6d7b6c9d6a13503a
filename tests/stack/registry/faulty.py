"""Images `faulty/NAME` that no registry means to serve, each with one fault.

    throttled   the registry answers that too much is pulled
    foreign     it is there for another kind of machine only
    damaged     its layer arrives as other bytes than were announced
    short       its layer ends early
    no-archive  its layer arrives as it was announced, and is no archive
    no-gzip     nor is it compressed as it was announced
    sound       none, as long as nobody unpacks it: for a node without room

No node keeps anything of them that would spare it the next pull.
"""

from __future__ import annotations

import hashlib
import json
import platform

REPOSITORY = "/v2/faulty/"
_INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def content(path: str) -> tuple[str, bytes] | None:
    """The type and the bytes of what is asked for below `REPOSITORY`; None where nobody may pull."""
    name, _, reference = path.removeprefix(REPOSITORY).split("/", 2)
    contents = _contents(name)
    return None if name == "throttled" else contents.get(reference, contents[""])


def _contents(name: str) -> dict[str, tuple[str, bytes]]:
    """All that an image consists of, by digest; by '' what its tag stands for."""
    layer = f"{name} is no archive\n".encode() * 100
    arriving = {"damaged": layer.upper(), "short": layer[:100]}.get(name, layer)
    machine = _MACHINES.get(platform.machine(), platform.machine())
    rootfs = {"type": "layers", "diff_ids": [digest(layer)]}
    config = _text({"architecture": machine, "os": "linux", "config": {"Cmd": ["true"]}, "rootfs": rootfs})
    kind = f"{_LAYER}+gzip" if name == "no-gzip" else _LAYER
    layers = [_described(kind, layer)]
    manifest = _text(
        {"schemaVersion": 2, "mediaType": _MANIFEST, "config": _described(_CONFIG, config), "layers": layers}
    )
    foreign = _described(_MANIFEST, manifest) | {"platform": {"os": "linux", "architecture": "mips64le"}}
    index = _text({"schemaVersion": 2, "mediaType": _INDEX, "manifests": [foreign]})
    tagged = (_INDEX, index) if name == "foreign" else (_MANIFEST, manifest)
    parts = {
        digest(layer): (kind, arriving),
        digest(config): (_CONFIG, config),
        digest(manifest): (_MANIFEST, manifest),
    }
    return {"": tagged, **parts}


def _described(kind: str, data: bytes) -> dict[str, object]:
    return {"mediaType": kind, "digest": digest(data), "size": len(data)}


def digest(data: bytes) -> str:
    """What content is named by."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _text(document: dict[str, object]) -> bytes:
    return json.dumps(document).encode()
