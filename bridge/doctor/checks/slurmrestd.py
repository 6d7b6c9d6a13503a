"""slurmrestd, asked about this node: with a token of nobody, and where the site gave the bridge one, with that."""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from bridge.config.servers import Slurmrest
from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError, ConfigError, RemoteError
from bridge.messages import doctor_slurm as slurm_messages
from bridge.slurmrest.api import Credential
from bridge.slurmrest.client import SlurmRestClient
from bridge.slurmrest.service import service_token

_NOBODY = "nobody"  # a user of every machine who may do nothing: the token is shown to slurmrestd
_LIFE = 60  # seconds
_TOKEN = "SLURM_JWT="
_LEVELS = {"service": ("operator", "administrator"), "administrator": ("administrator",)}


@dataclass(frozen=True)
class Slurmrestd:
    """Each fault is '' where it went well. ``level`` is what accounting says of the service user, None where nobody
    could tell; SlurmUser is an administrator without its word."""

    url: str
    tier: str
    unminted: str = ""
    refused: str = ""
    service_fault: str = ""
    user: str = ""
    level: str | None = None


def look(place: Place) -> Slurmrestd | None:
    access = place.site.slurmrest
    if access is None:
        return None
    token, unminted = "", ""
    try:
        token = place.command("scontrol", "token", f"username={_NOBODY}", f"lifespan={_LIFE}").strip()
    except BridgeError as error:
        unminted = clause(error)
    refused = "" if unminted else _refusal(place, access, Credential(_NOBODY, token.removeprefix(_TOKEN)))
    service, fault, level = service_token(access), "", None
    if service is not None:
        try:
            fault = _refusal(place, access, service.credential())
        except ConfigError as error:
            fault = clause(error)
        level = _level(place, access.service_user or "")
    return Slurmrestd(access.url, access.tier, unminted, refused, fault, access.service_user or "", level)


def _refusal(place: Place, access: Slurmrest, who: Credential) -> str:
    with closing(SlurmRestClient(access)) as rest:
        try:
            rest.node(who, place.host)
        except RemoteError as error:
            return clause(error)
    return ""


def _level(place: Place, user: str) -> str | None:
    if place.slurm.text("SlurmUser").partition("(")[0] == user or user == "root":
        return "administrator"
    with suppress(BridgeError):
        words = ("sacctmgr", "-n", "-P", "show", "user", user, "format=AdminLevel")
        return place.command(*words).strip().lower()
    return None


def judge(facts: Slurmrestd | None) -> Iterator[Told]:
    if facts is None:
        return  # tier none, as the site has chosen; `bridgectl status` says so
    if facts.unminted and facts.tier == "owner":
        yield slurm_messages.TOKEN_UNMINTED.told(why=facts.unminted)
    if facts.refused:
        yield slurm_messages.SLURMRESTD_REFUSES.told(url=facts.url, why=facts.refused)
    if facts.service_fault:
        yield slurm_messages.SERVICE_TOKEN_BAD.told(tier=facts.tier, why=facts.service_fault)
    wanted = _LEVELS.get(facts.tier)
    if wanted and facts.level is not None and facts.level not in wanted:
        yield slurm_messages.SERVICE_USER_LOW.told(user=facts.user, tier=facts.tier, level=facts.level or "none")
    if wanted and facts.level is None:
        raise CannotLook(slurm_messages.LEVEL_UNKNOWN.told(user=facts.user))


CHECK = Check(
    "slurmrestd", "slurmrestd answers about this node, and the tier's token and rights are there", look, judge
)
