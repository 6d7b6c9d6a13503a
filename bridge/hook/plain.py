"""JSON of plain values without the package `json`: its import takes as long as Python's own start, and a job waits."""

try:
    from _json import encode_basestring_ascii as _quoted
except ImportError:  # another Python than CPython
    from json.encoder import encode_basestring_ascii as _quoted


def dumps(value: object) -> str:
    """Of a dict with names, a list, text, numbers and None. Raises TypeError for anything else."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(_quoted(name) + ":" + dumps(item) for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dumps, value)) + "]"
    raise TypeError("no JSON of " + type(value).__name__)
