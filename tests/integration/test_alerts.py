"""The alert rules, tried by Prometheus' own promtool. Needs Go, and no stack."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = ROOT / "packaging" / "monitoring" / "alerts.yaml"
_PACKAGE = "github.com/prometheus/prometheus/cmd/promtool"


pytestmark = pytest.mark.timeout(1200)  # the first time promtool is built


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Built once for its go.sum, into the cache that the stack has, too."""
    module = ROOT / "tests" / "stack" / "go" / "promtool"
    cache = Path(os.environ.get("SKB_CACHE") or Path.home() / ".cache" / "slurm-k8s-bridge")
    version = hashlib.sha256((module / "go.sum").read_bytes()).hexdigest()[:12]
    program = cache / "bin" / f"promtool-{version}" / "promtool"
    if not program.exists():
        fresh = program.with_name(f"promtool.{os.getpid()}")  # two test runs may build at once
        options = ["-trimpath", "-tags", "remove_all_sd,netgo", "-ldflags", "-s -w", "-o", str(fresh)]
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
        subprocess.run(["go", "build", *options, _PACKAGE], cwd=module, env=environment, check=True, timeout=900)
        fresh.replace(program)
    return program


def said(*command: object) -> str:
    """What it prints; its exit status is 0."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_rules_are_rules(promtool: Path) -> None:
    assert "SUCCESS" in said(promtool, "check", "rules", RULES)


def test_each_alert_fires_when_it_should_and_only_then(promtool: Path) -> None:
    assert "SUCCESS" in said(promtool, "test", "rules", ROOT / "tests" / "monitoring" / "alerts.yaml")


def test_a_rule_that_never_fires_would_be_found(promtool: Path, tmp_path: Path) -> None:
    broken = tmp_path / "packaging" / "monitoring" / "alerts.yaml"
    tried = tmp_path / "tests" / "monitoring" / "alerts.yaml"
    for file in (broken, tried):
        file.parent.mkdir(parents=True)
    broken.write_text(RULES.read_text().replace("node_given_up == 1", "node_given_up == 2"))
    tried.write_text((ROOT / "tests" / "monitoring" / "alerts.yaml").read_text())
    done = subprocess.run([promtool, "test", "rules", tried], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "SlurmK8sBridgeNodeGivenUp fires" in done.stdout + done.stderr
