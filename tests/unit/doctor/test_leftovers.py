"""What is left of runs."""

from pathlib import Path

from bridge import wellknown
from bridge.doctor.checks.leftovers import CHECK, Left, Leftovers, Stray, Workload

from .given import UNKNOWN, Somewhere, judged

_LEFT = Left(workloads=[Workload(workload="slurm-demo-7-0", state="live", why="its run is known")])


def test_what_nobody_owns_is_found() -> None:
    assert judged(CHECK, Leftovers((7, 8), frozenset({7, 8, 9}), _LEFT)) == []
    assert judged(CHECK, Leftovers((7, 8), frozenset({8}), _LEFT)) == ["marker-left"]
    for state in ("orphan", "unconfirmed"):
        left = Left(workloads=[Workload(workload="slurm-demo-7-0", state=state, why="")])
        assert judged(CHECK, Leftovers((), frozenset(), left)) == ["workload-left"]
    assert judged(CHECK, Leftovers((), frozenset(), Left(strays=[Stray(pod="p")]))) == ["pod-left"]


def test_what_is_not_known_is_said() -> None:
    unknown = UNKNOWN + "leftovers-unknown"
    assert judged(CHECK, Leftovers((7,), None, _LEFT, ["no squeue"])) == [unknown], "no word of Slurm proves nothing"
    assert judged(CHECK, Leftovers((7,), frozenset(), None, ["no daemon"])) == ["marker-left", unknown]
    assert judged(CHECK, Leftovers((), frozenset(), Left(faults=["no answer"]))) == [unknown]


def test_without_a_daemon_the_markers_are_looked_at(tmp_path: Path) -> None:
    place = Somewhere(tmp_path)
    place.says = {"squeue": "12\n13\n"}
    directory = place.path(wellknown.MARKER_DIR)
    directory.mkdir(parents=True)
    for job in ("12", "77"):
        (directory / job).write_text("{}")
    assert judged(CHECK, CHECK.look(place)) == ["marker-left", UNKNOWN + "leftovers-unknown"]
