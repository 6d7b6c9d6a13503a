"""`make demo`: one job the whole way on a real Slurm and a real Kubernetes. Standard library only."""
