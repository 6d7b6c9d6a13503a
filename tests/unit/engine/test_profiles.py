"""Which namespace and which profile a run has: by the site's rules when it began, whatever they are later."""

from typing import Any

import pytest

from bridge.config import Config
from bridge.engine import adoption, events
from bridge.engine.placing import placement
from bridge.engine.rules import Rules
from bridge.engine.state import Phase, Run
from bridge.store.markers import Marker
from tests.fakes.cluster import FakeCluster

from .node import eventually
from .story import CONFIG, Story, allocation, pod, ready, record
from .test_gc import OWNER, ROOT, without_uid
from .world import World

PHYSICS = "slurm-physics"


def site(**changes: Any) -> Config:
    """The configuration of `story` with profiles, and a namespace for a partition."""
    data = CONFIG.model_dump(mode="json", exclude_unset=True)
    usual: dict[str, Any] = {
        "profiles": {"fast": {"env": {"WAY": "fast"}}, "slow": {"env": {"WAY": "slow"}}},
        "jobs": [
            {"partition": "main", "profile": "fast", "profiles": ["slow"], "namespace": PHYSICS},
            {"qos": "long", "profile": "slow"},
        ],
    }
    return Config.model_validate(data | usual | changes)


def way(run: Run) -> str:
    """What the rendered workload says of its profile."""
    assert run.manifest
    return next(name for name in ("fast", "slow") if f'{{"name":"WAY","value":"{name}"}}' in run.manifest)


def begun(config: Config, node: str = "compute1") -> Story:
    """A story whose rules are those of this configuration."""
    here = allocation(node=node)
    return Story(here, config, Rules.of(config, here))


def test_a_run_is_rendered_by_the_profile_and_the_namespace_of_its_job() -> None:
    story = begun(site()).created()
    assert way(story.run) == "fast"
    assert story.run.rules.namespace == PHYSICS
    assert f'"namespace":"{PHYSICS}"' in story.run.manifest


def test_slurmctlds_word_of_the_qos_counts() -> None:
    story = begun(site()).began()
    story.tell(events.JobLearned(story.at, record(2, gpus=(2, 2), qos="long")))
    story.tell(events.NodeProven(story.at, 2))
    # Partition and QOS: each names one, and QOS goes before partition.
    assert way(story.run) == "slow"
    assert story.run.rules.namespace == PHYSICS


def test_what_may_be_picked_reaches_the_renderer() -> None:
    config = site()
    story = begun(config).created()
    where = placement(config, story.run)
    assert (where.profile, where.profiles, where.namespace) == ("fast", ("fast", "slow"), PHYSICS)


def later(**changes: Any) -> list[Config]:
    """What a site may have made of its configuration when the daemon starts anew."""
    pod = {"max_cpus": 1, "max_memory": "1Gi", "env": {"WAY": "later"}, "shm_size": "2Gi"}
    return [
        CONFIG,
        site(pod=pod, **changes),
        site(jobs=[]),
        site(profiles={}, jobs=[{"namespace": "elsewhere"}]),
        site(volumes={"data": {"claim": "data", "mount_path": "/data"}}, gpu={"resource": "amd.com/gpu"}),
    ]


@pytest.mark.parametrize("config", later())
def test_a_replay_under_another_site_makes_the_same_workload(config: Config) -> None:
    waiting = begun(site()).created()
    assert waiting.replayed(config) == waiting.run
    running = begun(site()).created().sees(ready(0), ready(1))
    assert running.run.phase is Phase.RUNNING
    assert running.replayed(config) == running.run


def test_a_site_that_was_written_by_another_version_is_read_as_far_as_it_goes() -> None:
    config = site()
    rules = Rules.of(config, allocation())
    assert rules.sited(CONFIG).pod == config.pod
    newer = {**rules.site, "pod": {**rules.site["pod"], "colour": "red"}}
    assert Rules(site=newer).sited(CONFIG).pod == config.pod
    unlike = {**rules.site, "pod": {**rules.site["pod"], "max_cpus": "many"}}
    assert Rules(site=unlike).sited(CONFIG) is CONFIG
    assert Rules().sited(CONFIG) is CONFIG


