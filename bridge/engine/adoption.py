"""A run that the journal has lost is learnt again from its own workload: the state directory was wiped, or is the
copy of last week. Else the run's `attach` would end for want of a run, and with its script the training.

What proves that such a run goes on: slurmctld's word where it may be asked, else the run's marker, which root's prolog
has written and only a proven epilog removes. It must name the workload's own run, by restart count and start. A marker
alone says that no epilog has proven the run gone; should it be over all the same, its epilog or the next prolog ends
the adopted run like any other. Without a marker a run is adopted for its `attach` alone, by slurmctld's word.
"""

import pwd
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import structlog

from bridge import clock, wellknown
from bridge.config import Config
from bridge.engine import events, orphans
from bridge.engine.job_words import Ask, JobWords
from bridge.engine.orphans import Runs, Seen, State
from bridge.engine.rules import Rules
from bridge.errors import AllocationError, BridgeError, NotFound
from bridge.job.ids import RunKey, pod_name
from bridge.job.pods import pod_facts
from bridge.kube.api import Kubernetes, Object
from bridge.messages import workloads as messages
from bridge.slurm.environ import Allocation
from bridge.slurmrest.api import Credential, SlurmRest
from bridge.store.markers import Marker
from bridge.wire.peercred import Peer

log = structlog.get_logger()


class Prospect(Enum):
    """What becomes of the search for a run."""

    FOUND = "found"
    OPEN = "open"  # it may be found yet
    NONE = "none"  # there is nothing to be found


@dataclass(frozen=True)
class Search:
    """What a look for the run of a job came to; ``sentence`` says why there is none (yet)."""

    prospect: Prospect
    sentence: str = ""


