"""What is kept of a violation."""

from tests.chaos.evidence import lately
from tests.chaos.history import Strike


def test_what_struck_is_told_in_its_order_whoever_told_of_it() -> None:
    faults = [(100.0, "daemon killed on 1"), (139.0, "slurmctld on 0")]
    strikes = [
        Strike("n2", 120.5, "hang-before-journal.append"),
        Strike("n1", 130.0, "kill-after-kubernetes.create_workload"),
    ]
    assert lately(140.0, [*faults, *((strike.at, strike) for strike in strikes)]) == [
        "100.000 daemon killed on 1",
        "120.500 n2: hang-before-journal.append",
        "130.000 n1: kill-after-kubernetes.create_workload",
        "139.000 slurmctld on 0",
    ]


def test_what_struck_long_before_or_behind_it_is_not() -> None:
    assert lately(140.0, [(79.9, "too early"), (80.1, "early"), (140.9, "late"), (141.1, "too late")]) == [
        "80.100 early",
        "140.900 late",
    ]
