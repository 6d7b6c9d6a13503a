"""This node's clock beside the API server's and slurmctld's."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError, ConfigError, RemoteError
from bridge.kube.standing import TOLERANCE, difference
from bridge.messages import doctor as messages


@dataclass(frozen=True)
class Clocks:
    """Seconds by which this node is ahead, None where nobody knows, and ``unasked`` why."""

    of_kubernetes: float | None
    of_slurm: float | None
    unasked: str = ""


def look(place: Place) -> Clocks:
    kubernetes, slurm, unasked = None, None, ""
    try:
        place.kubernetes.version()
        kubernetes = place.kubernetes.standing().ahead
    except (RemoteError, ConfigError) as error:
        unasked = clause(error)
    try:
        slurm = place.ahead_of_slurm
    except BridgeError as error:
        unasked = clause(error)
    return Clocks(kubernetes, slurm, unasked)


def judge(facts: Clocks) -> Iterator[Told]:
    for who, ahead in (("API server", facts.of_kubernetes), ("slurmctld", facts.of_slurm)):
        if ahead is not None and abs(ahead) > TOLERANCE:
            yield messages.CLOCK_OFF.told(difference=difference(ahead), who=who)
    if facts.of_kubernetes is None or facts.of_slurm is None:
        raise CannotLook(messages.CLOCK_UNKNOWN.told(why=facts.unasked or messages.NO_DATE))


CHECK = Check("clocks", "this node's clock is within a minute of the API server's and slurmctld's", look, judge)
