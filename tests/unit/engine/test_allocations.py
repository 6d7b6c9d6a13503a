"""What becomes of allocations that a real Slurm made: `tests/allocations/record` asked it for one of every form."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bridge.config import Config
from bridge.config.pod import Gpu
from bridge.engine import events
from bridge.engine.state import SpecFile
from bridge.job.variables import NAMES
from bridge.slurm.environ import from_environ
from bridge.slurmrest.adapters import job_record

from .story import SPEC, Story

RECORDED = json.loads((Path(__file__).parents[2] / "allocations" / "recorded.json").read_text())
CONFIG = Config.model_validate(
    {
        "cluster": {"name": "forms", "tag": "forms"},
        "slurmrest": {"url": "https://slurmrestd:6820"},
        "kubernetes": {"kubeconfig": "/nowhere/kubeconfig"},
        "pod": {"max_cpus": 1000, "max_memory": "100Gi"},
        "gpu": {"types": {"1g.10gb": "nvidia.com/mig-1g.10gb", "mi300x": "amd.com/gpu"}},
    }
)
# What a device plugin shows on the recorder's nodes, by the first letter of their names.
ALLOCATABLE = {
    "h": {"nvidia.com/gpu": 4},
    "t": {"nvidia.com/gpu": 4},
    "m": {"amd.com/gpu": 8},
    "i": {"nvidia.com/mig-1g.10gb": 7},
    "x": {"nvidia.com/gpu": 2, "nvidia.com/mig-1g.10gb": 7},
    "u": {"nvidia.com/gpu": 2},
    "v": {"nvidia.com/gpu": 4},
    "n": {"nvidia.com/gpu": 2},
}
# What the pods get, or what the job is refused for. Each was read against what the form asks for.
EXPECTED = {
    "-p c": "1 of 1 cpu, 1024Mi",
    "-p c -N2": "2 of 1 cpu, 1024Mi",
    "-p c -N2 --ntasks-per-node=4": "2 of 4 cpu, 4096Mi",
    "-p c -n6": "1 of 6 cpu, 6144Mi",
    "-p c -N2 -n5": "2 of 1 cpu, 1024Mi",
    "-p c -N3 -n7 -c2": "3 of 2 cpu, 2048Mi",
    "-p c -n3 --cpus-per-task=4": "1 of 12 cpu, 12288Mi",
    "-p c -N2 --exclusive": "2 of 16 cpu, 16384Mi",
    "-p c --gpus=0 -c4": "1 of 4 cpu, 4096Mi",
    "-p c --mem=4G": "1 of 1 cpu, 4096Mi",
    "-p c --mem=0": "1 of 1 cpu, 64000Mi",
    "-p c -c3 --mem-per-cpu=700M": "1 of 3 cpu, 2100Mi",
    "-p c -N2 -n5 --mem-per-cpu=1G": "2 of 1 cpu, 1024Mi",
    "-p cd -N5 --exclusive": "5 of 8 cpu, 8192Mi",
    "-p cd -N5 --exclusive --mem=0": "5 of 8 cpu, 24000Mi",
    "-p c -w c[3,1] -N2": "2 of 1 cpu, 1024Mi",
    "-p c -x c2 -N3": "3 of 1 cpu, 1024Mi",
    "-p c --array=3-3": "1 of 1 cpu, 1024Mi",
    "-p h --gpus=4": "1 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h --gpus=1": "gave 1 of the 4 GPUs of a node",
    "-p h -N2 --gpus=8": "2 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h -N2 --gpus=h100:8": "2 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h -N2 --gpus=6": "unequal numbers of GPUs (4, 2)",
    "-p h -N1-3 --gpus=8": "2 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h -N2 --gpus-per-node=4": "2 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h -N4 --gpus-per-node=h100:4": "4 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h --gpus-per-node=2": "gave 2 of the 4 GPUs of a node",
    "-p h -n8 --gpus-per-task=1": "2 of 4 cpu, 4096Mi, 4 nvidia.com/gpu",
    "-p h -n2 --gpus-per-task=4": "2 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h -n4 -c8 --gpus-per-task=h100:1": "1 of 32 cpu, 32768Mi, 4 nvidia.com/gpu",
    "-p h -N2 --gres=gpu:h100:4": "2 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h --gres=gpu:4": "1 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h --gres=gpu:2 --exclusive": "1 of 32 cpu, 32768Mi, 4 nvidia.com/gpu",
    "-p h --exclusive": "1 of 32 cpu, 32768Mi, 4 nvidia.com/gpu",
    "-p h -N2 --exclusive --gpus-per-node=4": "2 of 32 cpu, 32768Mi, 4 nvidia.com/gpu",
    "-p h -N2 --exclusive --gpus-per-node=4 --mem=0": "2 of 32 cpu, 102400Mi, 4 nvidia.com/gpu",
    "-p whole -N2": "2 of 32 cpu, 32768Mi, 4 nvidia.com/gpu",
    "-p whole --gpus-per-node=4 -c32": "1 of 32 cpu, 32768Mi, 4 nvidia.com/gpu",
    "-p h --gpus-per-node=4 --mem-per-gpu=30G": "1 of 1 cpu, 102400Mi, 4 nvidia.com/gpu",
    "-p h -N2 --gpus-per-node=4 --cpus-per-gpu=6": "2 of 24 cpu, 24576Mi, 4 nvidia.com/gpu",
    "-p h --gpus-per-socket=2 --sockets-per-node=2 -n2": "1 of 2 cpu, 2048Mi, 4 nvidia.com/gpu",
    "-p h --gpus=4 --ntasks-per-gpu=2": "1 of 8 cpu, 8192Mi, 4 nvidia.com/gpu",
    "-p h --gpus-per-node=4 --ntasks-per-node=4 -c8 --mem-per-cpu=2G": "1 of 32 cpu, 65536Mi, 4 nvidia.com/gpu",
    "-p share --gpus-per-node=4": "1 of 32 cpu, 102400Mi, 4 nvidia.com/gpu",
    "-p share -N2 --gpus=8 --mem-per-gpu=40G": "2 of 32 cpu, 102400Mi, 4 nvidia.com/gpu",
    "-p ch -N2 -w c1,h1 --exclusive": "unequal numbers of GPUs (0, 4)",
    "-p t --gpus-per-node=4": "1 of 2 cpu, 2048Mi, 4 nvidia.com/gpu",
    "-p t -c3": "1 of 4 cpu, 4096Mi",
    "-p t -n8 --hint=nomultithread": "1 of 16 cpu, 8192Mi",
    "-p t -N2 --exclusive --gpus-per-node=4": "2 of 64 cpu, 65536Mi, 4 nvidia.com/gpu",
    "-p t -n4 --threads-per-core=1 --gpus-per-node=4": "1 of 8 cpu, 4096Mi, 4 nvidia.com/gpu",
    "-p m -N2 --gpus-per-node=8 --ntasks-per-node=8 -c12": "2 of 96 cpu, 98304Mi, 8 amd.com/gpu",
    "-p m --gres=gpu:mi300x:8": "1 of 1 cpu, 1024Mi, 8 amd.com/gpu",
    "-p m -N2 --gpus=16": "2 of 1 cpu, 1024Mi, 8 amd.com/gpu",
    "-p m --exclusive": "1 of 96 cpu, 98304Mi, 8 amd.com/gpu",
    "-p i --gres=gpu:1g.10gb:7": "1 of 1 cpu, 1024Mi, 7 nvidia.com/mig-1g.10gb",
    "-p i --gpus-per-node=1g.10gb:3": "gave 3 of the 7 GPUs of a node",
    "-p i -N2 --gpus=14": "2 of 1 cpu, 1024Mi, 7 nvidia.com/mig-1g.10gb",
    "-p x --gres=gpu:h100:2": "1 of 1 cpu, 1024Mi, 2 nvidia.com/gpu",
    "-p x --gres=gpu:1g.10gb:7": "1 of 1 cpu, 1024Mi, 7 nvidia.com/mig-1g.10gb",
    "-p x --gres=gpu:h100:2,gpu:1g.10gb:7": "GPUs of several kinds (1g.10gb, h100)",
    "-p x --exclusive": "GPUs of several kinds (1g.10gb, h100)",
    "-p uv -N2 --exclusive": "unequal numbers of GPUs (2, 4)",
    "-p uv -N2 --gpus=6": "unequal numbers of GPUs (2, 4)",
    "-p uv -N2 --gpus-per-node=2": "2 of 1 cpu, 1024Mi, 2 nvidia.com/gpu",
    "-p n -N2 --gpus-per-node=2": "2 of 1 cpu, 1024Mi, 2 nvidia.com/gpu",
    "-p n --gres=gpu": "gave 1 of the 2 GPUs of a node",
    "-p n -N2 --gpus=2": "gave 1 of the 2 GPUs of a node",
    "-p c -N2 (memory not counted)": "2 of 1 cpu, 1024Mi",
    "-p c --mem=2G (memory not counted)": "1 of 1 cpu, 2048Mi",
    "-p c -N2 -n5 --mem-per-cpu=1G (memory not counted)": "2 of 1 cpu, 1024Mi",
    "-p h -N2 --gpus-per-node=4 (memory not counted)": "2 of 1 cpu, 1024Mi, 4 nvidia.com/gpu",
    "-p h --exclusive (memory not counted)": "1 of 32 cpu, 32768Mi, 4 nvidia.com/gpu",
}


def key(record: dict[str, Any]) -> str:
    """How the table names it."""
    return record["form"] if record["select"] == "CR_Core_Memory" else f"{record['form']} (memory not counted)"


def story(record: dict[str, Any], reporting: bool = True) -> Story:
    """The batch node's way to the rendered workload, or to a refusal."""
    here = from_environ(next(iter(record["prologs"].values())))
    told = Story(here, CONFIG).began(SpecFile("/home/ml/job.yaml", base64.b64encode(SPEC).decode()), reporting)
    if reporting:
        told.tell(events.JobLearned(told.at, job_record(record["job"])))
    counts = {name: ALLOCATABLE.get(here.node[0], {}).get(name, 0) for name in CONFIG.gpu.resources}
    return told.tell(events.NodeProven(told.at, sum(counts.values()), gpu_counts=counts))


