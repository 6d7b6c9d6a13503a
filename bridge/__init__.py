"""slurm-k8s-bridge: Kubernetes runs the containers of a Slurm job on the very nodes that Slurm allocated.

This file and :mod:`bridge.wellknown` are read by the hook, which runs on any Python from 3.6 on.
"""

__version__ = "0.1.0"
