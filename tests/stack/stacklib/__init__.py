"""The test stack: a real Slurm and a real Kubernetes in containers on one machine."""
