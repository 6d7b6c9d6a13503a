"""Put images into the stack's registry, layer by layer and uncompressed.

`docker push` would want the engine told about the registry, and would spend a minute on
compressing a torch that each node then spends half a minute on decompressing.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from .commands import say
from .engine import image_id
from .errors import StackError
from .places import cache

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_IMAGE_LABEL = "slurm-k8s-bridge.image-id"


class Registry:
    """The registry's HTTP interface, as little of it as a push needs."""

    def __init__(self, address: str) -> None:
        self.address = address

    def _ask(
        self, method: str, path: str, body: bytes | IO[bytes] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            reply = connection.getresponse()
            return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
        finally:
            connection.close()

    def answers(self) -> bool:
        """Tell whether the registry is there."""
        try:
            return self._ask("GET", "/v2/")[0] == 200
        except OSError:
            return False

    def image_of(self, name: str, tag: str) -> str:
        """Return the engine's id of the image that was pushed under this name, or nothing."""
        status, _, body = self._ask("GET", f"/v2/{name}/manifests/{tag}", headers={"Accept": _MANIFEST})
        if status != 200:
            return ""
        return str(json.loads(body).get("annotations", {}).get(_IMAGE_LABEL, ""))

    def add_blob(self, name: str, digest: str, size: int, data: IO[bytes]) -> None:
        """Upload a blob unless it is there."""
        if self._ask("HEAD", f"/v2/{name}/blobs/{digest}")[0] == 200:
            return
        _, headers, _ = self._ask("POST", f"/v2/{name}/blobs/uploads/", body=b"")
        target = urlsplit(headers["location"])
        path = f"{target.path}?{target.query}&digest={digest}"
        status, _, body = self._ask(
            "PUT", path, body=data, headers={"Content-Length": str(size), "Content-Type": "application/octet-stream"}
        )
        if status != 201:
            raise StackError(
                f"the registry refused a layer of {name} ({status} {body[:100]!r})",
                "read `tests/stack/stack logs registry`",
            )

    def add_manifest(self, name: str, tag: str, manifest: dict[str, object]) -> None:
        """Name what was uploaded."""
        status, _, body = self._ask(
            "PUT", f"/v2/{name}/manifests/{tag}", json.dumps(manifest).encode(), {"Content-Type": _MANIFEST}
        )
        if status != 201:
            raise StackError(
                f"the registry refused {name}:{tag} ({status} {body[:100]!r})", "read `tests/stack/stack logs registry`"
            )


def push(registry: Registry, image: str, name: str, tag: str) -> None:
    """Have a local image in the registry."""
    began = time.monotonic()
    wanted = image_id(image)
    if registry.image_of(name, tag) == wanted:
        return
    (cache() / "tmp").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache() / "tmp") as folder:
        _unpack(image, Path(folder))
        manifest = _upload(registry, name, Path(folder))
    manifest["annotations"] = {_IMAGE_LABEL: wanted}
    registry.add_manifest(name, tag, manifest)
    say(f"registry: {name}:{tag} pushed ({time.monotonic() - began:.1f} s)")


def _unpack(image: str, folder: Path) -> None:
    with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
        assert saved.stdout is not None
        with tarfile.open(fileobj=saved.stdout, mode="r|") as tar:
            tar.extractall(folder, filter="tar")
    if saved.returncode != 0:
        raise StackError(f"docker save {image} failed", "build it anew: docker rmi it, then start the stack")


def _upload(registry: Registry, name: str, folder: Path) -> dict[str, object]:
    listing = json.loads((folder / "manifest.json").read_text())[0]
    config = _describe(folder / listing["Config"], _CONFIG)
    layers = [_describe(folder / layer, _LAYER) for layer in listing["Layers"]]
    for file, blob in zip([listing["Config"], *listing["Layers"]], [config, *layers], strict=True):
        with (folder / file).open("rb") as data:
            registry.add_blob(name, str(blob["digest"]), int(str(blob["size"])), data)
    return {"schemaVersion": 2, "mediaType": _MANIFEST, "config": config, "layers": layers}


def _describe(file: Path, kind: str) -> dict[str, object]:
    total = hashlib.sha256()
    for block in _blocks(file):
        total.update(block)
    return {"mediaType": kind, "digest": f"sha256:{total.hexdigest()}", "size": file.stat().st_size}


def _blocks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as data:
        while block := data.read(1 << 20):
            yield block
