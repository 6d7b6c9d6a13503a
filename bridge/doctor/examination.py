"""All checks, in the order of a way from the ground up: what fails first most often explains the rest."""

from collections.abc import Iterable, Iterator
from typing import Any

from bridge.doctor.check import Check, Result, State, examined
from bridge.doctor.checks import (
    cgroups,
    clocks,
    cluster_nodes,
    cluster_policies,
    configuration,
    credential,
    daemon,
    hooks,
    identity,
    images,
    interpreter,
    kubelet,
    leftovers,
    namespaces,
    operator,
    policies,
    resources,
    rights,
    slurm_conf,
    slurmrestd,
    sockets,
    units,
    workloads,
)
from bridge.doctor.place import Place

GOOD, FINDINGS, UNKNOWN = 0, 1, 2
"""Exit codes of `bridgectl doctor`."""

NODE: tuple[Check[Any], ...] = (
    interpreter.CHECK,
    configuration.CHECK,
    units.CHECK,
    sockets.CHECK,
    daemon.CHECK,
    hooks.CHECK,
    credential.CHECK,
    rights.CHECK,
    workloads.CHECK,
    policies.CHECK,
    identity.CHECK,
    kubelet.CHECK,
    cgroups.CHECK,
    slurm_conf.CHECK,
    slurmrestd.CHECK,
    resources.CHECK,
    clocks.CHECK,
    images.CHECK,
    leftovers.CHECK,
)
"""Of a node, with its own credential and as its root."""

CLUSTER: tuple[Check[Any], ...] = (
    workloads.CHECK,
    operator.CHECK,
    cluster_policies.CHECK,
    namespaces.CHECK,
    cluster_nodes.CHECK,
)
"""Once of a Kubernetes, with an admin's credential: what a node may not see."""


def examine(checks: Iterable[Check[Any]], place: Place) -> Iterator[Result]:
    """One after the other: a person looks on."""
    for check in checks:
        yield examined(check, place)


def exit_code(results: Iterable[Result]) -> int:
    """Findings go before what is not known."""
    states = {result.state for result in results}
    return FINDINGS if State.FOUND in states else UNKNOWN if State.UNKNOWN in states else GOOD
