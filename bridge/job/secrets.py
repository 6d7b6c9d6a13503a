"""Values that look like secrets: the user is told the better way, and no sentence of ours repeats them.

By the name of a variable, or by a form that only tokens have. Neither is proof, so nothing is refused.
"""

import re
from collections.abc import Iterator
from typing import Any

_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|KEY)(?:_|$)", re.IGNORECASE
)
# Hugging Face, GitHub, GitLab, AWS, Slack, OpenAI and its like, Google, and keys in PEM.
_FORM = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|xox[abprs]-[\w-]{10,}|sk-[\w-]{20,}|AIza[\w-]{30,})|-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    re.DOTALL,
)
# The name of a file with a secret, a number or a switch is none.
_HARMLESS = re.compile(r"/.*|[0-9.]*|true|false|yes|no|on|off|none", re.IGNORECASE | re.DOTALL)


def masked(text: str) -> str:
    """The text without what has the form of a secret."""
    return _FORM.sub("…", text)


def is_secret_name(name: str) -> bool:
    """Whether variables of this name use to hold a secret."""
    return bool(_NAME.search(name))


def looks_secret(name: str, value: str) -> bool:
    """Whether the value of this variable should not stand in a file."""
    return bool(_FORM.search(value) or (is_secret_name(name) and not _HARMLESS.fullmatch(value)))


def places(container: dict[str, Any]) -> Iterator[str]:
    """Where secrets seem to stand in a container: paths below it."""
    for entry in container.get("env") or []:
        if looks_secret(entry.get("name", ""), entry.get("value", "")):
            yield f"env[{entry.get('name', '')}]"
    for field in ("command", "args"):
        for n, text in enumerate(container.get(field) or []):
            if _FORM.search(text):
                yield f"{field}[{n}]"
