"""slurm.conf, as `scontrol show config` of 24.11 shows it."""

import re
from dataclasses import replace
from datetime import datetime
from math import inf
from pathlib import Path

import pytest

from bridge.doctor.checks.slurm_conf import CHECK, facts_of
from bridge.slurm import shown

from .given import CONFIG, SLURM, UNKNOWN, Somewhere, judged, site


def test_what_scontrol_shows_is_read() -> None:
    assert SLURM.text("ClusterName") == "demo" and SLURM.all("Prolog") == ("/etc/slurm/prolog.d/*",)
    assert SLURM.words("PrologFlags") == {"alloc", "deferbatch"}
    assert SLURM.seconds("KillWait") == 30.0 and SLURM.seconds("PrologTimeout", "PrologEpilogTimeout") == 3600.0
    assert SLURM.text("PMIxTimeout") == "" == SLURM.text("LaunchParameters"), "of a plugin, and not set"
    assert SLURM.as_of == datetime.fromisoformat(re.findall(r"as of (\S+)", CONFIG)[0])
    assert shown.settings("PrologEpilogTimeout     = 65534\n").seconds("PrologEpilogTimeout") == inf
    assert shown.settings("Configuration data as of never\n").as_of is None
    assert shown.node("Node x not found") is None


def test_the_stacks_own_is_good(tmp_path: Path) -> None:
    place = Somewhere(tmp_path)
    place.says = {"scontrol show config": CONFIG}
    assert judged(CHECK, CHECK.look(place)) == []


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("= Alloc,DeferBatch", "= Alloc", ["prolog-flag-missing"]),
        ("= Alloc,DeferBatch", "= DeferBatch,Serial,NoHold", ["prolog-flag-missing"] + ["prolog-flag-bad"] * 2),
        ("= Alloc,DeferBatch", "= alloc,deferbatch,RunInJob", ["prolog-flag-bad"]),
        ("nohold_on_prolog_fail,", "", ["holds-on-prolog-fail"]),
        ("= auth/jwt", "= (null)", ["jwt-missing"]),
        ("= cred_expire=30", "= (null)", ["cred-expire-long"]),
        ("KillWait                = 30", "KillWait                = 10", ["kill-wait-short"]),
        (
            "PrologEpilogTimeout     = 3600",
            "PrologEpilogTimeout     = 300",
            ["prolog-timeout-short", "epilog-timeout-short"],
        ),
        ("PrologEpilogTimeout     = 3600", "PrologEpilogTimeout     = 65534", []),
        ("PrologEpilogTimeout     = 3600", "PrologTimeout = 4000\nEpilogTimeout = 4000", ["batch-start-short"]),
        ("BatchStartTimeout       = 3600", "BatchStartTimeout       = 10", ["batch-start-short"]),
        ("ClusterName             = demo", "ClusterName             = alps", ["cluster-other"]),
        ("ClusterName             = demo", "", [UNKNOWN + "slurm-conf-unread"]),
    ],
)
def test_what_is_wrong_in_it_is_found(before: str, after: str, names: list[str]) -> None:
    assert before in CONFIG
    assert judged(CHECK, facts_of(shown.settings(CONFIG.replace(before, after)), site())) == names


def test_deadlines_of_bridge_toml_are_held_against_slurms_and_against_each_other() -> None:
    good = facts_of(SLURM, site())
    assert judged(CHECK, replace(good, prolog_deadline=3571.0)) == ["prolog-timeout-short", "batch-start-short"]
    assert judged(CHECK, replace(good, prolog_deadline=3570.0)) == []
    assert judged(CHECK, replace(good, epilog_deadline=3541.0)) == ["epilog-timeout-short"]
    assert judged(CHECK, replace(good, epilog_deadline=60.0)) == ["epilog-deadline-short"]
    slow = {"slow": {"grace_seconds": 3600}}
    assert judged(CHECK, facts_of(SLURM, site(profiles=slow))) == ["epilog-deadline-short"]
    settings = shown.settings(CONFIG.replace("= auth/jwt", "= (null)"))
    assert judged(CHECK, facts_of(settings, site(slurmrest=None))) == [], "nobody asks slurmrestd"
