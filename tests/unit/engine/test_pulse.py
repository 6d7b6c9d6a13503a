"""How the API server and the node are to each other, known and told without any run."""

import random
import time

import pytest

from bridge import clock
from bridge.engine import connections
from bridge.engine.health import KUBERNETES, Contact, Health
from bridge.engine.node_reading import NodeReadings
from bridge.engine.pulse import Pulse
from bridge.errors import AUTHORITY_UNKNOWN, ConfigError, NotFound, Unavailable
from bridge.job.faults.trust import API_CLOCK
from bridge.kube.lifetimes import Life
from bridge.kube.standing import Standing
from tests.fakes.kubernetes import FakeKubernetes


@pytest.fixture
def kube() -> FakeKubernetes:
    return FakeKubernetes()


def test_a_node_that_has_no_runs_knows_how_the_api_server_answers(kube: FakeKubernetes) -> None:
    health = Health()
    pulse = Pulse(NodeReadings(kube), "n1", health)
    pulse.look()  # no such Node: an answer
    assert health.contacts()[KUBERNETES].fault == ""
    for error, row, is_down in (
        (Unavailable("kube: signed by nobody", reason=AUTHORITY_UNKNOWN), "api-authority", True),
        (ConfigError("/etc/k: cannot be used"), "api-kubeconfig", False),
    ):
        kube.faults.outage = error
        pulse.look()
        contact = health.contacts()[KUBERNETES]
        assert (contact.row, contact.down_since is not None) == (row, is_down)
    kube.faults.outage = None
    pulse.look()
    assert health.contacts()[KUBERNETES].row == ""


def test_it_asks_where_nobody_has_for_a_while(kube: FakeKubernetes) -> None:
    asked: list[str] = []
    health = Health()

    def node(name: str) -> None:
        asked.append(name)
        raise NotFound("no")

    kube.node = node  # type: ignore[method-assign, assignment]
    pulse = Pulse(NodeReadings(kube), "n1", health)
    cases = ((1.0, "", False, 0), (61.0, "", False, 1), (6.0, "", True, 1), (1.0, "", True, 0))
    for ago, fault, wanted, asks in (*cases, (1.0, "no answer", False, 0), (6.0, "no answer", False, 1)):
        asked.clear()
        found = API_CLOCK.finding("x") if fault else None
        health.heard(KUBERNETES, found, None, clock.now() - ago)
        pulse.ask(wanted)
        assert len(asked) == asks, (ago, fault, wanted)


def test_it_asks_once_a_minute_whoever_else_asks(kube: FakeKubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run asks for much, not for the Node; and the next one wants to know what it says."""
    health = Health()
    pulse = Pulse(NodeReadings(kube), "n1", health)
    pulse.look()
    begun = clock.now()
    for later, asks in ((30.0, False), (61.0, True), (100.0, False), (122.0, True)):
        monkeypatch.setattr(clock, "now", lambda at=begun + later: at)
        health.heard(KUBERNETES, None, None, begun + later)
        assert pulse.ask() is asks


def test_nodes_that_began_together_do_not_ask_together(kube: FakeKubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once when they begin, and never again."""
    begun, dues = clock.now(), []
    monkeypatch.setattr(clock, "now", lambda: begun)
    for share in (0.0, 0.5, 1.0):
        monkeypatch.setattr(random, "uniform", lambda least, most, share=share: least + share * (most - least))
        health = Health()
        pulse = Pulse(NodeReadings(kube), "n1", health)
        pulse.begin()
        assert KUBERNETES in health.contacts()
        dues.append(next(second for second in range(100) if _asks(pulse, begun + second, monkeypatch)))
        monkeypatch.setattr(clock, "now", lambda: begun)
    assert dues == [60, 30, 0]


def _asks(pulse: Pulse, at: float, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(clock, "now", lambda: at)
    return pulse.ask()


def test_in_a_long_outage_it_asks_seldom(kube: FakeKubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    pulse, at, asked = Pulse(NodeReadings(kube), "n1", Health()), clock.now(), list[float]()
    kube.faults.outage = Unavailable("no route")
    for second in range(120):
        monkeypatch.setattr(clock, "now", lambda now=at + second: now)
        if pulse.ask():
            asked.append(second)
    assert asked == [0, 5, 15, 35, 65, 95]
    assert pulse.ask(is_wanted=True), "somebody looks"
    kube.faults.outage = None
    pulse.look()
    assert pulse._failures == 0


def test_a_state_has_its_sentence_and_what_becomes_of_the_jobs() -> None:
    told = connections.contacts(
        {
            "good": Contact(clock.now()),
            "bad": Contact(clock.now(), "cause; cure", "api-clock", down_since=clock.now() - 9),
            "other": Contact(clock.now(), "what no row has"),
        }
    )
    assert [told[name]["state"] for name in ("good", "bad", "other")] == ["good", "api-clock", ""]
    assert told["bad"]["consequence"].startswith("prolog: the job is requeued, held at the third time; its nodes stay")
    assert "epilog: the epilog waits" in told["bad"]["consequence"]
    assert told["bad"]["down_for"] == pytest.approx(9, abs=1)


NOW = time.time()


@pytest.mark.parametrize(
    ("standing", "states"),
    [
        (Standing(), []),
        (Standing("token", Life(NOW - 10, NOW + 86400)), []),
        (Standing("token", Life(NOW - 86000, NOW + 400)), ["credential-ends"]),
        (Standing("token", Life(NOW - 86000, NOW + 400), ahead=86000.0), ["clock-off"]),
        (Standing("token", Life(NOW - 10, NOW + 86400), "no such file"), ["kubeconfig-unusable"]),
        (Standing("", None, "", -61.0), ["clock-off"]),
        (Standing("", None, "", 59.0), []),
    ],
)
def test_what_will_be_a_fault_is_told_before(standing: Standing, states: list[str]) -> None:
    told = connections.credential(standing)
    assert [warning["state"] for warning in told["warnings"]] == states
    assert all(warning["sentence"] and warning["consequence"] for warning in told["warnings"])
