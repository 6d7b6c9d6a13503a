"""Runs in the recorder's container: a Slurm cluster of many kinds of nodes, each form submitted to it once."""

import json
import os
import pwd
import re
import secrets
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SEEN = Path("/var/seen")
SOCKET = "/run/restd/socket"
USER = "ml"
VERSION = "v0.0.42"

# Names, hardware, and the GPUs of each node. Letters: h usual, t two threads per core, m AMD, i MIG, x both kinds,
# u and v alike but for the number of GPUs, n without a type, c and d without GPUs.
NODES: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("h[1-4]", "Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=256000", {"h100": 4}),
    ("t[1-2]", "Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=256000", {"a100": 4}),
    ("m[1-2]", "Sockets=2 CoresPerSocket=48 ThreadsPerCore=1 RealMemory=1500000", {"mi300x": 8}),
    ("i[1-2]", "Sockets=1 CoresPerSocket=28 ThreadsPerCore=1 RealMemory=128000", {"1g.10gb": 7}),
    ("x1", "Sockets=1 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=256000", {"h100": 2, "1g.10gb": 7}),
    ("u1", "Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=64000", {"l40s": 2}),
    ("v1", "Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=64000", {"l40s": 4}),
    ("n[1-2]", "Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=6000", {"": 2}),
    ("c[1-4]", "Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=64000", {}),
    ("d1", "Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=24000", {}),
)
PARTITIONS = (
    *(f"PartitionName={name} Nodes={name}[1-{count}]" for name, count in (("h", 4), ("t", 2), ("m", 2), ("i", 2))),
    *("PartitionName=x Nodes=x1", "PartitionName=uv Nodes=u1,v1", "PartitionName=n Nodes=n[1-2]"),
    *("PartitionName=c Nodes=c[1-4]", "PartitionName=cd Nodes=c[1-4],d1", "PartitionName=ch Nodes=c[1-4],h[1-4]"),
    "PartitionName=whole Nodes=h[1-4] OverSubscribe=EXCLUSIVE",
    "PartitionName=share Nodes=h[1-4] DefCpuPerGPU=8 DefMemPerGPU=60000",
)
FORMS = (
    # without GPUs
    "-p c",
    "-p c -N2",
    "-p c -N2 --ntasks-per-node=4",
    "-p c -n6",
    "-p c -N2 -n5",
    "-p c -N3 -n7 -c2",
    "-p c -n3 --cpus-per-task=4",
    "-p c -N2 --exclusive",
    "-p c --gpus=0 -c4",
    "-p c --mem=4G",
    "-p c --mem=0",
    "-p c -c3 --mem-per-cpu=700M",
    "-p c -N2 -n5 --mem-per-cpu=1G",
    "-p cd -N5 --exclusive",
    "-p cd -N5 --exclusive --mem=0",
    "-p c -w c[3,1] -N2",
    "-p c -x c2 -N3",
    "-p c --array=3-3",
    # GPUs
    "-p h --gpus=4",
    "-p h --gpus=1",
    "-p h -N2 --gpus=8",
    "-p h -N2 --gpus=h100:8",
    "-p h -N2 --gpus=6",
    "-p h -N1-3 --gpus=8",
    "-p h -N2 --gpus-per-node=4",
    "-p h -N4 --gpus-per-node=h100:4",
    "-p h --gpus-per-node=2",
    "-p h -n8 --gpus-per-task=1",
    "-p h -n2 --gpus-per-task=4",
    "-p h -n4 -c8 --gpus-per-task=h100:1",
    "-p h -N2 --gres=gpu:h100:4",
    "-p h --gres=gpu:4",
    "-p h --gres=gpu:2 --exclusive",
    "-p h --exclusive",
    "-p h -N2 --exclusive --gpus-per-node=4",
    "-p h -N2 --exclusive --gpus-per-node=4 --mem=0",
    "-p whole -N2",
    "-p whole --gpus-per-node=4 -c32",
    "-p h --gpus-per-node=4 --mem-per-gpu=30G",
    "-p h -N2 --gpus-per-node=4 --cpus-per-gpu=6",
    "-p h --gpus-per-socket=2 --sockets-per-node=2 -n2",
    "-p h --gpus=4 --ntasks-per-gpu=2",
    "-p h --gpus-per-node=4 --ntasks-per-node=4 -c8 --mem-per-cpu=2G",
    "-p share --gpus-per-node=4",
    "-p share -N2 --gpus=8 --mem-per-gpu=40G",
    "-p ch -N2 -w c1,h1 --exclusive",
    # two threads per core
    "-p t --gpus-per-node=4",
    "-p t -c3",
    "-p t -n8 --hint=nomultithread",
    "-p t -N2 --exclusive --gpus-per-node=4",
    "-p t -n4 --threads-per-core=1 --gpus-per-node=4",
    # AMD
    "-p m -N2 --gpus-per-node=8 --ntasks-per-node=8 -c12",
    "-p m --gres=gpu:mi300x:8",
    "-p m -N2 --gpus=16",
    "-p m --exclusive",
    # MIG
    "-p i --gres=gpu:1g.10gb:7",
    "-p i --gpus-per-node=1g.10gb:3",
    "-p i -N2 --gpus=14",
    # two kinds on one node
    "-p x --gres=gpu:h100:2",
    "-p x --gres=gpu:1g.10gb:7",
    "-p x --gres=gpu:h100:2,gpu:1g.10gb:7",
    "-p x --exclusive",
    # nodes that are not alike
    "-p uv -N2 --exclusive",
    "-p uv -N2 --gpus=6",
    "-p uv -N2 --gpus-per-node=2",
    # without a type
    "-p n -N2 --gpus-per-node=2",
    "-p n --gres=gpu",
    "-p n -N2 --gpus=2",
)
UNCOUNTED = (
    "-p c -N2",
    "-p c --mem=2G",
    "-p c -N2 -n5 --mem-per-cpu=1G",
    "-p h -N2 --gpus-per-node=4",
    "-p h --exclusive",
)
# fmt: off
KEPT = (
    "account", "array_job_id", "array_task_id", "batch_flag", "batch_host", "comment", "cpus",
    "current_working_directory", "gres_detail", "het_job_id", "job_id", "job_state", "memory_per_cpu",
    "memory_per_node", "name", "node_count", "nodes", "partition", "requeue", "restart_cnt", "standard_output",
    "start_time", "state_reason", "time_limit", "user_id", "user_name",
)
# fmt: on
PROLOG = f"""#!/bin/sh
env | grep ^SLURM > {SEEN}/$SLURM_JOB_ID.$SLURMD_NODENAME.new
mv {SEEN}/$SLURM_JOB_ID.$SLURMD_NODENAME.new {SEEN}/$SLURM_JOB_ID.$SLURMD_NODENAME
"""