def pod_of(told: Story) -> str:
    """The training's resources in a word, or why there is no pod."""
    judgement = told.judgement()
    if judgement is not None:
        return judgement.sentence
    spec = json.loads(told.run.manifest)["spec"]["pytorchReplicaSpecs"]["Worker"]
    resources = spec["template"]["spec"]["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"]
    amounts = resources["limits"]
    extra = [f"{count} {name}" for name, count in amounts.items() if name not in ("cpu", "memory")]
    return ", ".join([f"{spec['replicas']} of {amounts['cpu']} cpu, {amounts['memory']}", *extra])


def slurms_own_word(record: dict[str, Any]) -> tuple[int, int, int]:
    """CPUs, MiB (0: not counted) and GPUs of the smallest node's share, by `scontrol show job --details`."""
    pattern = r"Nodes=\S+ CPU_IDs=(\S+) Mem=(\d+) GRES=(.*)"
    found = [re.fullmatch(pattern, line.strip()) for line in record["details"]]
    lines = [match.groups() for match in found if match]
    assert len(lines) == len(record["details"]) > 0
    gpus = min(sum(map(int, re.findall(r"gpu:(?:[^:]+:)?(\d+)\(", gres))) for _, _, gres in lines)
    return min(_size(ids) for ids, _, _ in lines), min(int(memory) for _, memory, _ in lines), gpus


