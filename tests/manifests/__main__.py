"""`python -m tests.manifests`: docs/reference/manifests.md, which `make docs` writes."""

import sys

from tests.manifests.collected import Manifest, manifests

ABOUT = """\
# Public manifests

PyTorchJobs as people have them: {count} public manifests, from the operator's examples to the guides of clouds.
All are rendered as they are by one site, [tests/manifests/site.toml](../../tests/manifests/site.toml): placeholders are
filled, nothing else is edited. {passed} of {count} run, the others are refused, with all reasons at once. `make docs`
writes this page, and a stack test creates every workload on a real API server and sees its pods Ready.

The files in [tests/manifests/public](../../tests/manifests/public) are written anew, with the fields and the values
that matter; the links lead to the originals. Not collected were templates that need a program such as Helm, files alike
to one that is here, and jobs for accelerators other than GPUs.
"""


def page() -> str:
    """The whole page."""
    every = manifests()
    told = {manifest.name: manifest.rendered() for manifest in every}
    passed = sum(made is not None for made in told.values())
    lines = [
        ABOUT.format(count=len(every), passed=passed),
        "| manifest | licence | what is special | submitted with | result |",
        "|---|---|---|---|---|",
        *(_row(manifest) for manifest in every),
        "",
        "## Refused",
        "",
        *(line for manifest in every for line in _refused(manifest)),
        "## What is told",
        "",
        "What the user of each manifest reads above the output of the job.",
        "",
        *(line for manifest in every for line in _told(manifest)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _row(manifest: Manifest) -> str:
    result = "[refused](#refused)" if manifest.refusals() else "runs"
    link = f"[{manifest.name}]({manifest.source})"
    return f"| {link} | {manifest.licence or 'none seen'} | {manifest.special} | `{manifest.sbatch}` | {result} |"


def _refused(manifest: Manifest) -> list[str]:
    reasons = [f"- `{path}`: {rest}" for path, _, rest in (reason.partition(": ") for reason in manifest.refusals())]
    return [f"**{manifest.name}**", "", *reasons, ""] if reasons else []


def _told(manifest: Manifest) -> list[str]:
    made = manifest.rendered()
    if made is None:
        return []
    notices = "\n".join(f"note: {notice}" for notice in made.notices)
    return [f"**{manifest.name}**", "", "```", notices, "```", ""]


if __name__ == "__main__":
    sys.stdout.write(page())
