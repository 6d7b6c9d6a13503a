"""What is inside a package: a CycloneDX document for scanners, a list of licences for people."""

import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from packer import source
from packer.wheels import Library

_LICENCE = "Apache-2.0"


def cyclonedx(libraries: Iterable[Library], epoch: int) -> str:
    """JSON, CycloneDX 1.5. The same libraries give the same bytes."""
    components = [_component(library) for library in sorted(libraries, key=lambda library: library.name)]
    known = json.dumps([source.version(), epoch, components])
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, known)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat().replace("+00:00", "Z"),
            "component": {
                "type": "application",
                "bom-ref": source.NAME,
                "name": source.NAME,
                "version": source.version(),
                "licenses": [{"license": {"id": _LICENCE}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": source.NAME, "dependsOn": [component["bom-ref"] for component in components]}],
    }
    return json.dumps(document, indent=2) + "\n"


def _component(library: Library) -> dict[str, object]:
    address = f"pkg:pypi/{library.name}@{library.version}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": library.name,
        "version": library.version,
        "purl": address,
        "hashes": [{"alg": "SHA-256", "content": library.sha256}],
        "licenses": [{"license": {"name": library.licence}}],
    }


def licences(libraries: Iterable[Library], site: str) -> str:
    """A page: each project with its licence, and where below ``site``, the folder of libraries, its text lies."""
    lines = [
        f"# Licences of {source.NAME} {source.version()}",
        "",
        f"{source.NAME} itself: {_LICENCE}, see LICENSE. The libraries of its daemon lie in",
        f"`{site}`, each with its licence:",
        "",
        "| project | version | licence | text |",
        "|---|---|---|---|",
    ]
    for library in sorted(libraries, key=lambda library: library.name):
        texts = ", ".join(f"`{name}`" for name in library.licence_files) or "in its METADATA"
        lines.append(f"| {library.name} | {library.version} | {library.licence} | {texts} |")
    return "\n".join(lines) + "\n"
