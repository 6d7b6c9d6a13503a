"""The kubelet of this machine, asked on loopback how it is."""

import httpx

_PATIENCE = 5.0  # seconds; a kubelet on a loaded machine answers late, a dead one refuses at once


class KubeletProbe:
    """Safe to use from many threads."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        """``url`` of its healthz, '' for none; ``transport`` replaces the network."""
        self._url = url
        # trust_env: a proxy of the environment knows nothing of this machine's loopback.
        self._http = httpx.Client(timeout=_PATIENCE, trust_env=False, transport=transport)

    def complaint(self) -> str:
        """Why it is not well, as a clause; '' when it is, or when there is nobody to ask."""
        if not self._url:
            return ""
        try:
            # The body is left unread: where the kubelet is dead, anybody may listen at its port.
            with self._http.stream("GET", self._url) as answer:
                status = answer.status_code
        except httpx.TimeoutException:
            return f"{self._url} does not answer within {_PATIENCE:.0f} s"
        except httpx.HTTPError as error:
            return f"{self._url}: {error}"
        return "" if status == httpx.codes.OK else f"{self._url} answers with HTTP status {status}"