def test_only_the_batch_node_keeps_the_site_and_only_until_the_prolog_is_answered() -> None:
    config = site()
    story = begun(config).created().sees(pod(0), pod(1))
    assert story.run.rules.site
    story.sees(ready(0), ready(1))
    assert not story.run.rules.site
    assert story.run.rules.namespace == PHYSICS
    assert not begun(config, "compute2").began().run.rules.site


# -- two namespaces, on a node


@pytest.fixture
def physics(world: World) -> World:
    """A world whose operator and kubelets see to the other namespace, and find nothing in the usual one."""
    world.cluster = FakeCluster(world.kube, PHYSICS)
    world.cluster.play()
    return world


def namespaces(world: World, kind: str) -> set[str]:
    return {str(item["metadata"]["namespace"]) for item in world.kube.all(kind)}


def test_a_run_of_another_namespace_the_whole_way(physics: World) -> None:
    node, job = physics.node(given=site()), physics.job("n1")
    hook = node.prolog(job)
    assert hook.exit() == 0
    assert namespaces(physics, "workload") == namespaces(physics, "pod") == {PHYSICS}
    attach = node.attach(job)
    physics.kube.write_log(PHYSICS, job.pod(0), b"hello\n")
    attach.until(1)
    physics.cluster.end(job.pod(0), 3)
    assert attach.exit() == 3
    assert attach.of(0) == ["hello"]
    assert node.ask(verb="show", job=job.id)["run"]["namespace"] == PHYSICS
    assert node.epilog(job).exit() == 0
    physics.left_nothing()


def test_an_epilog_that_nothing_is_known_of_looks_in_every_namespace(physics: World) -> None:
    """The journal is gone, and the rules are not those of the run's beginning any more."""
    node, job = physics.node(given=site()), physics.job("n1")
    assert node.prolog(job).exit() == 0
    assert namespaces(physics, "pod") == {PHYSICS}
    node.config = site(jobs=[{"namespace": PHYSICS, "account": "physics"}]).model_copy(
        update={"journal_dir": node.config.journal_dir}
    )
    node = physics.anew(node)
    assert node.epilog(job).exit() == 0
    physics.left_nothing()


def test_a_bare_epilog_looks_in_every_namespace(physics: World) -> None:
    node, job = physics.node(given=site()), physics.job("n1")
    assert node.prolog(job).exit() == 0
    node = physics.anew(node)
    assert node.bare_epilog(job).exit() == 0
    physics.left_nothing()


def test_an_orphan_of_another_namespace_is_found_and_deleted(physics: World) -> None:
    node, job = physics.node(given=site()), physics.job("n1")
    assert node.prolog(job).exit() == 0
    workload = without_uid(physics.kube.get("workload", PHYSICS, job.workload))
    assert node.epilog(job).exit() == 0
    physics.left_nothing()
    physics.kube.put("workload", workload)
    node.peer_uid = ROOT
    (row,) = node.ask(verb="gc")["workloads"]
    assert (row["workload"], row["state"]) == (job.workload, "orphan")
    node.ask(verb="gc", dry_run=False)
    eventually(lambda: physics.is_empty)


def test_a_run_that_the_journal_has_lost_is_learnt_again_where_it_is(
    physics: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoption, "_user", {OWNER: "ml"}.get)
    node, job = physics.node(given=site()), physics.job("n1")
    node.markers[job.id] = Marker(job.restart, job.start, OWNER)
    assert node.prolog(job).exit() == 0
    attach = node.attach(job)
    node = physics.anew(node)
    node.until(lambda run: run.adopted, job)
    assert node.run(job).rules.namespace == PHYSICS
    physics.cluster.end(job.pod(0), 3)
    assert attach.exit() == 3
    assert node.epilog(job).exit() == 0
    physics.left_nothing()
