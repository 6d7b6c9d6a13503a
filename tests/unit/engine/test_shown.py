"""The fields of `show -o json` stay: docs/reference/json.md names them, bridgectl reads them, the daemon gives them."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from bridge.cli.fields import ShownRun
from bridge.cli.sources import from_file
from bridge.cli.table import as_objects
from bridge.engine import events, shown

from .story import batch, member, pod, ready, record
from .world import World, config

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "json.md"


def fields_of(section: str) -> list[str]:
    """What a section of the page names in its first column."""
    (text,) = re.findall(rf"^## {section}$(.*?)(?=^## |\Z)", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `([\w.*]+)` ", text, re.MULTILINE)


def flat(model: dict[str, Any]) -> list[str]:
    """The names of a shown run, those of its parts with a dot."""
    names = []
    for name, value in model.items():
        names.append(name)
        if name in ("outcome", "slurm"):
            names += [f"{name}.{part}" for part in value]
        if name == "pods":
            names += [f"pods.*.{part}" for part in next(iter(value.values()))]
    return names


def test_the_fields_are_those_that_are_documented() -> None:
    story = batch(1).created().sees(pod(0)).sees(ready(0))
    story.sees(replace(pod(0), gate=None, node="compute1", phase="Failed", failure="Evicted", failure_message="disk"))
    run = {**shown.row(story.run, story.at), **shown.detail(story.run), "namespace": "slurm-jobs"}
    assert story.run.outcome is not None, "else its fields were not compared"
    assert sorted(flat(run)) == sorted(fields_of("bridgectl show"))
    assert sorted(flat(ShownRun.model_validate(run).model_dump())) == sorted(fields_of("bridgectl show"))
    assert sorted(shown.row(story.run, story.at)) == sorted(fields_of("bridgectl ps"))
    assert sorted(as_objects()[0]) == sorted(fields_of("bridgectl explain --table"))


def test_a_comment_that_could_not_be_set_is_not_said_to_be_told() -> None:
    story = batch(1).created().sees(ready(0))
    said = story.run.sentence

    def told() -> list[str]:
        return [line for line in shown.detail(story.run)["done"] if "comment" in line]

    for _ in range(5):
        story.tell(events.Failed(story.at, "report", "slurmrestd does not answer (x)", "slurmrestd-unreachable"))
        assert told() == ["not told in the job's comment: slurmrestd does not answer (x)"]
    story.tell(events.Reported(story.at, said, given_up="Slurm does not do what was asked (y)"))
    assert told() == ["not told in the job's comment: Slurm does not do what was asked (y)"]
    story.tell(events.Reported(story.at, said))
    assert told() == ["told in the job's comment"]
    assert story.replayed() == story.run


def test_the_epilog_of_the_batch_node_leaves_the_time_line(world: World, tmp_path: Path) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.ends(job, 0)
    node.until(lambda run: run.outcome, job)
    left = node.epilog(job).answer()["timeline"]
    assert left["output"] == "/home/ml/slurm-7.out"
    (tmp_path / "left").write_text(left["text"])
    told = from_file(tmp_path / "left")
    assert (told.run["job"], told.run["phase"], told.run["outcome"]["exit"]) == (7, "released", 0)
    assert set(told.run["stations"]) >= {"prolog", "created", "opened", "ready", "answered", "ended", "released"}


def test_a_site_may_leave_none(world: World) -> None:
    node = world.node("n1", config().model_copy(update={"timeline_file": False}))
    job = world.job()
    world.running(node, job)
    assert "timeline" not in node.epilog(job).answer()


def test_where_the_output_is_not_known_none_is_left() -> None:
    assert shown.timeline(replace(member().began().run, record=record()), 0.0) is None, "the batch node writes it"
    assert shown.timeline(batch().began().run, 0.0) is None
    story = batch(1).created()
    assert shown.timeline(replace(story.run, record=record(1, stdout="")), 0.0) is None


def test_the_file_of_a_thousand_nodes_is_small() -> None:
    pods = {rank: ready(rank) for rank in range(1000)}
    run = replace(batch().created().run, pods=pods, nodes=tuple(f"a-node-with-a-name-{rank}" for rank in range(1000)))
    left = shown.timeline(run, 0.0)
    assert left is not None and len(left["text"]) < 100_000
    assert json.loads(left["text"])["run"]["pods_left_out"] == 950
