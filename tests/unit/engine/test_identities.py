"""Which credential speaks in a namespace, and what becomes of a run whose credential is not there."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bridge.config import Config
from bridge.engine.health import KUBERNETES
from bridge.engine.identities import Identities
from bridge.engine.rules import Rules
from bridge.engine.state import Phase, Run
from bridge.errors import ConfigError, Forbidden, ForeignServer
from bridge.job.ids import RunKey
from bridge.kube.api import Kubernetes
from tests.fakes.cluster import FakeCluster
from tests.fakes.kubernetes import FakeKubernetes

from .node import Node, eventually, no_kubeconfig
from .story import CONFIG
from .test_gc import ROOT
from .world import NAMESPACE, World

PHYSICS = "slurm-physics"
THEIRS = Path("/etc/slurm-k8s-bridge/physics")


@dataclass
class Identity:
    """A credential that may do anything in one namespace, and read Nodes; ``did`` is what it has done there."""

    kube: FakeKubernetes
    namespace: str
    did: list[str] = field(default_factory=list)

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(where: str, *args: Any) -> Any:
            if verb != "node" and where != self.namespace:
                raise Forbidden(f'{verb} is forbidden: User "u" cannot do that in "{where}"', status=403)
            self.did.append(verb)
            return getattr(self.kube, verb)(where, *args)

        return call


def site(**changes: Any) -> Config:
    """The configuration of `story`, with a namespace for a partition that is reached with its own kubeconfig."""
    data = CONFIG.model_dump(mode="json", exclude_unset=True)
    rule = {"partition": "main", "namespace": PHYSICS, "kubeconfig": str(THEIRS)}
    return Config.model_validate(data | {"jobs": [rule]} | changes)


# -- the choice


def identities(config: Config, files: dict[str, object], *runs: Run) -> Identities:
    """Those of a node with these kubeconfigs."""

    def connect(path: Path) -> Any:
        found = files.get(str(path))
        if found is None:
            raise ConfigError(f"{path}: is not there")
        if isinstance(found, Exception):
            raise found
        return found

    own: Any = "own"
    return Identities(config, own, connect, lambda: runs)


def speaker(found: Identities, namespace: str) -> object:
    return found.of(namespace)


def run(kubeconfig: str, phase: Phase = Phase.RUNNING, namespace: str = PHYSICS) -> Run:
    rules = Rules(namespace=namespace, kubeconfig=kubeconfig)
    return Run(key=RunKey("demo", 7, 0), name="r", nodes=(), began=0.0, phase=phase, rules=rules)


def test_a_namespace_is_spoken_in_with_its_kubeconfig_and_all_others_as_the_node() -> None:
    found = identities(site(), {str(THEIRS): "theirs"})
    assert [speaker(found, name) for name in (PHYSICS, NAMESPACE, "elsewhere")] == ["theirs", "own", "own"]


@pytest.mark.parametrize(
    ("config", "files", "speaks"),
    [
        (site(), {str(THEIRS): "now", "/then": "then"}, "now"),
        (site(), {"/then": "then"}, "then"),
        (site(jobs=[]), {"/then": "then"}, "then"),
        (site(jobs=[]), {}, "own"),
        (site(jobs=[{"namespace": PHYSICS}]), {"/then": "then"}, "own"),
    ],
)
def test_a_run_is_reached_as_the_site_says_now_or_as_it_began(
    config: Config, files: dict[str, object], speaks: str
) -> None:
    over, elsewhere = run("/released", Phase.RELEASED), run("/elsewhere", namespace="elsewhere")
    files |= {"/released": "released", "/elsewhere": "elsewhere"}
    assert speaker(identities(config, files, run("/then"), over, elsewhere), PHYSICS) == speaks


def test_where_nobody_can_speak_nobody_speaks_and_a_file_that_comes_is_taken() -> None:
    files: dict[str, object] = {}
    found = identities(site(), files, run(str(THEIRS)))
    found.check()
    with pytest.raises(ConfigError, match="physics: is not there"):
        found.of(PHYSICS)
    files[str(THEIRS)] = "theirs"
    assert speaker(found, PHYSICS) == "theirs"


def test_a_kubeconfig_of_another_server_keeps_the_daemon_from_starting() -> None:
    with pytest.raises(ForeignServer):
        identities(site(), {str(THEIRS): ForeignServer("another")}).check()


# -- on a node


@pytest.fixture
def physics(world: World) -> World:
    """A world whose operator and kubelets see to the other namespace."""
    world.cluster = FakeCluster(world.kube, PHYSICS)
    world.cluster.play()
    return world


def with_files(world: World, *names: str) -> tuple[list[Node], Identity, Identity]:
    """Nodes that may act in the usual namespace alone, and in the other one only by its kubeconfig; both identities."""
    own, theirs = Identity(world.kube, NAMESPACE), Identity(world.kube, PHYSICS)
    return [world.node_as(name, site(), own, _file(theirs)) for name in names], own, theirs


def _file(theirs: Identity) -> Callable[[Path], Kubernetes]:
    def connect(path: Path) -> Any:
        assert path == THEIRS
        return theirs

    return connect


def test_all_of_a_run_is_done_with_the_credential_of_its_namespace(physics: World) -> None:
    (first, second), own, theirs = with_files(physics, "n1", "n2")
    job = physics.job("n1", "n2")
    hooks = [first.prolog(job), second.prolog(job)]
    assert [hook.exit() for hook in hooks] == [0, 0]
    assert first.run(job).rules.kubeconfig == str(THEIRS)
    attach = first.attach(job)
    for rank in (0, 1):
        physics.kube.write_log(PHYSICS, job.pod(rank), b"hello\n")
    attach.until(2)
    for rank in (0, 1):
        physics.cluster.end(job.pod(rank), 3)
    assert attach.exit() == 3
    assert [node.epilog(job).exit() for node in (first, second)] == [0, 0]
    physics.left_nothing()
    first.peer_uid = ROOT
    assert first.ask(verb="gc")["faults"] == []
    assert set(own.did) == {"node", "survey_workloads", "list_pods"}  # what looks after the usual namespace
    wanted = {"create_workload", "watch_workload", "watch_pods", "patch_pod", "follow_log", "delete_workload"}
    assert wanted | {"list_pods"} <= set(theirs.did)
    assert {KUBERNETES, f"{KUBERNETES} in {PHYSICS}"} <= set(first.ask(verb="status")["connections"])


def test_without_its_kubeconfig_a_job_is_put_back_and_its_nodes_are_free_at_once(physics: World) -> None:
    """A slip of the site's, on all nodes: nothing of the job can be anywhere, so nothing has to be proven."""
    impatient = site(timing={"member_patience": 0.3, "prolog_deadline": 4.0})
    first, second = (physics.node_as(name, impatient, physics.kube, no_kubeconfig) for name in ("n1", "n2"))
    job = physics.job("n1", "n2")
    hooks = [first.prolog(job), second.prolog(job)]
    assert [hook.exit() for hook in hooks] == [0, 0]
    judged = first.run(job).judgement
    assert judged is not None and (judged.verdict.value, judged.fault) == ("shared", "api-kubeconfig")
    assert "physics: cannot be used as a kubeconfig" in physics.comment(job)
    assert [node.epilog(job).exit() for node in (first, second)] == [0, 0]
    first.peer_uid = ROOT
    assert (
        "the workloads in the namespace slurm-physics are not known" in first.ask(verb="gc", dry_run=True)["faults"][0]
    )


def test_a_run_whose_kubeconfig_is_gone_is_not_taken_for_gone(physics: World) -> None:
    (node,), _, theirs = with_files(physics, "n1")
    job = physics.job("n1")
    assert node.prolog(job).exit() == 0
    missing = [True]
    found = _file(theirs)

    def connect(path: Path) -> Kubernetes:
        if missing[0]:
            raise ConfigError(f"{path}: is not there")
        return found(path)

    node.connect = connect
    node.crash()
    epilog = node.epilog(job)
    eventually(lambda: "is not there" in node.run(job).trouble)
    assert node.run(job).phase is Phase.RELEASE
    assert not physics.is_empty
    missing[0] = False
    assert epilog.exit() == 0
    physics.left_nothing()
