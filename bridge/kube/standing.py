"""How API server and node stand to each other where one does not take the other: a clock, a date, an authority."""

import ssl
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from bridge import clock, errors
from bridge.kube.lifetimes import Life

TOLERANCE = 60.0
"""Seconds that the clocks may differ before that is a state: an answer may have been long on its way."""

_EARLY, _LATE = 9, 10  # X509_V_ERR_CERT_NOT_YET_VALID, _HAS_EXPIRED
_AUTHORITY = frozenset({2, 7, 18, 19, 20, 21, 27})  # another signature, self-signed, or no issuer that is known here
_EXPIRED = {"token": errors.TOKEN_EXPIRED, "client certificate": errors.CLIENT_EXPIRED}


@dataclass(frozen=True)
class Standing:
    """What a node sees by itself of the credential that it has: its ``kind``, '' for none, and its life where that is
    known; ``unread`` is why the files that are there now cannot be used; ``ahead``, by how many seconds this node's
    clock is before the API server's, as far as that has been heard."""

    kind: str = ""
    life: Life | None = None
    unread: str = ""
    ahead: float | None = None


class ServerClock:
    """The API server's clock, by the dates of its answers; safe to use from many threads."""

    def __init__(self) -> None:
        self._offset: float | None = None  # from the boot clock, so that it goes on when the calendar is set

    def heard(self, date: str) -> None:
        """An answer has come just now, and says this date."""
        try:
            told = parsedate_to_datetime(date)
        except ValueError:
            return
        if told.tzinfo is not None:
            self._offset = told.timestamp() - clock.now()

    def ahead(self) -> float | None:
        """Seconds by which this node's clock is before it, None while nobody knows."""
        return None if self._offset is None else clock.offset() - self._offset


def why_untrusted(error: BaseException, ahead: float | None) -> tuple[str, str]:
    """A `RemoteError.reason` and its words, where TLS has failed; '' where it has not."""
    found = _tls(error)
    if found is None:
        return "", ""
    code = found.verify_code if isinstance(found, ssl.SSLCertVerificationError) else 0
    here = f"this node's clock says {_moment(time.time())}"
    if code in (_EARLY, _LATE) and ahead is not None and abs(ahead) > TOLERANCE:
        return errors.CLOCK_WRONG, f"it is {difference(ahead)} the API server's, and says {_moment(time.time())}"
    if code == _EARLY:
        return errors.CLOCK_WRONG, f"by it the API server's certificate is not valid yet; {here}"
    if code == _LATE:
        return errors.SERVER_EXPIRED, here
    if code in _AUTHORITY:
        return errors.AUTHORITY_UNKNOWN, "it is signed by nobody whom the kubeconfig names"
    return errors.CERTIFICATE_REFUSED, " ".join(str(getattr(found, "verify_message", "") or found.reason).split())


def why_refused(standing: Standing) -> tuple[str, str]:
    """The same for a credential that the API server has refused: by its own clock, not by this node's."""
    life = standing.life
    if life is None or life.ends > time.time() - (standing.ahead or 0.0):
        return "", ""
    return _EXPIRED.get(standing.kind, ""), f"at {_moment(life.ends)}"


def difference(ahead: float) -> str:
    """In words."""
    return f"{abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'}"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _tls(error: BaseException | None) -> ssl.SSLError | None:
    """What OpenSSL said, under all that libraries have made of it."""
    for _ in range(8):
        if error is None or isinstance(error, ssl.SSLError):
            break
        inner = next((part for part in error.args if isinstance(part, BaseException)), None)
        error = inner or error.__cause__ or error.__context__
    return error if isinstance(error, ssl.SSLError) else None
