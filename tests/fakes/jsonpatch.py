"""As much of RFC 6902 as the bridge uses: test, add, replace, remove."""

from typing import Any

from bridge.errors import Invalid


def patched(document: Any, patch: list[dict[str, Any]]) -> Any:
    """The document after the patch, changed in place. Raises Invalid, as the API server does, when it does not fit."""
    for operation in patch:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        try:
            target = document
            for part in parents:
                target = target[int(part)] if isinstance(target, list) else target[part]
            _apply(target, int(last) if isinstance(target, list) and last != "-" else last, operation)
        except (LookupError, ValueError, TypeError) as error:
            raise Invalid(f"the patch does not fit: {operation}", status=422, reason="Invalid") from error
    return document


def _apply(target: Any, key: Any, operation: dict[str, Any]) -> None:
    kind, value = operation["op"], operation.get("value")
    if kind == "test":
        if target[key] != value:
            raise ValueError(value)
    elif kind == "remove":
        del target[key]
    elif isinstance(target, list):
        target.insert(len(target) if key == "-" else key, value)
    else:
        if kind == "replace" and key not in target:
            raise KeyError(key)
        target[key] = value
