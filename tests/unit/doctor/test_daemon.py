"""bridged."""

from pathlib import Path

from bridge import __version__
from bridge.doctor.checks.daemon import CHECK, Connection, Daemon, Status

from .given import Somewhere, judged

GOOD = Status(version=__version__, node="compute1", tier="owner", connections={"Kubernetes": Connection()})


def test_it_answers_is_of_this_version_and_reaches_its_servers() -> None:
    assert judged(CHECK, Daemon(GOOD)) == []
    assert judged(CHECK, Daemon(GOOD.model_copy(update={"version": "0.0.0"}))) == ["versions-differ"]
    away = {"Kubernetes": Connection(fault="no answer"), "slurmrestd": Connection()}
    assert judged(CHECK, Daemon(GOOD.model_copy(update={"connections": away}))) == ["daemon-unconnected"]
    history = {"slurmrestd": Connection(fault="no answer", seconds_ago=61.0)}
    assert judged(CHECK, Daemon(GOOD.model_copy(update={"connections": history}))) == []
    fault = {"job": 7, "sentence": "disk full", "phase": "prolog", "at": 1.0}
    assert judged(CHECK, Daemon(GOOD.model_copy(update={"last_fault": fault}))) == ["node-gave-up"]


def test_where_none_is(tmp_path: Path) -> None:
    found = CHECK.look(Somewhere(tmp_path))
    assert found.status is None and "daemon-unreached" in found.fault
    assert judged(CHECK, found) == ["doctor-daemon-silent"]