class Adopter:
    """Looks for lost runs. Safe to use from many threads: it posts what it found, and the engine decides."""

    def __init__(
        self,
        config: Config,
        kube: Kubernetes,
        runs: Callable[[], Runs],
        node: str,
        marker: Callable[[int], Marker | None],
        post: Callable[[RunKey, events.Event], None],
        ask: Ask | None = None,
        rest: SlurmRest | None = None,
    ) -> None:
        """``runs`` gives the engine's runs as they are now, ``node`` is this node's Kubernetes name, ``marker`` the
        marker of a job; ``post`` takes an event of a run. ``ask``: what slurmctld says of a job, None where it may not
        be asked about every job; then ``rest`` is asked with the token that an `attach` brings."""
        self._config = config
        self._kube = kube
        self._runs = runs
        self._node = node
        self._marker = marker
        self._post = post
        self._ask = ask
        self._rest = rest

    def take_up(self, lost: Seen) -> None:
        """Adopt the run of a workload that was seen on this node and is in no journal, where its marker is there.
        Raises the errors of `bridge.errors`."""
        if lost.key is None or not _is_marked(lost, self._marker(lost.key.job_id)):
            return
        try:
            workload = self._kube.workload(lost.namespace, lost.name)
        except NotFound:
            return
        if orphans.seen(self._config, workload) == lost:
            self._adopt_if_proven(workload, lost, True, self._ask)

    def search(self, job_id: int, restart: int | None, peer: Peer, token: str | None) -> Search:
        """Look for the run of a job whose `attach` is here, and adopt it; ``restart`` None: the latest one. ``peer`` is
        who asks, ``token`` a Slurm token of theirs."""
        try:
            marker = self._marker(job_id)
            workloads = self._workloads(job_id, restart, peer)
            if workloads:
                return self._take_up_one(workloads[-1], marker, self._asking(peer, token))
        except BridgeError as error:
            return Search(Prospect.OPEN, messages.RUN_UNSEEN.sentence(job=job_id, why=error))
        if marker is None or (marker.uid is not None and not peer.may_see(marker.uid)):
            return Search(Prospect.NONE)
        return Search(Prospect.NONE, messages.RUN_LOST.sentence(job=job_id))

    def _asking(self, peer: Peer, token: str | None) -> Ask | None:
        rest, user = self._rest, _user(peer.uid)
        if self._ask is not None or rest is None or not (user and token):
            return self._ask
        who = Credential(user, token)
        return lambda job_id: rest.job(who, job_id)

    def _workloads(self, job_id: int, restart: int | None, peer: Peer) -> list[Object]:
        """Those of this job on this node, the latest run last."""
        labels = {wellknown.LABEL_TAG: self._config.cluster.tag, wellknown.LABEL_JOB: str(job_id)}
        found: list[tuple[RunKey, Object]] = []
        for workload in self._listed(labels):
            key = orphans.seen(self._config, workload).key
            told = None if key is None else self._allocation(workload)
            if key is not None and told is not None and restart in (None, key.restart) and peer.may_see(told.uid):
                found.append((key, workload))
        return [workload for _, workload in sorted(found, key=lambda item: item[0])]

    def _listed(self, labels: Mapping[str, str]) -> list[Object]:
        """The workloads of every namespace that can be seen. Raises the first error where none was found: the one that
        is looked for may be where nobody can look."""
        found: list[Object] = []
        unseen: BridgeError | None = None
        for name in self._config.namespaces:
            try:
                found += self._kube.list_workloads(name, labels)
            except BridgeError as error:
                unseen = unseen or error
        if unseen is not None and not found:
            raise unseen
        return found

    def _take_up_one(self, workload: Object, marker: Marker | None, ask: Ask | None) -> Search:
        lost = orphans.seen(self._config, workload)
        assert lost.key is not None
        known = orphans.here(lost, self._runs())
        if known is not None:
            if known.state is State.LIVE:
                return Search(Prospect.FOUND)
            return Search(Prospect.OPEN, messages.RUN_ENDING.sentence(workload=lost.name, why=known.why))
        why_not = self._adopt_if_proven(workload, lost, _is_marked(lost, marker), ask)
        if not why_not:
            return Search(Prospect.FOUND)
        words = {"job": lost.key.job_id, "workload": lost.name, "why": why_not}
        return Search(Prospect.OPEN, messages.RUN_UNPROVEN.sentence(**words))

    def _adopt_if_proven(self, workload: Object, lost: Seen, marked: bool, ask: Ask | None) -> str:
        """Adopt it, or a clause why not."""
        word, allocation = JobWords(ask).on(lost.key), self._allocation(workload)
        if allocation is None or lost.key is None:
            return messages.NOT_OURS
        if word is not None and word.record is not None and word.record.user_id != allocation.uid:
            return messages.ANOTHERS_JOB
        found = orphans.by_word(self._config, lost, word)
        if found.state is not State.LIVE and not (found.state is State.UNCONFIRMED and marked):
            return found.why
        at, rest = clock.now(), self._config.slurmrest
        reporting, rules = rest is not None, Rules.of(self._config).led_to(self._config, lost.namespace)
        opened = self._own_pod(lost, allocation)
        log.warning("run_adopted", job=lost.key.job_id, run=str(lost.key), marked=marked, word=found.why)
        self._post(lost.key, events.Adopted(at, allocation, lost.uid, opened, marked, reporting, rules))
        return ""

    def _own_pod(self, lost: Seen, allocation: Allocation) -> str:
        """Its uid, where it has been let through to this node."""
        try:
            pod = self._kube.pod(lost.namespace, pod_name(lost.name, allocation.rank))
        except NotFound:
            return ""
        facts = pod_facts(pod)
        return facts.uid if facts is not None and facts.node == self._node else ""

    def _allocation(self, workload: Object) -> Allocation | None:
        """The allocation as far as the workload tells it; None where it is not on this node, or no such object as the
        bridge makes."""
        seen = orphans.seen(self._config, workload)
        if seen.key is None or self._node not in seen.nodes:
            return None
        try:
            nodes = tuple(self._config.cluster.slurm_node(node) for node in seen.nodes)
            pod = workload["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
            uid, gid = int(pod["securityContext"]["runAsUser"]), int(pod["securityContext"]["runAsGroup"])
            gpus = sum(self._gpus(container) for container in pod["containers"])
        except (AllocationError, KeyError, TypeError, ValueError):
            return None
        return Allocation(
            cluster=seen.key.cluster,
            job_id=seen.key.job_id,
            restart=seen.key.restart,
            start_time=seen.start,
            end_time=0,
            uid=uid,
            gid=gid,
            user=_user(uid),
            account=None,
            partition="",
            nodes=nodes,
            node=nodes[seen.nodes.index(self._node)],
            cpus=(0,) * len(nodes),
            gpus_here=gpus,
            work_dir="/",
            comment="",
            extra="",
            het_job_id=None,
        )

    def _gpus(self, container: Object) -> int:
        limits = (container.get("resources") or {}).get("limits") or {}
        return int(limits.get(self._config.gpu.resource, 0))


def _is_marked(lost: Seen, marker: Marker | None) -> bool:
    """Whether the marker names this very run."""
    if marker is None or lost.key is None:
        return False
    return (marker.restart, marker.start) == (lost.key.restart, lost.start)


def _user(uid: int) -> str:
    """The name of an account as this node knows it; '' where it does not: then nobody speaks to Slurm in its name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
