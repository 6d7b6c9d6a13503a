"""Kubernetes quantities: `500m`, `1.5Gi`, `2e3` (k8s.io/apimachinery, pkg/api/resource)."""

import re
from fractions import Fraction

_FORM = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]{1,2})|([A-Za-z]{1,2}))?")
_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(10 ** (3 * power)) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}
LENGTH_LIMIT = 32
PATTERN = rf"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{{1,2}}|(?:{'|'.join(_SUFFIXES)}))?"
"""The texts that `parse` takes, white space around them apart, as a regular expression that JSON schemas know, too."""
MIB = 1024**2


def parse(value: str | float) -> Fraction:
    """The exact amount. Raises ValueError for what is no quantity, and for less than nothing."""
    text = str(value).strip()
    match = _FORM.fullmatch(text) if len(text) <= LENGTH_LIMIT else None
    if match is None or (match[3] and match[3] not in _SUFFIXES):
        raise ValueError(f"{text[:LENGTH_LIMIT]!r} is no quantity")
    amount = Fraction(match[1]) * _SUFFIXES.get(match[3] or "", Fraction(1))
    amount *= Fraction(10) ** int((match[2] or "e0")[1:])
    if amount < 0:
        raise ValueError(f"{text!r} is less than nothing")
    return amount


def mebibytes(amount: Fraction) -> int:
    """Whole MiB, rounded up: what is asked for must fit."""
    return -int(-amount // MIB)


def cpu_text(cpus: Fraction) -> str:
    """CPUs as Kubernetes writes them: whole, else in thousandths, rounded up."""
    return str(int(cpus)) if cpus.denominator == 1 else f"{-int(-cpus * 1000 // 1)}m"
