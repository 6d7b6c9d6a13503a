"""bridgectl node, against an API server that hands out tokens."""

import time
from pathlib import Path

import pytest

from bridge.cli.main import main
from bridge.kube import kubeconfig
from tests.fakes.httpserver import Reply, ScriptedServer
from tests.unit.kube.test_kubeconfig import bound

_NOW = int(time.time())
_FRESH = bound(issued=_NOW - 60, expires=_NOW + 86_400)
_OLD = bound(issued=_NOW - 80_000, expires=_NOW + 6_400)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


@pytest.fixture
def config(tmp_path: Path, file: Path) -> str:
    text = f'[cluster]\nname = "c"\ntag = "c"\n[kubernetes]\nkubeconfig = "{file}"\n'
    path = tmp_path / "bridge.toml"
    path.write_text(text + '[pod]\nmax_cpus = 1\nmax_memory = "1Gi"\n')
    return str(path)


def renewed(file: Path, config: str, token: str, *answers: Reply, options: tuple[str, ...] = ()) -> int:
    """Exit code of a renewal, with this token before it."""
    with ScriptedServer() as server:
        server.answers(*answers)
        kubeconfig.replace(file, kubeconfig.written(server.url, "", token))
        code = main(["node", "renew", "--config", config, *options])
        assert not server.script
    return code


def test_a_fresh_token_is_left_alone(file: Path, config: str) -> None:
    assert renewed(file, config, _FRESH) == 0
    assert kubeconfig.bearer(file) == kubeconfig.claims(_FRESH)


@pytest.mark.parametrize(("token", "options"), [(_OLD, ()), (_FRESH, ("--now",))])
def test_an_old_token_makes_place_for_a_new_one(file: Path, config: str, token: str, options: tuple[str, ...]) -> None:
    new = bound(issued=_NOW, expires=_NOW + 86_400)
    assert renewed(file, config, token, Reply({"status": {"token": new}}, 201), options=options) == 0
    assert kubeconfig.bearer(file) == kubeconfig.claims(new)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Reply({"kind": "Status", "reason": "Forbidden", "message": "no"}, 403), "[renewal-refused]"),
        (Reply({"kind": "Status", "reason": "Unauthorized", "message": "no"}, 401), "[renewal-refused]"),
        (Reply({}, 201), "[renewal-refused]"),
    ],
)
def test_an_old_token_stays_where_there_is_no_new_one(
    file: Path, config: str, capsys: pytest.CaptureFixture[str], answer: Reply, said: str
) -> None:
    answers = (answer, answer) if answer.status == 401 else (answer,)  # the credential is read again once
    assert renewed(file, config, _OLD, *answers) == 75
    assert kubeconfig.bearer(file) == kubeconfig.claims(_OLD)
    assert said in capsys.readouterr().err
