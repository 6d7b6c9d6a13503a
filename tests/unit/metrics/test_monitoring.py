"""Alerts, dashboard and their pages ask for metrics that exist, and no alert is without a page and a test."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import ProcessCollector

from bridge.engine.orphans import State
from bridge.engine.state import Phase
from bridge.metrics.tally import OUTCOMES, VERDICTS, WAITS
from bridge.wellknown import METRIC, METRICS_FILE
from tests.unit.engine.world import World

from .given import Given

ROOT = Path(__file__).parents[3]
MONITORING = ROOT / "packaging" / "monitoring"
RUNBOOKS = ROOT / "docs" / "how-to" / "runbooks"
METRICS_PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text()
RULES: list[dict[str, Any]] = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
TRIED = yaml.safe_load((ROOT / "tests" / "monitoring" / "alerts.yaml").read_text())["tests"]
FOREIGN = {"node_textfile_mtime_seconds"}  # node exporter's own
LABELS = {
    "verdict": set(VERDICTS),
    "outcome": set(OUTCOMES),
    "phase": {phase.value for phase in Phase} | set(WAITS),
    "state": {state.value for state in State},
}


def expressions() -> list[str]:
    """Every one of alerts and dashboard."""
    variables = [item["query"]["query"] for item in DASHBOARD["templating"]["list"] if item["type"] == "query"]
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [*asked, *variables, *(rule["expr"] for rule in RULES)]


def metrics_in(expression: str) -> set[str]:
    """Names of metrics: words with an underscore that are neither a function, nor a label, nor a value."""
    bare = re.sub(r"\w+\s*(=~|!~|!=|=)\s*\"[^\"]*\"", "", expression)
    bare = re.sub(r"\b(by|on|without)\s*\([^)]*\)", "", bare)
    return {word for word in re.findall(r"\b[a-z][a-z0-9_]*\b(?!\s*\()", bare) if "_" in word} - {"__rate_interval"}


@pytest.fixture
def known(world: World) -> set[str]:
    """Every series' name, and those families that have none on a node without servers."""
    given = Given(world.node())
    given.tally.of("kubernetes")("GET", 200)
    given.tally.changed(None, world_judged(world))
    ProcessCollector(namespace=METRIC, registry=given.registry)
    families = list(given.registry.collect())
    return {sample.name for family in families for sample in family.samples} | {family.name for family in families}


def world_judged(world: World) -> Any:
    """A run with a verdict against it."""
    node, job = next(iter(world.nodes.values())), world.job()
    node.prolog(job, spec={"path": "/home/ml/job.yaml", "data": "", "error": "there is none"}).exit()
    return node.run(job)


def test_only_metrics_that_exist_are_asked_for(known: set[str]) -> None:
    asked = {name for expression in expressions() for name in metrics_in(expression)}
    assert len(asked) > 15
    assert asked - FOREIGN - known == set()


def test_every_metric_stands_in_its_page(known: set[str]) -> None:
    told = set(re.findall(rf"^\| `({METRIC}_\w+)", METRICS_PAGE, re.MULTILINE))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in known}
    totals = {name for name in families if name.endswith("_total")}
    ours = {name for name in families if f"{name}_total" not in totals and "_process_" not in name}
    assert told == ours


@pytest.mark.parametrize("label", LABELS)
def test_labels_have_values_that_exist(label: str) -> None:
    for expression in expressions():
        for asked in re.findall(rf'\b{label}=~?"([^"]*)"', expression):
            assert set(asked.split("|")) <= LABELS[label], expression


def test_a_metric_that_does_not_exist_would_be_found() -> None:
    asked = 'sum by (a_label) (rate(some_metric{a_value="other_metric"}[$__rate_interval])) / on (b_label) next_one'
    assert metrics_in(asked) == {"some_metric", "next_one"}


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_has_a_page_that_names_it(rule: dict[str, Any]) -> None:
    page = ROOT / rule["annotations"]["runbook"]
    assert page.parent == RUNBOOKS
    text = page.read_text()
    assert rule["alert"] in text
    assert all(part in text for part in ("**What:**", "**Means:**", "**Do:**"))
    assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_no_page_is_of_an_alert_that_there_is_none() -> None:
    named = {name for page in RUNBOOKS.iterdir() for name in re.findall(r"\bSlurmK8sBridge\w+", page.read_text())}
    assert named == {rule["alert"] for rule in RULES}
    assert {page.name for page in RUNBOOKS.iterdir()} == {Path(rule["annotations"]["runbook"]).name for rule in RULES}


def test_each_alert_is_tried_firing_and_silent() -> None:
    """promtool runs them: tests/integration/test_alerts.py."""
    names = [test["name"] for test in TRIED]
    assert sorted(names) == sorted(f"{rule['alert']} {how}" for rule in RULES for how in ("fires", "silent"))
    for test in TRIED:
        (tried,) = test["alert_rule_test"]
        assert test["name"].startswith(tried["alertname"])
        assert bool(tried["exp_alerts"]) == test["name"].endswith("fires")


def test_the_file_is_found_by_its_name() -> None:
    (rule,) = [rule for rule in RULES if rule["alert"] == "SlurmK8sBridgeFileOld"]
    (pattern,) = re.findall(r'file=~"([^"]*)"', rule["expr"])
    assert re.fullmatch(pattern, f"/run/slurm-k8s-bridge/metrics/{METRICS_FILE}")
