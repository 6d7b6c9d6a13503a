"""What a run of two nodes is known to cost: CI compares, by tests/integration/test_kept.py. Who makes it cheaper, or
has a reason to make it dearer, changes it here, and nowhere else."""

REQUESTS = {
    "batch node": {
        "get nodes": 1,
        "create pytorchjobs": 1,
        "watch pytorchjobs": 1,
        "watch pods": 2,
        "patch pods": 1,
        "delete pytorchjobs": 1,
    },
    "other node": {
        "watch pods": 3,
        "patch pods": 1,
        "get pytorchjobs": 1,
    },
}
"""To the API server, from prolog to release, logs apart. A node's last watch is its proof that it is free."""

BYTES = {"pytorchjobs": 3634, "pods": 4494}
"""Of the objects of a run as the API server is sent them, the operator's pods from our template; within 5 %."""
