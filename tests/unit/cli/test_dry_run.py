"""What `bridgectl check` makes of the words of kubectl: the stack's tests see the same of a real API server."""

import json
from pathlib import Path

import pytest

from bridge.cli import dry_run
from bridge.cli.main import main

from .golden import HERE, SITE, as_ada
from .login import Login

_TAKEN = "pytorchjob.kubeflow.org/slurm-demo-1-0\npod/slurm-demo-1-0-worker-0\n"
_QUOTA = (
    'Error from server (Forbidden): error when creating "STDIN": pods "slurm-demo-1-0-worker-0" is forbidden: '
    "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0\n"
)
_RBAC = (
    'Error from server (Forbidden): error when creating "STDIN": pods is forbidden: User "ml" cannot create resource '
    '"pods" in API group "" in the namespace "slurm-jobs"\n'
)
_FIELD = (
    'Error from server (BadRequest): error when creating "STDIN": PyTorchJob in version "v1" cannot be handled as a '
    'PyTorchJob: strict decoding error: unknown field "spec.pytorchReplicaSpecs.Worker.template.spec.gates"\n'
)
_POLICY = (
    "The pods \"slurm-demo-1-0-worker-0\" is invalid: : ValidatingAdmissionPolicy 'site' with binding 'site' denied "
    "request: no\n"
)


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Login:
    """With a kubeconfig in the home of whoever is there."""
    login = Login(tmp_path, monkeypatch)
    (login.home / ".kube").mkdir()
    (login.home / ".kube" / "config").touch()
    return login


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code and what is said."""
    with as_ada():
        code = main(["check", str(HERE / "container-job.job.yaml"), *words, *SITE])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_what_it_would_take_is_told(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    login.has("kubectl", f"cat >{login.home}/given; echo $@ >{login.home}/words; printf '{_TAKEN}'")
    code, out, err = checked(capsys)
    assert (code, err) == (0, "")
    assert out.endswith(
        "Kubernetes would take the PyTorchJob and its pods\nit would run: every field is kept, set or "
        "translated as said above\n"
    )
    assert "--dry-run=server" in (login.home / "words").read_text()
    workload, pod = json.loads((login.home / "given").read_text())["items"]
    template = workload["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    assert (pod["kind"], pod["metadata"]["namespace"]) == ("Pod", workload["metadata"]["namespace"])
    assert pod["metadata"]["labels"] == template["metadata"]["labels"]
    assert pod["spec"]["containers"] == template["spec"]["containers"]


def test_a_refusal_is_one_of_the_spec(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    (login.home / "said").write_text(_QUOTA)
    login.has("kubectl", f"cat >/dev/null; cat {login.home}/said >&2; exit 1")
    code, out, err = checked(capsys)
    assert (code, out) == (1, "")
    assert err.startswith("refused: Kubernetes refuses the pods: pods ") and "exceeded quota: none" in err
    assert json.loads(checked(capsys, "-o", "json")[1])["runs"] is False
    assert checked(capsys, "--offline")[0] == 0


@pytest.mark.parametrize(
    ("complaint", "reason"),
    [(_QUOTA, "exceeded quota"), (_FIELD, "does not know a field of the spec"), (_POLICY, "denied request: no")],
)
def test_what_the_spec_is_to_blame_for(complaint: str, reason: str) -> None:
    said = dry_run.heard("", complaint)
    assert not said.takes and not said.notes
    (told,) = said.reasons
    assert reason in told and "STDIN" not in told


@pytest.mark.parametrize(
    ("complaint", "note"),
    [
        (_RBAC, "not asked about the pods: your account may not create any there"),
        ("error: You must be logged in to the server (Unauthorized)\n", "You must be logged in"),
        ("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout\n", "Unable to connect"),
        ("panic: of a plugin\ngoroutine 1\n", "panic: of a plugin goroutine 1"),
    ],
)
def test_what_the_spec_is_not_to_blame_for(complaint: str, note: str) -> None:
    said = dry_run.heard("", complaint)
    assert not said.takes and not said.reasons
    (told,) = said.notes
    assert note in told


def test_both_complaints_are_told() -> None:
    said = dry_run.heard("pytorchjob.kubeflow.org/slurm-demo-1-0\n", _RBAC + _QUOTA)
    assert (said.takes, len(said.reasons), len(said.notes)) == (("the PyTorchJob",), 1, 1)


def test_one_that_does_not_answer(
    login: Login, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dry_run, "_SECONDS", 0.2)
    login.has("kubectl", "exec sleep 60")
    code, out, _err = checked(capsys)
    assert code == 0
    assert "note: Kubernetes did not answer within" in out


def test_nobody_is_asked_without_a_kubeconfig_or_a_kubectl(
    login: Login, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(login.home.parent / "bin"))
    assert "Kubernetes" not in checked(capsys)[1]
    login.has("kubectl", "exit 1")
    (login.home / ".kube" / "config").unlink()
    assert "Kubernetes" not in checked(capsys)[1]
