"""From when until when a credential is good: dates of tokens and certificates, read and not verified."""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x17, 0x18  # tags of DER
_FORMATS = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}


@dataclass(frozen=True)
class Life:
    """Epoch seconds."""

    begins: float
    ends: float


def of_token(token: str) -> Life | None:
    """Of a JWT; None where it says no end, or is none."""
    try:
        payload = token.split(".")[1]
        told = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return Life(float(told.get("nbf", told.get("iat", 0))), float(told["exp"]))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, binascii.Error):
        return None


def of_certificate(pem: bytes) -> Life | None:
    """Of the first certificate; None where there is none."""
    found = _PEM.search(pem)
    try:
        return None if found is None else _validity(base64.b64decode(found[1]))
    except (LookupError, ValueError, StopIteration, binascii.Error):
        return None


def _validity(der: bytes) -> Life:
    """RFC 5280, 4.1: what stands before the validity may be there or not; of two times a sequence begins with, there is
    no other."""
    ((_, whole),) = _parts(der)
    _, signed = next(_parts(whole))
    for tag, inner in _parts(signed):
        times = list(_parts(inner))[:2] if tag == _SEQUENCE else []
        if len(times) == 2 and all(kind in _FORMATS for kind, _ in times):
            begins, ends = (datetime.strptime(text.decode(), _FORMATS[kind]) for kind, text in times)
            return Life(begins.replace(tzinfo=UTC).timestamp(), ends.replace(tzinfo=UTC).timestamp())
    raise ValueError("no dates")


def _parts(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each element."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length >= 0x80:  # the length's own length
            size = length - 0x80
            length, at = int.from_bytes(der[at : at + size]), at + size
        if at + length > len(der):
            raise ValueError("cut short")
        yield tag, der[at : at + length]
        at += length
