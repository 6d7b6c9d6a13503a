"""`bridgectl status`: how the servers of this node answered, and how its credential is."""

from collections.abc import Mapping
from typing import Any

from bridge.job.words import printable


def tell(status: Mapping[str, Any]) -> None:
    """Print a line for each; below what is wrong, what becomes of it."""
    for server, contact in status["connections"].items():
        state = f" [{contact['state']}]" if contact.get("state") not in (None, "", "good") else ""
        said = f"{contact['fault'] or 'answers'}{state}"
        _line(f"{server}: {said} ({contact['seconds_ago']:.0f} s ago{_down(contact)})", contact.get("consequence"))
    credential = status.get("credential") or {}
    if credential.get("ends"):
        print(f"credential: a {credential['kind']} that ends at {credential['ends']}")
    for warning in credential.get("warnings", ()):
        _line(f"warning: {warning['sentence']}", warning["consequence"])


def _line(text: str, consequence: str | None) -> None:
    print(printable(text))
    if consequence:
        print(printable(f"    so: {consequence}"))


def _down(contact: Mapping[str, Any]) -> str:
    return "" if contact["down_for"] is None else f"; no answer for {contact['down_for']:.0f} s"
