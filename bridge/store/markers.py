"""The run markers as the daemon sees them: root's hooks write and remove them, the daemon only reads."""

from dataclasses import dataclass
from pathlib import Path

from bridge.errors import ConfigError
from bridge.hook import markers
from bridge.messages.bridged import MARKER_UNREAD


@dataclass(frozen=True)
class Marker:
    """A run that began on this node and is not proven gone: ``start`` in epoch seconds, 0 where Slurm does not tell;
    ``uid`` its owner, None where the marker does not say; ``gpus`` whether it may have some; ``end`` when its time is
    over by its job's limit of then, in epoch seconds, 0 where the marker does not say; ``began`` when its prolog did,
    in seconds of the boot clock, of this boot or another one, 0 where the marker does not say."""

    restart: int
    start: int
    uid: int | None
    gpus: bool = True
    end: int = 0
    began: float = 0.0


def may_name(directory: Path, job_id: int, run: tuple[int, int] | None) -> bool:
    """Whether the marker of this job is there, and names this run (its restart and start; None is any) or nothing that
    can be read. True where that is not known."""
    try:
        found = markers.run_of(markers.read(str(directory), job_id))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return found is None or run is None or found == run


def marker(directory: Path, job_id: int) -> Marker | None:
    """The marker of this job; None where it is damaged or there is none. Raises ConfigError where that is not known."""
    return _marker(_content(directory, job_id) or {})


def all_there(directory: Path) -> dict[int, Marker | None]:
    """Every marker, by the number of its job; None for one that is damaged, and not one that a hook removes meanwhile.
    Raises ConfigError where they cannot be read."""
    try:
        contents = {job_id: _content(directory, job_id) for job_id in markers.present(str(directory))}
    except markers.MarkerError as error:
        raise ConfigError(str(error)) from error
    return {job_id: _marker(content) for job_id, content in contents.items() if content is not None}


def _content(directory: Path, job_id: int) -> "markers.Content | None":
    """What the marker says, nothing where it is damaged; None where there is none."""
    try:
        return markers.read(str(directory), job_id)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(MARKER_UNREAD.sentence(path=directory / str(job_id), why=error.strerror)) from error


def _marker(content: "markers.Content") -> Marker | None:
    run, uid, end, began = markers.run_of(content), content.get("uid"), content.get("end"), content.get("began")
    if run is None:
        return None
    return Marker(
        *run,
        uid if type(uid) is int else None,
        content.get("gpus") is not False,
        end if type(end) is int else 0,
        began if type(began) is float else 0.0,
    )
