"""Records a journal of this version: `python -m tests.unit.engine.record`, into `recorded/journal-DATE.sql` beside it.

Done before the events change; the record is kept for good, and every later version must be able to go on from it.
It has every kind of event, and runs that are released, live, refused and half released.
"""

import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bridge.engine import events
from bridge.engine.recover import key_text
from bridge.store.journal import FILE, Journal, Line

from .story import Story, allocation, ended, pod, pulling, ready, record

_WALL = 1_700_000_100.0


def stories() -> Iterator[Story]:
    """One run each, told to where it stands when the daemon ends."""
    yield _whole_life()
    yield _training_seen_by_a_member()
    yield _waiting_for_an_image()
    yield _refused()
    yield _on_a_node_that_is_not_the_node()
    yield _forgotten()
    yield _unknown_to_slurm()
    yield _left_by_its_hook()
    yield _not_proven()


def _of(job_id: int, restart: int = 0, node: str = "compute1") -> Story:
    here = replace(allocation(node=node), job_id=job_id, restart=restart)
    return Story(here)


def _whole_life() -> Story:
    story = _of(7).created().workload().sees(pod(0), pod(1))
    story.tell(events.GateOpened(story.at, "pod-0")).sees(ready(0), ready(1))
    story.tell(events.Failed(story.at, "report", "slurmrestd does not answer"))
    story.tell(events.Reported(story.at, story.run.sentence))
    story.tell(events.Attached(story.at)).sees(ended(0, 0), ended(1, 0))
    story.tell(events.EpilogBegan(story.at + 1)).tell(events.WorkloadDeleted(story.at, "job-uid"))
    story.tell(events.PodsRemain(story.at, ("pod-0",))).tell(events.PodGone(story.at, 0, "pod-0"))
    story.tell(events.WorkloadGone(story.at)).tell(events.PodsClear(story.at))
    story.tell(events.Scanned(story.at, ("process 4711 (python): cgroup of the run's pod",)))
    return story.tell(events.Scanned(story.at, ()))


def _training_seen_by_a_member() -> Story:
    story = _of(8, node="compute2").began().tell(events.NodeProven(101.0, 2)).workload().sees(pod(1))
    return story.tell(events.GateOpened(story.at, "pod-1")).sees(ready(1)).tell(events.Attached(story.at))


def _waiting_for_an_image() -> Story:
    story = _of(9, restart=1).created().workload().sees(pod(0), pod(1)).tell(events.GateOpened(101.0, "pod-0"))
    return story.sees(pulling(0, "dial tcp 10.0.0.1:443: i/o timeout"), ready(1))


def _refused() -> Story:
    story = _of(10).began().tell(events.JobLearned(100.5, replace(record(), job_id=10)))
    story.tell(events.NodeProven(100.6, 2)).tell(events.Refused(101.0, "Kubernetes refuses the workload: quota"))
    story.tell(events.Reported(101.5, story.run.sentence))
    return story.tell(events.Cancelled(102.0))


def _on_a_node_that_is_not_the_node() -> Story:
    return _of(11, node="compute2").began().tell(events.NodeRefuted(170.0, "the Node compute2 is another machine"))


def _forgotten() -> Story:
    story = _of(12)
    story.tell(events.EpilogBegan(100.0, None, "demo", 12))
    return story.tell(events.PodsClear(101.0, ("pod-of-12",)))


def _unknown_to_slurm() -> Story:
    return _of(13).began().tell(events.NotReporting(100.5, "the token is not accepted")).tell(events.JobUnknown(101.0))


def _left_by_its_hook() -> Story:
    return _of(14).created().tell(events.HookLeft(115.0))


def _not_proven() -> Story:
    story = _of(15, node="compute2").began().tell(events.Ticked(111.0)).tell(events.EpilogBegan(200.0))
    return story.tell(events.WorkloadGone(201.0)).tell(events.PodsClear(202.0)).tell(events.Ticked(3600.0))


def main() -> None:
    """Print the journal as SQL that a person can read and a diff can show."""
    with tempfile.TemporaryDirectory() as directory:
        journal = Journal(Path(directory))
        for story in stories():
            run = key_text(story.run.key)
            journal.append(Line(run, events.to_json(event), _WALL) for event in story.told)
        journal.close()
        database = sqlite3.connect(Path(directory) / FILE)
        for (statement,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"):
            if "sqlite_sequence" not in statement:
                sys.stdout.write(statement + ";\n")
        for name, value in database.execute("SELECT name, value FROM meta"):
            sys.stdout.write(f"INSERT INTO meta VALUES ('{name}', '{value}');\n")
        for number, run, wall, body in database.execute("SELECT * FROM event ORDER BY number"):
            text = body.decode().replace("'", "''")
            sys.stdout.write(f"INSERT INTO event VALUES ({number}, '{run}', {wall}, CAST('{text}' AS BLOB));\n")
        database.close()


if __name__ == "__main__":
    main()
