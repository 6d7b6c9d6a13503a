"""A namespace that goes by QOS: the batch node is told of it, every other one finds the workload."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.rules import Place, Rules
from bridge.engine.state import Answer, Phase
from bridge.kube.api import Object, Selector
from tests.fakes.cluster import FakeCluster
from tests.fakes.kubernetes import FakeKubernetes

from .node import no_kubeconfig
from .story import CONFIG, Story, allocation, pod, ready, record
from .world import NAMESPACE, World

LONG, URGENT, CREDENTIAL = "slurm-long", "slurm-urgent", "/etc/slurm-k8s-bridge/long"
RULES: list[dict[str, Any]] = [
    {"qos": "long", "namespace": LONG, "kubeconfig": CREDENTIAL},
    {"qos": "urgent", "partition": "main", "namespace": URGENT},
    {"account": "physics", "namespace": "slurm-physics"},
]


def site(*rules: dict[str, Any]) -> Config:
    data = CONFIG.model_dump(mode="json", exclude_unset=True)
    return Config.model_validate(data | {"jobs": list(rules or RULES)})


def begun(node: str = "compute2") -> Story:
    here = allocation(node=node)
    return Story(here, site(), Rules.of(site(), here))


def watched(story: Story) -> set[str]:
    """The namespaces that are watched."""
    found = [*story.wants(do.WatchWorkload), *story.wants(do.WatchPods)]
    return {item.namespace for item in found if isinstance(item, do.WatchWorkload | do.WatchPods)}


def found(story: Story, namespace: str) -> Story:
    """The node's gated pod is seen there."""
    return story.tell(events.PodSeen(story.at, pod(1), namespace))


def test_a_member_watches_wherever_it_may_be_and_goes_on_where_it_is() -> None:
    story = begun().began()
    assert watched(story) == {NAMESPACE, LONG, URGENT}
    assert story.run.rules.apart(LONG) == LONG and story.run.rules.apart(URGENT) == ""
    found(story.tell(events.NodeProven(story.at, 2)), LONG)
    assert watched(story) == {LONG}
    assert (story.run.rules.namespace, story.run.rules.kubeconfig) == (LONG, CREDENTIAL)
    assert story.wants(do.OpenGate)
    assert story.replayed(CONFIG) == story.run, "whatever the site says later"


def test_the_workload_may_be_seen_first() -> None:
    story = begun().began()
    seen = story.workload().told.pop()
    assert isinstance(seen, events.WorkloadSeen)
    story.tell(events.WorkloadSeen(seen.at, seen.facts, URGENT))
    assert watched(story) == {URGENT}
    found(story, LONG)
    assert watched(story) == {URGENT}, "once it is known it stays"


def test_no_rule_names_a_qos_for_this_account() -> None:
    here = allocation()
    rules = Rules.of(site({"qos": "long", "account": "chemistry", "namespace": LONG}), here)
    assert (rules.namespace, rules.places) == (NAMESPACE, {})


@pytest.mark.parametrize(("qos", "namespace"), [("long", LONG), ("urgent", URGENT), ("normal", NAMESPACE)])
def test_the_batch_node_makes_it_where_slurmctlds_word_leads(qos: str, namespace: str) -> None:
    story = begun("compute1").began()
    assert not watched(story), "nothing is there before it is made"
    story.tell(events.JobLearned(story.at, record(2, qos=qos))).tell(events.NodeProven(story.at, 2))
    assert f'"namespace":"{namespace}"' in story.run.manifest
    assert story.run.rules.possible == (Place(namespace, CREDENTIAL if namespace == LONG else ""),)
    story.tell(events.WorkloadCreated(story.at, "job-uid"))
    assert watched(story) == {namespace}
    assert story.replayed(CONFIG) == story.run


def test_without_slurmctlds_word_no_rule_with_a_qos_holds() -> None:
    here = allocation(gpus=0)
    story = Story(here, site(), Rules.of(site(), here)).began(reporting=False).tell(events.NodeProven(100.0, 2))
    assert f'"namespace":"{NAMESPACE}"' in story.run.manifest


def test_a_daemon_that_begins_anew_waits_until_every_place_has_told() -> None:
    story = begun().began()
    story.tell(events.TakenUp(story.at)).tell(events.HookLeft(story.at))
    for namespace in (NAMESPACE, LONG, URGENT):
        assert story.run.unattended is not None
        for what in ("workload", "pods"):
            story.tell(events.Listed(story.at, what, namespace))
    assert story.run.unattended is None and story.judgement() is not None


def test_a_training_at_work_is_found_by_a_daemon_that_begins_anew() -> None:
    story = begun().began()
    story.tell(events.TakenUp(story.at)).tell(events.HookLeft(story.at))
    story.tell(events.PodSeen(story.at, ready(1), LONG))
    for what in ("workload", "pods"):
        story.tell(events.Listed(story.at, what, LONG))
    assert story.run.phase is Phase.RUNNING and story.answer() == Answer(0)


# -- on nodes

WITHOUT_CREDENTIAL = [{"qos": "long", "namespace": LONG}]


@pytest.fixture
def there(world: World) -> World:
    """A world whose operator and kubelets see to the other namespace, and find nothing in the usual one."""
    world.cluster = FakeCluster(world.kube, LONG)
    world.cluster.play()
    return world


def test_both_nodes_go_the_whole_way(there: World) -> None:
    first, second = (there.node(name, site(*WITHOUT_CREDENTIAL)) for name in ("n1", "n2"))
    job = there.job("n1", "n2")
    there.rest.jobs[job.id] = replace(job.record(), qos="long")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    assert {str(item["metadata"]["namespace"]) for item in there.kube.all("pod")} == {LONG}
    there.ends(job, 0, 0)
    second = there.anew(second)
    assert first.epilog(job).exit() == 0
    assert second.epilog(job).exit() == 0
    there.left_nothing()


@dataclass
class Listener:
    """Kubernetes, and where its pods were listed."""

    kube: FakeKubernetes
    listed: set[str] = field(default_factory=set)

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb == "list_pods":
            return self._list
        made: Callable[..., Any] = getattr(self.kube, verb)
        return made

    def _list(self, namespace: str, selector: Selector) -> list[Object]:
        self.listed.add(namespace)
        return self.kube.list_pods(namespace, selector)


def test_an_epilog_before_anything_was_seen_looks_in_every_place(there: World) -> None:
    kube = Listener(there.kube)
    node = there.node_as("n2", site(*WITHOUT_CREDENTIAL), kube, no_kubeconfig)
    job = there.job("n1", "n2")
    node.prolog(job)
    node.until(lambda run: run.node_proven, job)
    assert node.epilog(job).exit() == 0
    assert kube.listed == {NAMESPACE, LONG}
