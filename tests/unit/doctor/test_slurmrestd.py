"""slurmrestd and the tier."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.doctor.checks.slurmrestd import CHECK, Slurmrestd
from bridge.errors import BridgeError
from tests.fakes.httpserver import Reply, ScriptedServer

from .given import CONFIG, UNKNOWN, Somewhere, judged, site

GOOD = Slurmrestd("https://slurmrestd:6820", "owner")
SERVICE = replace(GOOD, tier="service", user="bridge", level="operator")


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        (None, []),
        (GOOD, []),
        (SERVICE, []),
        (replace(GOOD, unminted="no scontrol"), ["token-unminted"]),
        (replace(SERVICE, unminted="forbidden"), []),
        (replace(GOOD, refused="no answer"), ["slurmrestd-refuses"]),
        (replace(SERVICE, service_fault="mode 0644"), ["service-token-bad"]),
        (replace(SERVICE, level="none"), ["service-user-low"]),
        (replace(SERVICE, tier="administrator"), ["service-user-low"]),
        (replace(SERVICE, tier="administrator", level="administrator"), []),
        (replace(SERVICE, level=None), [UNKNOWN + "level-unknown"]),
    ],
)
def test_what_the_tier_needs(facts: Slurmrestd | None, names: list[str]) -> None:
    assert judged(CHECK, facts) == names


def _place(tmp_path: Path, url: str, **slurmrest: str) -> Somewhere:
    place = Somewhere(tmp_path, config=site(slurmrest={"url": url, **slurmrest}))
    place.says = {"scontrol token username=nobody": "SLURM_JWT=a.b.c\n", "scontrol show config": CONFIG}
    place.says["sacctmgr"] = "Operator\n"
    return place


def test_it_is_asked_with_a_token_of_nobody(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        server.route = lambda _: Reply({"nodes": [{"name": "compute1", "state": ["IDLE"], "reason": ""}]})
        place = _place(tmp_path, server.url)
        assert judged(CHECK, CHECK.look(place)) == []
        assert server.received[0].headers["X-SLURM-USER-NAME"] == "nobody"
        server.route = lambda _: Reply({}, 401)
        assert judged(CHECK, CHECK.look(place)) == ["slurmrestd-refuses"]


def test_the_sites_own_token_is_tried_and_its_users_rights_are_looked_up(tmp_path: Path) -> None:
    file = tmp_path / "token"
    given = {"tier": "service", "service_user": "bridge", "service_token_file": str(file)}
    with ScriptedServer() as server:
        server.route = lambda _: Reply({"nodes": [{"name": "compute1", "state": ["IDLE"], "reason": ""}]})
        place = _place(tmp_path, server.url, **given)
        assert judged(CHECK, CHECK.look(place)) == ["service-token-bad"], "there is none"
        file.write_text("d.e.f")
        file.chmod(0o600)
        assert judged(CHECK, CHECK.look(place)) == []
        assert [each.headers["X-SLURM-USER-TOKEN"] for each in server.received][-2:] == ["a.b.c", "d.e.f"]
        place.says["sacctmgr"] = "None\n"
        assert judged(CHECK, CHECK.look(place)) == ["service-user-low"]
        place.says["sacctmgr"] = BridgeError("no slurmdbd")
        assert judged(CHECK, CHECK.look(place)) == [UNKNOWN + "level-unknown"]
        slurm_user = _place(tmp_path, server.url, **given | {"service_user": "slurm", "tier": "administrator"})
        assert judged(CHECK, CHECK.look(slurm_user)) == [], "SlurmUser needs no word of accounting"