def _size(ids: str) -> int:
    bounds = [part.split("-") for part in ids.split(",")]
    return sum(int(pair[-1]) - int(pair[0]) + 1 for pair in bounds)


def test_every_recording_is_expected_and_once() -> None:
    assert len(RECORDED) >= 40
    assert sorted(map(key, RECORDED)) == sorted(EXPECTED)


@pytest.mark.parametrize("record", RECORDED, ids=key)
def test_the_pods_get_what_slurm_gave(record: dict[str, Any]) -> None:
    told = story(record)
    got, expected = pod_of(told), EXPECTED[key(record)]
    if told.judgement() is not None:
        assert expected in got
        return
    assert got == expected
    cpus, memory, gpus = slurms_own_word(record)
    nodes = len(record["prologs"])
    assert got.startswith(f"{nodes} of {cpus} cpu, {min(memory, 102400)}Mi" if memory else f"{nodes} of {cpus} cpu, ")
    assert sum(map(int, re.findall(r"(\d+) (?:nvidia|amd)", got))) == gpus


@pytest.mark.parametrize("record", RECORDED, ids=key)
def test_the_environment_alone_never_says_more_than_slurmctld(record: dict[str, Any]) -> None:
    """Without slurmrestd: fewer threads of a core, the site's memory, and never GPUs of an unknown kind or number."""
    alone = story(record, reporting=False)
    gave_gpus = "SLURM_JOB_GPUS" in next(iter(record["prologs"].values()))  # of the other nodes nobody knows
    if alone.judgement() is not None:
        assert gave_gpus
        return
    assert not gave_gpus
    cpus, _, _ = slurms_own_word(record)
    container = json.loads(alone.run.manifest)["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"][
        "containers"
    ][0]
    assert int(container["resources"]["limits"]["cpu"]) <= cpus
    assert set(container["resources"]["limits"]) == {"cpu", "memory"}


