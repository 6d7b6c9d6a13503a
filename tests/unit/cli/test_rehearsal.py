"""`bridgectl check` and `bridgectl render`: what a prolog would make of a spec, without a job."""

import json
from pathlib import Path

import pytest
import yaml

from bridge.cli.main import main
from bridge.cli.rehearsal import _memory
from bridge.config import load
from tests.manifests.collected import HERE as MANIFESTS
from tests.unit.engine.test_shown import fields_of

from .golden import CASES, HERE, SITE, as_ada, made

SPEC = HERE / "container-job.job.yaml"


@pytest.mark.parametrize("name", CASES)
def test_the_object_is_that_of_the_golden_file(name: str) -> None:
    """Where this is meant to change, `python -m tests.unit.cli.golden` writes the files anew: read their diff."""
    assert made(name) == (HERE / f"{name}.yaml").read_text()


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code and what is said."""
    with as_ada():
        code = main([*words, *SITE])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_spec_that_runs_is_told_with_what_becomes_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    file, *options = CASES["mnist-nccl"]
    code, out, err = told(capsys, "check", file, *options)
    assert (code, err) == (0, "")
    assert "note: spec.pytorchReplicaSpecs.Master: became worker 0" in out
    assert out.endswith("it would run: every field is kept, set or translated as said above\n")


def test_every_reason_is_told_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(SPEC.read_text() + "privileged: true\nimages: 1\n")
    for verb in ("check", "render"):
        code, out, err = told(capsys, verb, str(tmp_path / "job.yaml"))
        assert (code, out) == (1, "")
        assert [line.split(":")[1] for line in err.splitlines()] == [" privileged", " images"]
    code, out, err = told(capsys, "check", str(tmp_path / "job.yaml"), "-o", "json")
    answer = json.loads(out)
    assert (code, answer["runs"], answer["notices"], len(answer["reasons"])) == (1, False, [], 2)
    assert list(answer) == fields_of("bridgectl check")


def test_the_options_are_the_allocation(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-N", "3", "-c", "4", "--mem=2048", "--gpus-per-node=mi300x:2", "-J", "mine", "-o", "json")
    code, out, _err = told(capsys, "render", str(SPEC), *words)
    assert code == 0
    made = json.loads(out)
    (role,) = made["spec"]["pytorchReplicaSpecs"].values()
    (container,) = role["template"]["spec"]["containers"]
    assert role["replicas"] == 3
    limits = container["resources"]["limits"]
    assert (limits["cpu"], limits["memory"], limits["amd.com/gpu"]) == ("4", "2048Mi", "2")
    assert {"name": "SLURM_JOB_NAME", "value": "mine"} in container["env"]
    assert yaml.safe_load(told(capsys, "render", str(SPEC), *words[:-2])[1]) == made


def test_the_sites_rules_hold(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    site = tmp_path / "bridge.toml"
    rule = '[slurmrest]\nurl = "https://slurmrestd"\n[[jobs]]\nqos = "long"\nnamespace = "slurm-long"\n'
    site.write_text((MANIFESTS / "site.toml").read_text() + rule)
    assert load(site).namespaces == ("slurm-jobs", "slurm-long")
    for options, namespace in (((), "slurm-jobs"), (("--qos", "long"), "slurm-long")):
        with as_ada():
            assert main(["render", str(SPEC), *options, "-o", "json", "--config", str(site)]) == 0
        assert json.loads(capsys.readouterr().out)["metadata"]["namespace"] == namespace


def test_a_file_that_cannot_be_read_and_a_site_without_a_configuration(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _out, err = told(capsys, "check", str(tmp_path / "nothing"))
    assert code == 1
    assert err.startswith("refused: ") and "nothing" in err and "no such file" in err.lower()
    (tmp_path / "long").write_bytes(b"#" * 10_000_000)
    assert "1 MiB" in told(capsys, "check", str(tmp_path / "long"))[2]
    with as_ada():
        assert main(["check", str(SPEC), "--config", str(tmp_path / "nothing")]) == 75
    assert "[config-unreadable]" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("-N0",), ("-N", "x"), ("--mem", "1X"), ("--gpus-per-node=a:b",), ("-c", "-1")])
def test_options_that_are_none(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        told(capsys, "check", str(SPEC), *words)
    assert "error: argument" in capsys.readouterr().err


def test_memory_is_counted_as_sbatch_does() -> None:
    told = {"10": 10, "10M": 10, "2g": 2048, "1T": 1024 * 1024, "100K": 1, "4GB": 4096}
    assert {text: _memory(text) for text in told} == told
