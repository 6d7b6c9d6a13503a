"""`bridgectl doctor`: a node, and once a cluster, from top to bottom. Nothing is changed by looking."""
