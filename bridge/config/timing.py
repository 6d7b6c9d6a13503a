"""How long what takes, and how often what is looked at."""

from bridge.config.section import Seconds, Section


class Timing(Section):
    """Deadlines and poll periods, in seconds."""

    prolog_deadline: Seconds = 300.0
    """From the prolog's start to its verdict; 30 s less than Slurm's PrologTimeout at least."""
    epilog_deadline: Seconds = 3300.0
    """From the epilog's start to exit 1; 60 s less than Slurm's EpilogTimeout at least."""
    poll_period: Seconds = 5.0
    """Between two looks at the job in slurmctld while a prolog waits, and so how late a cancel is noticed; up to
    six times as much while slurmctld does not answer."""
    member_patience: Seconds = 10.0
    """A node other than the batch node that has seen no workload for so long lets its prolog go; a second later for
    each hundred nodes of a large run."""
    breaker_after: Seconds = 60.0
    """After so long without an answer of the API server, a prolog that begins does not wait for its deadline."""
    breaker_patience: Seconds = 10.0
    """What it waits instead, to see whether the API server is back."""
    node_patience: Seconds = 30.0
    """A prolog that has waited so long looks at its own node; a fault of it that lasts as long again is believed.
    Also how long the epilog of a run that such a fault ended waits for its proof, and the job for its next node."""
    node_fault_window: Seconds = 600.0
    """Faults of other nodes so recent count; at most an hour, after which Kubernetes forgets them."""
    boot_grace: Seconds = 600.0
    """After a boot the device plugin may be later than slurmd: for so long missing GPUs are not held against a node."""
    reconcile_period: Seconds = 300.0
    """Between two comparisons of journal, Kubernetes and Slurm; with ±20 % jitter, since all nodes do it."""
    orphan_grace: Seconds = 300.0
    """A workload whose run is over is deleted after it was seen so for so long, and a second look has confirmed it."""
    image_patience: Seconds = 20.0
    """An image that the registry says does not exist, or not for us, is believed missing after so long."""
