"""`make bench`: what the bridge costs, each figure beside its reference of the same run."""