def test_two_types_of_one_resource_are_one_kind() -> None:
    record = next(item for item in RECORDED if item["form"] == "-p x --gres=gpu:h100:2,gpu:1g.10gb:7")
    told = Story(from_environ(record["prologs"]["x1"]), CONFIG.model_copy(update={"gpu": Gpu()})).began()
    told.tell(events.JobLearned(told.at, job_record(record["job"])))
    told.tell(events.NodeProven(told.at, 9, gpu_counts={"nvidia.com/gpu": 9}))
    assert pod_of(told) == "1 of 1 cpu, 1024Mi, 9 nvidia.com/gpu", "slurmd itself names those of one type only"


def test_without_slurmctlds_word_the_kind_is_not_guessed() -> None:
    record = next(item for item in RECORDED if item["form"] == "-p m --gres=gpu:mi300x:8")
    assert "of which kind the GPUs are that Slurm gave is not known" in pod_of(story(record, reporting=False))


def variables(told: Story) -> dict[str, str]:
    """Those of Slurm that the training has."""
    spec = json.loads(told.run.manifest)["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    env = spec["containers"][0]["env"]
    return {item["name"]: item["value"] for item in env if item["name"].startswith("SLURM_") and "value" in item}


def test_every_variable_of_slurm_is_in_the_list_and_some_element_of_an_array_has_all() -> None:
    record = next(item for item in RECORDED if "--array" in item["form"])
    job = record["job"] | {"account": "physics"}
    environment = next(iter(record["prologs"].values())) | {"SLURM_JOB_ACCOUNT": "physics"}
    got = variables(story(record | {"job": job, "prologs": {"c1": environment}}))
    assert got.keys() == NAMES.keys()
    assert got["SLURM_ARRAY_TASK_ID"] == "3"
    assert got["SLURM_JOB_NAME"] == "train"
    assert got["SLURM_JOB_USER"] == "ml"
    assert got["SLURM_JOB_NODELIST"] == "c1"
    assert got["SLURM_JOB_WORK_DIR"] == "/tmp"


def test_what_is_not_known_has_no_variable() -> None:
    record = next(item for item in RECORDED if item["form"] == "-p c -x c2 -N3")
    got = variables(story(record))
    assert NAMES.keys() - got.keys() == {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_ACCOUNT"}
    assert got["SLURM_JOB_NODELIST"] == "c1,c3,c4"
    assert NAMES.keys() - variables(story(record, reporting=False)).keys() == {
        "SLURM_ARRAY_JOB_ID",
        "SLURM_ARRAY_TASK_ID",
        "SLURM_JOB_ACCOUNT",
        "SLURM_JOB_NAME",
    }
