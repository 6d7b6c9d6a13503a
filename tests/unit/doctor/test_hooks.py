"""The hook programs."""

from dataclasses import replace
from pathlib import Path

from bridge.doctor.checks.hooks import CHECK, Hooks
from bridge.doctor.files import FileFacts
from bridge.errors import BridgeError

from .given import CONFIG, UNKNOWN, Somewhere, judged

_FILES = {name: f"/etc/slurm/{name.lower()}.d/50-slurm-k8s-bridge" for name in ("Prolog", "Epilog")}
GOOD = Hooks(
    {name: FileFacts(path, "file", "root", "root", 0o755) for name, path in _FILES.items()},
    FileFacts("/usr/lib/slurm-k8s-bridge/bridge/hook/__main__.py", "file", "root", "root", 0o644),
    {"Prolog": ("/etc/slurm/prolog.d/*",), "Epilog": ("/etc/slurm/epilog.d/*",)},
)


def _with(name: str, file: FileFacts) -> Hooks:
    return replace(GOOD, files={**GOOD.files, name: file})


def test_they_are_there_roots_executable_and_called() -> None:
    path = _FILES["Prolog"]
    assert judged(CHECK, GOOD) == []
    assert judged(CHECK, _with("Prolog", FileFacts(path))) == ["hook-missing"]
    assert judged(CHECK, _with("Prolog", FileFacts(path, "file", "root", "root", 0o644))) == ["hook-not-run"]
    assert judged(CHECK, _with("Prolog", FileFacts(path, "file", "root", "root", 0o775))) == ["hook-open"]
    assert judged(CHECK, _with("Prolog", FileFacts(path, "file", "ml", "root", 0o755))) == ["hook-open"]
    assert (
        judged(CHECK, replace(GOOD, patterns={"Prolog": ("/etc/slurm/prolog.sh",), "Epilog": ()}))
        == ["hook-uncalled"] * 2
    )
    assert judged(CHECK, replace(GOOD, patterns=None, unasked="slurmctld")) == [UNKNOWN + "slurm-unasked"]


def test_it_looks_where_slurmd_does(tmp_path: Path) -> None:
    place = Somewhere(tmp_path)
    place.says = {"scontrol show config": CONFIG}
    found = CHECK.look(place)
    assert found.patterns == GOOD.patterns and judged(CHECK, found) == ["hook-missing"] * 3
    silent = Somewhere(tmp_path)
    silent.says = {"scontrol show config": BridgeError("no answer")}
    assert judged(CHECK, CHECK.look(silent))[-1] == UNKNOWN + "slurm-unasked"
