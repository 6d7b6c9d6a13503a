"""All figures, in the order of the table."""

from .figure import Figure
from .figures import (
    attach,
    daemon,
    foreign_hooks,
    hook_client,
    many_jobs,
    many_nodes,
    own_share,
    prolog,
    recovery,
    requests,
    slurmctld,
    throughput,
)

FIGURES: tuple[Figure, ...] = (
    foreign_hooks.FIGURE,
    hook_client.FIGURE,
    own_share.FIGURE,
    prolog.FIGURE,
    *many_nodes.FIGURES,
    requests.FIGURE,
    requests.BYTES,
    slurmctld.FIGURE,
    daemon.MEMORY,
    daemon.HANDLES,
    daemon.CPU,
    throughput.FIGURE,
    many_jobs.FIGURE,
    recovery.FIGURE,
    attach.LATENCY,
    attach.FLOOD,
)
