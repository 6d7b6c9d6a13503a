"""The life of an installation on a node: installed, upgraded, taken back, removed, purged, half there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import packages
from .packages import ETC, LIBRARY, STATE, UNIT
from .rows import await_training, in_training
from .specs import SCRIPT_UNTIL_GO, container_job
from .stack import Stack, eventually

_NODE = "compute1"
_ON_IT = ("-N1", f"--nodelist={_NODE}")
_LATER = "99.0.0"
_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "install.md"
_HOOKS = ("/etc/slurm/prolog.d/50-slurm-k8s-bridge", "/etc/slurm/epilog.d/50-slurm-k8s-bridge")


@pytest.fixture(scope="module")
def later(running_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a later version."""
    return packages.package_of_version(running_stack, _LATER, tmp_path_factory.mktemp("later"))


@pytest.fixture
def mended(stack: Stack) -> Iterator[Stack]:
    """A stack whose node is afterwards as it was."""
    with packages.put_back(stack, _NODE):
        yield stack


def test_nodes_have_the_package_and_nothing_else(running_stack: Stack) -> None:
    """All that lies in its places is of the package."""
    assert packages.installed_version(running_stack, _NODE)
    there = running_stack.sh(_NODE, f"find {LIBRARY} -type f ! -name '*.pyc' ! -path '*/__pycache__/*'").split()
    owned = set(running_stack.sh(_NODE, f"dpkg --listfiles {packages.NAME}").split())
    assert there
    assert [name for name in there if name not in owned] == []
    assert set(_HOOKS) <= owned


def test_upgraded_and_taken_back_while_a_job_trains(mended: Stack, later: Path) -> None:
    stack = mended
    now = packages.installed_version(stack, _NODE)
    stack.sh(_NODE, f"echo '# of the site' >>{ETC}/bridge.toml")
    job = in_training(stack, _NODE)
    await_training(stack, job)
    pods, daemon = stack.objects("pods"), stack.main_pid(_NODE)
    packages.install(stack, _NODE, later)
    assert packages.installed_version(stack, _NODE).startswith(_LATER)
    packages.await_daemon(stack, _NODE)
    assert stack.main_pid(_NODE) not in ("0", daemon)
    assert stack.exec(_NODE, "bridgectl", "--version").split()[-1] == _LATER
    assert stack.exec(_NODE, "tail", "-1", f"{ETC}/bridge.toml") == "# of the site\n"
    packages.install(stack, _NODE, packages.own_package(stack))
    packages.await_daemon(stack, _NODE)
    assert packages.installed_version(stack, _NODE) == now
    assert [pod["metadata"]["uid"] for pod in stack.objects("pods")] == [pod["metadata"]["uid"] for pod in pods]
    stack.let_go(job)
    stack.await_end(job)
    assert (stack.state(job), stack.output(job)) == ("COMPLETED", "here\n")


def test_removed_it_leaves_state_and_config_and_slurm_goes_on(mended: Stack) -> None:
    stack = mended
    packages.away(stack, _NODE, "remove")
    assert [path for path in (*_HOOKS, LIBRARY, "/usr/bin/bridgectl") if packages.is_there(stack, _NODE, path)] == []
    for path in (f"{ETC}/bridge.toml", f"{STATE}/credential/kubeconfig", f"{STATE}/journal"):
        assert packages.is_there(stack, _NODE, path), path
    assert packages.state_of(stack, _NODE) != "active"
    foreign = stack.run(None, *_ON_IT, script="echo not ours")
    assert stack.output(foreign) == "not ours\n"
    packages.install(stack, _NODE, packages.own_package(stack))
    # A package starts nothing that was not there before; whoever installs does.
    stack.sh(_NODE, f"systemctl daemon-reload; systemctl start {UNIT}")
    packages.await_daemon(stack, _NODE)
    ours = stack.run(container_job(stack.images["small"], "echo again"), *_ON_IT)
    assert stack.output(ours) == "again\n"


def test_purged_it_leaves_nothing(mended: Stack) -> None:
    said = packages.away(mended, _NODE, "purge")
    paths = (*_HOOKS, LIBRARY, ETC, STATE, "/run/slurm-k8s-bridge", "/usr/share/doc/slurm-k8s-bridge")
    assert [path for path in paths if packages.is_there(mended, _NODE, path)] == [], said
    links = mended.sh(_NODE, "find /etc/systemd -type l -name 'slurm-k8s-bridge*'")
    assert links == ""


