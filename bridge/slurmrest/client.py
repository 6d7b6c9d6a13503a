"""slurmctld as the engine sees it: `bridge.slurmrest.api.SlurmRest` over slurmrestd.

What was tried on slurmrestd 24.11.5 about arrays, whose elements are jobs with numbers of their own:
- reading or updating by an element's number meets this element only, even the last one, which bears the
  array's number; ``123_4`` is refused by updates, and answered with the whole array when read;
- DELETE of the array's number cancels every element; ``DELETE /jobs/`` with ``123_4`` cancels just that one.

A DELETE of another user's job by somebody who is no operator hangs slurmctld 24.11.5 for good: it is denied, and
from then on no job is read any more (reproduced after a restart). So `cancel` proves the right by an update first.
"""

import re
import ssl
import time
from typing import Any
from urllib.parse import quote

import httpx
import structlog

from bridge import heard
from bridge.config.servers import Slurmrest
from bridge.errors import (
    CERTIFICATE_REFUSED,
    EMPTY_ANSWER,
    Invalid,
    RemoteError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from bridge.slurmrest.adapters import job_record, node_record
from bridge.slurmrest.api import Credential, JobRecord, NodeRecord
from bridge.slurmrest.errors import ALREADY_DONE, NODE_STATE, Json, UnknownPath, content
from bridge.slurmrest.way import Way

_log = structlog.get_logger(__name__)

_VERSIONS = ("v0.0.42", "v0.0.41", "v0.0.40")  # the newest first
_CONNECT_SHARE = 0.3  # of the time left
# All of the job as slurmctld here knows it. Without flags slurmrestd asks for its federation, too: a second RPC.
# An older slurmrestd takes the last of them alone, and answers with what it would have answered without.
_HERE = "flags=ALL&flags=LOCAL&flags=DETAIL"
_BODY_LIMIT = 64 * 1024 * 1024  # bytes; an array of 10,000 elements is answered as a whole
_HEADER_VALUE = re.compile(r"[\x21-\x7e]+")


class SlurmRestClient:
    """Safe to use from many threads. Tries nothing twice: who calls knows what a repetition would mean."""

    def __init__(
        self, config: Slurmrest, transport: httpx.BaseTransport | None = None, told: heard.Heard = heard.by_nobody
    ) -> None:
        """``transport`` replaces the network; ``told`` of each answer. Raises ConfigError when the CA file cannot be
        used."""
        self._told = told
        self._way = Way(config, transport)
        self._timeout = config.timeout
        self._version: str | None = None

    def close(self) -> None:
        self._way.close()

    def job(self, who: Credential, job_id: int) -> JobRecord:
        answer = self._call(who, "GET", f"job/{job_id}?{_HERE}")
        jobs = answer.get("jobs")
        if not isinstance(jobs, list):
            raise Unavailable("slurmrestd's answer has no list of jobs", reason=EMPTY_ANSWER)
        found = [job for job in jobs if isinstance(job, dict) and job.get("job_id") == job_id]
        if len(found) != 1:
            # Not NotFound: slurmctld says clearly when it does not know a job (2017).
            sentence = f"slurmrestd's answer about job {job_id} has {len(found)} jobs of this number"
            raise Unavailable(sentence, reason=EMPTY_ANSWER)
        return job_record(found[0])

    def set_comment(self, who: Credential, job: JobRecord, comment: str) -> None:
        self._call(who, "POST", f"job/{job.job_id}", {"comment": comment})

    def cancel(self, who: Credential, job: JobRecord) -> None:
        if who.user != job.user_name:
            # Denied in good order; see above. With the comment of now: ``job`` may have been read before we told ours.
            self.set_comment(who, job, self.job(who, job.job_id).comment)
        path, body = f"job/{job.job_id}", None
        if job.job_id == job.array_job_id:
            if job.array_task_id is None:
                raise Invalid(f"{job.job_id} is what is left of a whole array, not one job")
            path, body = "jobs/", {"jobs": [f"{job.array_job_id}_{job.array_task_id}"]}
        try:
            self._call(who, "DELETE", path, body)
        except RemoteError as error:
            if error.reason != str(ALREADY_DONE):
                raise

    def set_time_limit(self, who: Credential, job: JobRecord, minutes: int) -> None:
        limit = {"set": True, "infinite": False, "number": minutes}
        self._call(who, "POST", f"job/{job.job_id}", {"time_limit": limit})

    def node(self, who: Credential, name: str) -> NodeRecord:
        nodes = self._call(who, "GET", f"node/{quote(name, safe='')}").get("nodes")
        found = [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
        if len(found) != 1 or found[0].get("name") != name:
            raise Unavailable(f"slurmrestd's answer about node {name} is not about this node")
        return node_record(found[0])

    def drain(self, who: Credential, name: str, reason: str) -> None:
        self._call(who, "POST", f"node/{quote(name, safe='')}", {"state": ["DRAIN"], "reason": reason})

    def resume(self, who: Credential, name: str) -> None:
        try:
            self._call(who, "POST", f"node/{quote(name, safe='')}", {"state": ["RESUME"]})
        except RemoteError as error:
            if error.reason != str(NODE_STATE):
                raise

    def _call(self, who: Credential, method: str, path: str, body: Any = None) -> Json:
        """The content of the answer, asked for in the version that this slurmrestd speaks."""
        deadline = time.monotonic() + self._timeout
        known = self._version
        candidates = (known, *(v for v in _VERSIONS if v != known)) if known else _VERSIONS
        for version in candidates:
            try:
                answer = self._ask(who, method, f"{self._way.base}/slurm/{version}/{path}", body, deadline)
            except UnknownPath:
                continue
            except Unavailable:
                self._version = None  # it may come back as another release
                raise
            self._settle(version)
            return answer
        self._version = None
        raise Unsupported(
            f"slurmrestd at {self._way.shown} serves none of {', '.join(_VERSIONS)}; it needs one of them"
        )

    def _settle(self, version: str) -> None:
        if version != self._version:
            self._version = version
            _log.info("slurmrest_version", url=self._way.shown, version=version)

    def _ask(self, who: Credential, method: str, url: str, body: Any, deadline: float) -> Json:
        headers = _headers(who)
        left = max(deadline - time.monotonic(), 0.1)
        timeout = httpx.Timeout(left * (1 - _CONNECT_SHARE), connect=left * _CONNECT_SHARE)
        cause, reason = "", ""
        try:
            with self._way.http().stream(method, url, headers=headers, json=body, timeout=timeout) as response:
                data = _drained(response, deadline)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            cause, reason = str(error) or type(error).__name__, CERTIFICATE_REFUSED if _is_of_trust(error) else ""
        self._told(method, None if cause else response.status_code)
        if cause:  # raised out here: httpx's exceptions carry the request, and so the token
            raise Unavailable(f"No answer from slurmrestd at {self._way.shown}: {cause}", reason=reason)
        return content(response.status_code, response.headers.get("Content-Type", ""), data)


def _is_of_trust(error: BaseException | None) -> bool:
    """Whether ssl's word of a certificate is behind this error: httpx's comes of httpcore's, and that one of it."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _headers(who: Credential) -> dict[str, str]:
    """Both headers: 22.05 wants them. Not the Content-Type, which slurmrestd wants with a body only."""
    if not (_HEADER_VALUE.fullmatch(who.user) and _HEADER_VALUE.fullmatch(who.token)):
        raise Unauthenticated(f"The token of {who.user!r} cannot be one")
    return {"X-SLURM-USER-NAME": who.user, "X-SLURM-USER-TOKEN": who.token, "Accept": "application/json"}


def _drained(response: httpx.Response, deadline: float) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > _BODY_LIMIT:
            raise httpx.DecodingError(f"more than {_BODY_LIMIT} bytes")
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer did not end in time")
    return bytes(body)
