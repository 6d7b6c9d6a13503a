"""Run markers survive what they must, and only root's directory is trusted."""

import fcntl
import json
import os
import threading
from pathlib import Path

import pytest

from bridge.hook import markers
from tests.unit.hook.stage import ML, needs_root


def test_written_read_listed_removed(tmp_path: Path) -> None:
    runs = str(tmp_path / "lib" / "runs")
    assert markers.present(runs) == []
    for job in (12, 3):
        markers.write(runs, job, {"uid": job})
    markers.write(runs, 3, {"uid": 4})
    assert markers.present(runs) == [3, 12]
    assert markers.read(runs, 3) == {"uid": 4}
    assert oct((tmp_path / "lib/runs/3").stat().st_mode)[-3:] == "644"
    assert markers.remove(runs, 3) is None
    assert markers.remove(runs, 3) is None
    assert [path.name for path in Path(runs).iterdir()] == ["12"]


def test_what_an_interrupted_write_left_is_no_marker_and_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".7").write_text("half")
    tmp_path.chmod(0o755)
    assert markers.present(str(tmp_path)) == []
    markers.write(str(tmp_path), 7, {})
    assert markers.read(str(tmp_path), 7) == {}


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("x")
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o755)
    (runs / "7").symlink_to(other)
    (runs / ".7").symlink_to(other)
    markers.write(str(runs), 7, {"uid": 1})
    assert other.read_text() == "x"
    assert not (runs / "7").is_symlink()
    (tmp_path / "link").symlink_to(runs)
    with pytest.raises(markers.MarkerError):
        markers.write(str(tmp_path / "link"), 8, {})


def test_a_link_in_the_place_of_a_marker_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other").write_text('{"restart": 1, "start": 5}')
    (tmp_path / "7").symlink_to("other")
    with pytest.raises(OSError, match="symbolic links"):
        markers.read(str(tmp_path), 7)
    assert "symbolic links" in str(markers.remove(str(tmp_path), 7, (1, 5)))


def test_a_marker_is_on_the_disk_before_and_behind_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a power cut takes it, or leaves an empty one, and the node's GPUs seem free."""
    done: list[str] = []
    sync, rename = os.fsync, os.rename

    def synced(fd: int) -> None:
        done.append("sync " + Path(f"/proc/self/fd/{fd}").readlink().name)
        sync(fd)

    def renamed(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        done.append(f"rename {source} {target}")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr("bridge.hook.markers.os.fsync", synced)
    monkeypatch.setattr("bridge.hook.markers.os.rename", renamed)
    markers.write(str(tmp_path / "runs"), 7, {"restart": 0})
    assert done == ["sync .7", "rename .7 7", "sync runs"]


@needs_root
@pytest.mark.parametrize(("owner", "mode"), [(ML, 0o755), (0, 0o777), (0, 0o775)])
def test_a_directory_that_others_write_is_refused(tmp_path: Path, owner: int, mode: int) -> None:
    os.chown(tmp_path, owner, 0)
    tmp_path.chmod(mode)
    with pytest.raises(markers.MarkerError, match="chmod 0755"):
        markers.write(str(tmp_path), 7, {})


def test_a_place_that_cannot_be_listed_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(markers.MarkerError):
        markers.present(str(tmp_path / "runs"))


# -- whose marker it is

RUN = {"cluster": "demo", "restart": 0, "start": 1700000000, "uid": 2001}


@pytest.mark.parametrize("now", [{**RUN, "restart": 1}, {**RUN, "start": 1800000000}])
def test_the_marker_of_another_run_of_the_job_stays(tmp_path: Path, now: dict[str, object]) -> None:
    runs = str(tmp_path / "runs")
    markers.write(runs, 7, now)
    assert markers.remove(runs, 7, (0, 1700000000)) is None
    assert markers.read(runs, 7) == now


@pytest.mark.parametrize(
    ("content", "run"),
    [
        (RUN, (0, 1700000000)),
        (RUN, None),
        ({**RUN, "start": None}, (0, 0)),
        ({}, (0, 1700000000)),
        ({"restart": "x", "start": True}, (3, 1)),
    ],
    ids=["its own", "no run is named", "before Slurm 23.02", "damaged", "not ours"],
)
def test_the_marker_of_the_run_goes(tmp_path: Path, content: dict[str, object], run: tuple[int, int] | None) -> None:
    runs = str(tmp_path / "runs")
    markers.write(runs, 7, content)
    assert markers.remove(runs, 7, run) is None
    assert markers.present(runs) == []


def test_a_marker_that_is_written_while_its_predecessor_is_removed_stays(tmp_path: Path) -> None:
    """A requeued run's prolog beside the epilog of the run before: whoever comes second waits for the first."""
    runs, fresh = tmp_path / "runs", {**RUN, "restart": 1}
    markers.write(str(runs), 7, RUN)
    place = os.open(runs, os.O_RDONLY)
    fcntl.flock(place, fcntl.LOCK_EX)  # as the prolog has it
    remover = threading.Thread(target=markers.remove, args=(str(runs), 7, (0, 1700000000)))
    remover.start()
    remover.join(0.2)
    assert remover.is_alive()
    assert markers.read(str(runs), 7) == RUN
    (runs / ".7").write_text(json.dumps(fresh))
    (runs / ".7").rename(runs / "7")
    os.close(place)
    remover.join(5)
    assert markers.read(str(runs), 7) == fresh


def test_a_marker_is_not_written_between_the_look_and_the_removal(tmp_path: Path) -> None:
    runs, fresh = tmp_path / "runs", {**RUN, "restart": 1}
    markers.write(str(runs), 7, RUN)
    place = os.open(runs, os.O_RDONLY)
    fcntl.flock(place, fcntl.LOCK_EX)  # as the epilog has it
    writer = threading.Thread(target=markers.write, args=(str(runs), 7, fresh))
    writer.start()
    writer.join(0.2)
    assert writer.is_alive()
    (runs / "7").unlink()
    os.close(place)
    writer.join(5)
    assert markers.read(str(runs), 7) == fresh