def main(kind: str) -> None:
    """Starts the cluster and prints the recordings."""
    names = configure(kind)
    start(names)
    version = output("slurmctld", "-V").strip()
    forms = FORMS if kind == "CR_Core_Memory" else UNCOUNTED
    json.dump([recorded(form, kind, version) for form in forms], sys.stdout)


def configure(kind: str) -> list[str]:
    """Writes the configuration and makes what it names; the names of all nodes."""
    lines, gres, port, names = [], [], 17000, []
    for hosts, hardware, gpus in NODES:
        expanded = expand(hosts)
        ports = f"{port}-{port + len(expanded) - 1}"
        port += len(expanded)
        asked = ",".join(f"gpu:{name}:{count}" if name else f"gpu:{count}" for name, count in gpus.items())
        lines.append(
            f"NodeName={hosts} NodeHostname=ctld NodeAddr=127.0.0.1 Port=[{ports}] {hardware}"
            + (f" Gres={asked}" if asked else "")
        )
        first = 0
        for name, count in gpus.items():
            kind_of = f" Type={name}" if name else ""
            gres.append(f"NodeName={hosts} Name=gpu{kind_of} File=/dev/fakegpu[{first}-{first + count - 1}]")
            first += count
        names += expanded
    for number in range(16):
        os.mknod(f"/dev/fakegpu{number}", 0o20666, os.makedev(1, 3))
    settings = {
        "ClusterName": "forms",
        "SlurmctldHost": "ctld",
        "SlurmUser": "slurm",
        "AuthType": "auth/munge",
        "StateSaveLocation": "/var/spool/slurmctld",
        "SlurmdSpoolDir": "/var/spool/slurmd/%n",
        "SlurmdPidFile": "/run/slurmd-%n.pid",
        "SlurmctldPidFile": "/run/slurmctld.pid",
        "SlurmctldLogFile": "/var/log/slurmctld.log",
        "SlurmdLogFile": "/var/log/slurmd-%n.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "MpiDefault": "none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": kind,
        "DefMemPerCPU": "1024",
        "GresTypes": "gpu",
        "ReturnToService": "2",
        "SlurmdParameters": "config_overrides",
        "PrologFlags": "Alloc",
        "Prolog": "/etc/slurm/prolog.sh",
        "KillWait": "1",
        "SchedulerParameters": "sched_interval=2,batch_sched_delay=0,bf_interval=2",
    }
    Path("/etc/slurm").mkdir(exist_ok=True)
    conf = [f"{name}={value}" for name, value in settings.items()] + lines + list(PARTITIONS)
    Path("/etc/slurm/slurm.conf").write_text("\n".join(conf) + "\n")
    Path("/etc/slurm/gres.conf").write_text("\n".join(gres) + "\n")
    Path("/etc/slurm/cgroup.conf").write_text("CgroupPlugin=disabled\n")
    Path("/etc/slurm/prolog.sh").write_text(PROLOG)
    Path("/etc/slurm/prolog.sh").chmod(0o755)
    return names


