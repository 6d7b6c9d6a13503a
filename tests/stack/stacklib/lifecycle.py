"""Start the stack, take it down, install the product anew."""

from __future__ import annotations

import concurrent.futures
import fcntl
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import compose, network
from .cluster import Cluster
from .commands import await_true, say, succeeds
from .engine import answers, ensure_engine
from .environment import add_kwok, write_environment
from .errors import StackError
from .places import CLUSTER, JOB_IMAGES, NAMESPACE, NODES, cache, project, run_dir
from .product import ensure_package, ensure_product_image, hand_over, product
from .programs import RECIPES, ensure
from .provision import Parts, provision
from .registry import Registry, push
from .rundir import RunDir

_LIMIT = 240.0  # two stacks may start at once, on two cores
_IN_SERVICE = ("idle", "mixed", "allocated", "completing")  # a stack that was up may have jobs


def up(*, kwok: bool) -> None:
    """Have the whole stack running and healthy, with the product as the checkout has it now."""
    began = time.monotonic()
    with _one_at_a_time():
        parts = provision(kwok=kwok)
        started = time.monotonic()
        addresses = _addresses()
        hand_over(parts.package)
        product_image = _product_image(parts)
        write_environment(parts, addresses, product_image, kwok=kwok)
        # The operator ends where it finds neither its resource nor its Secret, so it comes after them.
        compose.up([s for s in _services(kwok) if s != "training-operator"], kwok=kwok)
    cluster = Cluster(parts.programs)
    say("containers created")
    _together(lambda: _kubernetes(cluster, kwok), lambda: _images(parts, addresses))
    # Before the last questions: a stack that isn't healthy wants to be looked at, too.
    _describe(addresses, parts, product_image, kwok=kwok)
    _each(_services(kwok), _await_healthy)
    _await_slurm()
    now = time.monotonic()
    say(f"the stack {project()} is up: {now - started:.1f} s for the start, {now - began:.1f} s in all")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """What one stack builds the next one finds, and the network and ports that it takes the next one leaves alone."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "provision.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another stack is being made; this one waits until it has its parts and its network")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def down() -> None:
    """Remove every trace of the stack but the cache; the engine itself stays."""
    if not answers() and not run_dir().exists():
        say("there is no stack, and no docker engine that could hold one")
        return
    # An engine that died keeps the containers, so it is started to remove them.
    ensure_engine()
    compose.remove_all()
    shutil.rmtree(run_dir(), ignore_errors=True)
    say(f"the stack {project()} is gone; dockerd and the cache {cache()} stay")


def install() -> None:
    """Install the product of this checkout anew on the running nodes, and restart its daemon."""
    described = description()
    cluster = Cluster({name: recipe.folder() for name, recipe in RECIPES.items()})
    package = ensure_package()
    hand_over(package)
    cluster.grant_product()
    compose.run_in("login", "/stack/compute/install-product.sh")
    _each(NODES, lambda name: _install_on(cluster, name))
    described |= {"product": product(), "package": str(package)}
    _save(described)


def start_kwok(*, bare: bool) -> None:
    """Have imitated nodes beside a stack that runs; nothing else of it changes."""
    description()
    add_kwok(ensure("kwok"), bare=bare)
    compose.up(["kwok"], kwok=True, alone=True)
    _await_healthy("kwok")


def stop_kwok() -> None:
    """Remove what imitates the nodes. The nodes' objects are theirs who made them."""
    compose.remove("kwok")


def description() -> dict[str, object]:
    """Return what stack.json says about the running stack."""
    try:
        data: dict[str, object] = json.loads((run_dir() / "stack.json").read_text())
    except OSError:
        raise StackError("the stack of this checkout does not run", "start it with `make stack`") from None
    return data


def _together(*works: Callable[[], None]) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in concurrent.futures.as_completed([pool.submit(work) for work in works]):
            done.result()


def _each(names: list[str] | tuple[str, ...], work: Callable[[str], None]) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(work, names))


def _services(kwok: bool) -> list[str]:
    control = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "training-operator"]
    slurm = ["db", "slurmdbd", "slurmctld", "slurmrestd"]
    return [*control, "coredns", "registry", *slurm, *NODES, "login", *(["kwok"] if kwok else [])]


def _addresses() -> network.Addresses:
    """Keep those of a stack that runs; else clear what is left of one and choose new ones."""
    running, every = compose.containers(running_only=True), compose.containers()
    described = run_dir() / "stack.json"
    if every and running == every and described.exists():
        return network.Addresses(**json.loads(described.read_text())["addresses"])
    if every:
        say("clearing what is left of an earlier stack")
    compose.remove_all()
    addresses = network.choose()
    RunDir(addresses).write()
    return addresses