def test_without_a_config_it_starts_nothing_drains_nothing_and_says_what_to_do(mended: Stack) -> None:
    stack = mended
    packages.away(stack, _NODE, "purge")
    through = stack.submit(None, *_ON_IT, script=f"echo began; {SCRIPT_UNTIL_GO}; echo ended")
    eventually(lambda: stack.output(through) == "began\n", 30, "a job that runs meanwhile")
    said = packages.install(stack, _NODE, packages.own_package(stack))
    assert f"{ETC}/bridge.toml" in said
    stack.exec("login", "touch", f"{through.directory}/go", user="ml")
    stack.await_ended([through], 60)
    assert stack.output(through) == "began\nended\n"
    # What a boot would do.
    stack.sh(_NODE, "systemctl daemon-reload; systemctl start multi-user.target")
    units = (UNIT, "slurm-k8s-bridge-hook.socket", "slurm-k8s-bridge-user.socket")
    assert [packages.state_of(stack, _NODE, unit) for unit in units] == ["inactive"] * 3
    foreign = stack.run(None, *_ON_IT, script="echo not ours")
    assert stack.output(foreign) == "not ours\n"
    ours = stack.run(container_job(stack.images["small"], "true"), *_ON_IT)
    assert stack.state(ours) == "FAILED"
    assert "node-unconfigured" in stack.output(ours)
    assert set(stack.node_states().values()) == {"idle"}


def test_on_a_node_that_is_half_installed_no_job_of_ours_starts(mended: Stack) -> None:
    """As in the middle of an installation: hooks without their library."""
    stack = mended
    stack.sh(_NODE, f"mv {LIBRARY}/bridge {LIBRARY}/.away")
    foreign = stack.submit(None, *_ON_IT, script="echo not ours")
    stack.await_ended([foreign], 60)
    ours = stack.submit(container_job(stack.images["small"], "echo began"), *_ON_IT)
    eventually(lambda: "drain" in stack.node_states()[_NODE], 60, "a node out of service")
    assert "began" not in stack.output(ours)
    stack.sh(_NODE, f"mv {LIBRARY}/.away {LIBRARY}/bridge")
    stack.exec("slurmctld", "scontrol", "update", f"nodename={_NODE}", "state=resume")
    stack.exec("slurmctld", "scontrol", "release", str(ours.id), check=False)
    stack.await_end(ours, 120)
    assert stack.output(ours).endswith("began\n")


def block(language: str, beginning: str) -> str:
    """The one block of the install page that begins so."""
    (found,) = re.findall(
        rf"^```{language}\n({re.escape(beginning)}.*?)^```$", _PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    return str(found)


def with_the_sites_words(stack: Stack, text: str) -> str:
    """A block with this site's names in the place of the page's."""
    ours = {
        '"alps"': '"demo"',
        "https://slurmrestd.example:6820": "https://slurmrestd:6820",
        "registry.example/pause:3": stack.images["pause"],
        "registry.example/python:3.12": stack.images["train"],
        "max_cpus = 94": "max_cpus = 2",
        "980Gi": "4Gi",
    }
    for theirs, own in ours.items():
        text = text.replace(theirs, own)
    assert "example" not in text
    return text


def test_a_node_set_up_by_the_page_alone_passes_doctor_and_runs_a_job(mended: Stack) -> None:
    """Steps 3 to 7 of docs/how-to/install.md; the stack is what its steps 1 and 2 make."""
    stack, credential = mended, f"{STATE}/credential/kubeconfig"
    packages.away(stack, _NODE, "purge")
    packages.install(stack, _NODE, packages.own_package(stack))
    assert packages.state_of(stack, _NODE) == "inactive"
    enroll = ("bridgectl", "node", "enroll", _NODE, "--server", "https://kube-apiserver:6443")
    kubeconfig = stack.exec("login", *enroll)
    owner = ("-o", packages.NAME, "-g", packages.NAME, "-m", "0600")
    stack.exec(_NODE, "install", *owner, "/dev/stdin", credential, stdin=kubeconfig)
    # What the page leaves to the site: slurmrestd of the stack has a certificate of its own authority.
    stack.exec(_NODE, "install", "-m", "0644", "/stack/node/slurmrestd-ca.pem", f"{ETC}/slurmrestd-ca.pem")
    authority = f'ca_file = "{ETC}/slurmrestd-ca.pem"'
    toml = with_the_sites_words(stack, block("toml", "[cluster]")).replace("[pod]", f"{authority}\n[pod]")
    stack.exec(_NODE, "install", "-m", "0644", "/dev/stdin", f"{ETC}/bridge.toml", stdin=toml)
    assert stack.exec(_NODE, "bridged", "--check-config") == f"{ETC}/bridge.toml: good\n"
    stack.sh(_NODE, block("", "systemctl start").splitlines()[0])
    packages.await_daemon(stack, _NODE)
    doctor = stack.sh(_NODE, "bridgectl doctor; echo exit $?")
    assert doctor.endswith("exit 0\n"), doctor
    directory = stack.new_directory("ml", "first")
    stack.write(f"{directory}/first.yaml", with_the_sites_words(stack, block("yaml", "apiVersion")))
    commands = [line[2:] for line in block("", "$ bridgectl check").splitlines() if line.startswith("$ ")]
    said = stack.exec("login", "sh", "-e", "-c", f"cd {directory}; " + "; ".join(commands), user="ml")
    assert sorted(said.splitlines()[-2:]) == ["rank 0 on compute1", "rank 1 on compute2"]
    stack.await_idle()