def start(names: list[str]) -> None:
    """munge, slurmctld, a slurmd for each node, slurmrestd; until all nodes are idle."""
    owners: dict[str | Path, str] = {
        "/var/spool/slurmctld": "slurm",
        "/run/munge": "munge",
        SEEN: "root",
        Path(SOCKET).parent: USER,
    }
    for directory, owner in owners.items():
        Path(directory).mkdir(parents=True, exist_ok=True)
        subprocess.run(["chown", owner, directory], check=True)
    key = Path("/etc/munge/munge.key")
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    subprocess.run(["chown", "munge", key], check=True)
    subprocess.run(["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged"], check=True)
    subprocess.run(["slurmctld"], check=True, stdout=sys.stderr)
    for name in names:
        Path(f"/var/spool/slurmd/{name}").mkdir(parents=True)
        subprocess.run(["slurmd", "-N", name], check=True, stdout=sys.stderr)
    environment = {**os.environ, "SLURMRESTD_SECURITY": "disable_unshare_sysv,disable_unshare_files"}
    as_user = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"]
    words = [*as_user, "slurmrestd", "-a", "rest_auth/local", "-s", "slurmctld", "-d", VERSION, f"unix:{SOCKET}"]
    subprocess.Popen(words, env=environment, stdout=sys.stderr, stderr=subprocess.DEVNULL)
    await_true(lambda: set(output("sinfo", "-h", "-o", "%T").split()) == {"idle"}, "idle nodes")
    await_true(Path(SOCKET).exists, "slurmrestd")


def recorded(form: str, kind: str, version: str) -> dict[str, Any]:
    """One job of this form."""
    words = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"]
    submit = ["sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", "-J", "train", "--comment", "k8s=job.yaml"]
    number = output(*words, *submit, *shlex.split(form), "--wrap", "sleep 600").strip()
    job = await_true(lambda: running(number), f"{form}: a running job")
    nodes = expand(job["nodes"])
    files = {node: SEEN / f"{job['job_id']}.{node}" for node in nodes}
    await_true(lambda: all(file.exists() for file in files.values()), f"{form}: prologs")
    details = output("scontrol", "show", "job", "--details", str(job["job_id"]))
    output("scancel", number)
    await_true(lambda: set(output("sinfo", "-h", "-o", "%T").split()) == {"idle"}, f"{form}: idle nodes")
    resources = job.get("job_resources") or {}
    return {
        "form": form,
        "version": version,
        "select": kind,
        "job": {name: job[name] for name in KEPT} | {"job_resources": lean(resources)},
        "prologs": {node: environment(file) for node, file in files.items()},
        "details": re.findall(r"^\s+(Nodes=.* CPU_IDs=.*)$", details, re.MULTILINE),
    }


def lean(resources: dict[str, Any]) -> dict[str, Any]:
    """The allocation without its sockets and cores."""
    nodes = resources.get("nodes") or {}
    each = [{name: node[name] for name in ("name", "cpus", "memory")} for node in nodes.get("allocation") or []]
    return {"nodes": {"list": nodes.get("list"), "allocation": each}} if nodes else {}


def environment(file: Path) -> dict[str, str]:
    """What a prolog saw."""
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def running(number: str) -> dict[str, Any] | None:
    """slurmrestd's word on the job, once it runs; of an array its one element."""
    words = ["curl", "-s", "--unix-socket", SOCKET, f"http://localhost/slurm/{VERSION}/job/{number}"]
    as_user = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"]
    jobs = json.loads(output(*as_user, *words))["jobs"]
    return next((job for job in jobs if "RUNNING" in job["job_state"]), None)


def expand(hosts: str) -> list[str]:
    """The names of a host list."""
    if not Path("/run/slurmctld.pid").exists():
        match = re.fullmatch(r"(\w+)\[(\d+)-(\d+)\]", hosts)
        return [f"{match[1]}{n}" for n in range(int(match[2]), int(match[3]) + 1)] if match else [hosts]
    return output("scontrol", "show", "hostnames", hosts).split()


def output(*words: str) -> str:
    """What a command prints."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def await_true(look: Any, what: str) -> Any:
    """The first true answer."""
    for _ in range(300):
        answer = look()
        if answer:
            return answer
        time.sleep(0.1)
    nodes, jobs = output("sinfo", "-N", "-o", "%N %T %E"), output("squeue")
    raise SystemExit(f"not within half a minute: {what}\n{nodes}{jobs}")


if __name__ == "__main__":
    pwd.getpwnam(USER)
    main(sys.argv[1])
