"""slurm.conf: the flags that the bridge lives by, and the time-outs against one another and against bridge.toml."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from bridge.config import Config
from bridge.doctor.check import CannotLook, Check, Told
from bridge.doctor.place import Place
from bridge.messages import doctor_slurm as slurm_messages
from bridge.slurm.shown import SlurmSettings

_NEEDED_FLAGS = ("Alloc", "DeferBatch")
_BAD_FLAGS = ("Serial", "NoHold", "RunInJob")
_NO_HOLD = "nohold_on_prolog_fail"
_PROLOG_MARGIN, _EPILOG_MARGIN, _GRACE_MARGIN = 30.0, 60.0, 60.0
_KILL_WAIT = 30.0  # attach has 25 s for the last lines, and a margin
_CRED_EXPIRE = 60.0  # a job that goes back into the queue waits so long


@dataclass(frozen=True)
class SlurmConf:
    """``grace`` is the longest termination grace that a pod may have."""

    settings: SlurmSettings
    cluster: str
    prolog_deadline: float
    epilog_deadline: float
    grace: float
    reports: bool


def look(place: Place) -> SlurmConf:
    return facts_of(place.slurm, place.site)


def facts_of(settings: SlurmSettings, site: Config) -> SlurmConf:
    """What of both is judged."""
    grace = max(pod.grace_seconds for pod in (site.pod, *site.profiles.values()))
    timing, reports = site.timing, site.slurmrest is not None
    return SlurmConf(settings, site.cluster.name, timing.prolog_deadline, timing.epilog_deadline, grace, reports)


def judge(facts: SlurmConf) -> Iterator[Told]:
    if not facts.settings.text("ClusterName"):
        raise CannotLook(slurm_messages.SLURM_CONF_UNREAD.told())
    yield from _flags(facts)
    yield from _prolog(facts)
    yield from _epilog(facts)
    kill_wait = facts.settings.seconds("KillWait")
    if kill_wait is not None and kill_wait < _KILL_WAIT:
        yield slurm_messages.KILL_WAIT_SHORT.told(seconds=f"{kill_wait:.0f}", due=f"{_KILL_WAIT:.0f}")


def _flags(facts: SlurmConf) -> Iterator[Told]:
    settings, flags = facts.settings, facts.settings.words("PrologFlags")
    if (name := settings.text("ClusterName")).lower() != facts.cluster.lower():
        yield slurm_messages.CLUSTER_OTHER.told(slurm=name, own=facts.cluster)
    for flag in _NEEDED_FLAGS:
        if flag.lower() not in flags:
            yield slurm_messages.PROLOG_FLAG_MISSING.told(flag=flag)
    for flag in _BAD_FLAGS:
        if flag.lower() in flags:
            yield slurm_messages.PROLOG_FLAG_BAD.told(flag=flag)
    if _NO_HOLD not in settings.words("SchedulerParameters"):
        yield slurm_messages.HOLDS_ON_PROLOG_FAIL.told(word=_NO_HOLD)
    if facts.reports and "auth/jwt" not in settings.words("AuthAltTypes"):
        yield slurm_messages.JWT_MISSING.told()
    expire = dict(word.split("=", 1) for word in settings.words("AuthInfo") if "=" in word).get("cred_expire", "120")
    if expire.isdecimal() and int(expire) > _CRED_EXPIRE:
        yield slurm_messages.CRED_EXPIRE_LONG.told(seconds=expire)


def _prolog(facts: SlurmConf) -> Iterator[Told]:
    limit, batch = (
        facts.settings.seconds("PrologTimeout", "PrologEpilogTimeout"),
        facts.settings.seconds("BatchStartTimeout"),
    )
    due = facts.prolog_deadline + _PROLOG_MARGIN
    if limit is not None and limit < due:
        yield slurm_messages.PROLOG_TIMEOUT_SHORT.told(seconds=f"{limit:.0f}", due=f"{due:.0f}")
    # A prolog without a limit ends by the bridge's own deadline.
    least = due if limit in (None, inf) else max(limit or 0.0, due)
    if batch is not None and batch < least:
        yield slurm_messages.BATCH_START_SHORT.told(seconds=f"{batch:.0f}", due=f"{least:.0f}")


def _epilog(facts: SlurmConf) -> Iterator[Told]:
    limit, due = facts.settings.seconds("EpilogTimeout", "PrologEpilogTimeout"), facts.epilog_deadline + _EPILOG_MARGIN
    if limit is not None and limit < due:
        yield slurm_messages.EPILOG_TIMEOUT_SHORT.told(seconds=f"{limit:.0f}", due=f"{due:.0f}")
    if facts.epilog_deadline < facts.grace + _GRACE_MARGIN:
        yield slurm_messages.EPILOG_DEADLINE_SHORT.told(
            seconds=f"{facts.epilog_deadline:.0f}", due=f"{facts.grace + _GRACE_MARGIN:.0f}"
        )


CHECK = Check(
    "slurm-conf", "flags and time-outs of slurm.conf, against one another and against bridge.toml", look, judge
)
