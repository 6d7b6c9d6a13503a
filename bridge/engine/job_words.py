"""How slurmctld is asked whether a job goes on, and by whose token."""

from collections.abc import Callable

from bridge.engine.orphans import JobWord
from bridge.errors import BridgeError, NotFound
from bridge.job.ids import RunKey
from bridge.slurmrest.api import Credential, JobRecord, SlurmRest
from bridge.slurmrest.service import ServiceToken

Ask = Callable[[int], JobRecord]
"""Of a job by its number. Raises NotFound where slurmctld has no such job, and the other errors of `bridge.errors`."""


class JobWords:
    """slurmctld's words in one look: after a fault it is not asked again, since each question may take its time-out."""

    def __init__(self, ask: Ask | None) -> None:
        self._ask = ask
        self._fault = ""

    def on(self, key: RunKey | None) -> JobWord | None:
        """Its word on the job of this run; None where it may not be asked."""
        if self._ask is None or key is None:
            return None
        if self._fault:
            return JobWord(fault=self._fault)
        try:
            return JobWord(record=self._ask(key.job_id))
        except NotFound:
            return JobWord(unknown=True)
        except BridgeError as error:
            self._fault = str(error)
            return JobWord(fault=self._fault)


def asking(rest: SlurmRest, service: ServiceToken | None) -> Ask | None:
    """How slurmctld is asked about any job: with the site's own token, and not at all without one."""
    if service is None:
        return None
    return lambda job_id: rest.job(service.credential(), job_id)


def asking_as_owner(
    rest: SlurmRest, credential: Callable[[RunKey], Credential | None]
) -> Callable[[RunKey], Ask | None]:
    """The same about a run, by its owner's own token, while the daemon has that."""

    def asking(key: RunKey) -> Ask | None:
        owner = credential(key)
        return None if owner is None else lambda job_id: rest.job(owner, job_id)

    return asking
