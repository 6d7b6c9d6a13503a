"""What looks like a secret: told with the better way, and repeated by no sentence."""

from typing import Any

import pytest
import yaml

from bridge.job.render import render
from bridge.job.secrets import looks_secret, masked
from tests.unit.job.given import placement, reasons, site

# Made up, and cut in two: scanners of repositories know these forms, too.
HF, GH, AWS = "hf_" + "A1b2C3d4E5f6G7h8I9j0", "ghp_" + "A1b2C3d4E5f6G7h8I9j0", "AKIA" + "ABCDEFGHIJKLMNOP"


def short(**fields: Any) -> str:
    job = {"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob", "image": "x"}
    return yaml.safe_dump(job | fields)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "anything"),
        ("TOKEN", "x"),
        ("WANDB_API_KEY", "0a1b"),
        ("DB_PASSWORD", "p"),
        ("mysql_passwd", "p"),
        ("CLIENT_SECRET", "s"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("WHATEVER", HF),
        ("WHATEVER", f"https://user:{GH}@example"),
        ("AWS_ACCESS_KEY_ID", AWS),
        ("CERT", "-----BEGIN RSA PRIVATE KEY-----\nMIIE"),
    ],
)
def test_what_looks_like_a_secret(name: str, value: str) -> None:
    assert looks_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "4096"),
        ("HF_TOKEN", ""),
        ("HF_TOKEN_PATH", "/run/secrets/hf"),
        ("USE_TOKEN", "true"),
        ("KEYBOARD", "de"),
        ("MONKEY", "x"),
        ("NCCL_DEBUG", "INFO"),
        ("MODEL", "hf_transformers"),
    ],
)
def test_what_does_not(name: str, value: str) -> None:
    assert not looks_secret(name, value)


def test_the_user_is_told_where_and_what_instead_and_the_value_stays() -> None:
    spec = short(env={"HF_TOKEN": "s3cr3t", "A": "b"}, command=["sh", "-c", f"login {GH}"], args=["--key", HF])
    made = render(spec.encode(), placement(), site())
    told = [notice for notice in made.notices if "looks like a secret" in notice]
    assert [notice.split(":")[0] for notice in told] == ["env[HF_TOKEN]", "command[2]", "args[1]"]
    assert all("secretKeyRef" in notice for notice in told)
    assert not any(word in notice for notice in made.notices for word in ("s3cr3t", HF, GH))
    worker = made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    assert {"name": "HF_TOKEN", "value": "s3cr3t"} in worker["env"]


def test_a_reference_to_a_secret_is_the_better_way() -> None:
    source = {"secretKeyRef": {"name": "hub", "key": "token"}}
    spec = short(env=[{"name": "HF_TOKEN", "valueFrom": source}])
    assert render(spec.encode(), placement(), site()).notices == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"env": {"PASSWORD": 471147114711}},
        {"env": [{"name": "PASSWORD", "value": 471147114711}]},
        {"env": f"TOKEN={HF}"},
        {"args": f"--token={HF}"},
        {"args": {"token": HF}},
        {"image": f"registry/{GH} x"},
        {"volumes": [HF]},
        {"nprocPerNode": HF},
    ],
)
def test_no_refusal_repeats_one(fields: dict[str, Any]) -> None:
    told = reasons(short(**fields))
    assert not any(word in reason for reason in told for word in ("471147114711", HF, GH))


def test_a_sentence_keeps_what_is_no_secret() -> None:
    assert masked(f"a {HF} b") == "a … b"
    assert masked("ghp_short hf_model") == "ghp_short hf_model"
