"""Clocks."""

from bridge.doctor.checks.clocks import CHECK, Clocks

from .given import UNKNOWN, judged


def test_each_is_held_against_this_nodes() -> None:
    assert judged(CHECK, Clocks(59.0, -59.0)) == []
    assert judged(CHECK, Clocks(61.0, 0.0)) == judged(CHECK, Clocks(0.0, -3600.0)) == ["doctor-clock-off"]
    assert judged(CHECK, Clocks(None, 0.0)) == [UNKNOWN + "clock-unknown"]
    assert judged(CHECK, Clocks(90.0, None)) == ["doctor-clock-off", UNKNOWN + "clock-unknown"]
    (told,) = CHECK.judge(Clocks(-7200.0, 0.0))
    assert "7,200 s behind that of API server" in told["cause"]