def _product_image(parts: Parts) -> str:
    """That of a stack that runs stays: with another one compose would make its nodes anew."""
    if (run_dir() / "stack.json").exists():
        return str(description()["product_image"])
    return ensure_product_image(parts.package, parts.images["compute"])


def _kubernetes(cluster: Cluster, kwok: bool) -> None:
    _await_healthy("kube-apiserver")
    cluster.set_up()
    cluster.grant_product()
    say("Kubernetes has its manifests")
    _admins_command()
    compose.up(["training-operator"], kwok=kwok)
    _each(NODES, lambda name: _take_into_service(cluster, name))
    say("the nodes have their kubeconfigs")
    cluster.await_gpus()
    say("the kubelets offer their GPUs")


def _admins_command() -> None:
    """Have the checkout's `bridgectl` where an admin would run it."""
    if (run_dir() / "stack.json").exists() and description().get("product") != product():
        compose.run_in("login", "/stack/compute/install-product.sh")
    there = ["docker", "exec", compose.container("login"), "test", "-x", "/usr/bin/bridgectl"]
    await_true("login had no bridgectl", lambda: succeeds(there), _LIMIT, "read `tests/stack/stack logs login`")


def _take_into_service(cluster: Cluster, name: str) -> None:
    """Start a new node's daemons; on one that runs, install what the checkout has newer."""
    if not succeeds(["docker", "exec", compose.container(name), "test", "-e", "/var/lib/stack/provisioned"]):
        cluster.take_into_service(name)
    elif description().get("product") != product():
        _install_on(cluster, name)


def _install_on(cluster: Cluster, name: str) -> None:
    compose.run_in(name, "/stack/compute/install-product.sh")
    cluster.take_into_service(name)
    _await_healthy(name)
    say(f"{name}: the checkout's product is installed")


def _images(parts: Parts, addresses: network.Addresses) -> None:
    registry = Registry(f"127.0.0.1:{addresses.registry_port}")
    await_true("the registry did not answer", registry.answers, _LIMIT, "read `tests/stack/stack logs registry`")
    for name in JOB_IMAGES:
        push(registry, parts.images[name], f"skb/{name}", "1")
    say("the registry has its images")
    _each(NODES, _pull_images)
    say("the nodes have the images")


def _pull_images(name: str) -> None:
    active = ["docker", "exec", compose.container(name), "systemctl", "--quiet", "is-active", "containerd"]
    await_true(
        f"containerd did not start on {name}", lambda: succeeds(active), _LIMIT, f"read `tests/stack/stack logs {name}`"
    )
    compose.run_in(name, "/stack/compute/pull-images.sh")


def _await_healthy(service: str) -> None:
    cure = f"read `tests/stack/stack logs {service}`"
    try:
        await_true(service, lambda: compose.is_healthy(service), _LIMIT, cure)
    except StackError:
        why = compose.complaint(service) or "its probe fails"
        raise StackError(f"{service} did not become healthy within {_LIMIT:.0f} s ({why})", cure) from None


def _await_slurm() -> None:
    def in_service() -> bool:
        states = compose.run_in("login", "sinfo", "--noheader", "--Node", "--partition=main", "--format=%T").split()
        return len(states) == len(NODES) and all(state in _IN_SERVICE for state in states)

    cure = "`tests/stack/stack exec login -- sinfo -R` says why"
    await_true("Slurm's nodes did not come into service", in_service, _LIMIT, cure)


def _describe(addresses: network.Addresses, parts: Parts, product_image: str, *, kwok: bool) -> None:
    """Write what the tests need to know."""
    _save(
        {
            "project": project(),
            "cluster": CLUSTER,
            "namespace": NAMESPACE,
            "nodes": list(NODES),
            "containers": {s: compose.container(s) for s in _services(kwok)},
            "compose_command": compose.command(),
            "apiserver": addresses.apiserver_url,
            "admin_kubeconfig": str(run_dir() / "admin.kubeconfig"),
            "kubectl": str(parts.programs["kubernetes"] / "kubectl"),
            "registry": f"127.0.0.1:{addresses.registry_port}",
            "registry_control": f"http://127.0.0.1:{addresses.registry_control_port}",
            "images": {name: f"registry:5000/skb/{name}:1" for name in JOB_IMAGES},
            "audit_log": str(run_dir() / "audit" / "audit.log"),
            "subnet": addresses.subnet,
            "run_dir": str(run_dir()),
            "kwok": kwok,
            "product": product(),
            "product_image": product_image,
            "package": str(parts.package),
            "addresses": addresses.as_dict(),
        }
    )


def _save(described: dict[str, object]) -> None:
    (run_dir() / "stack.json").write_text(json.dumps(described, indent=2) + "\n")
