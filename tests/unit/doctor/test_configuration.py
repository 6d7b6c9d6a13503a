"""bridge.toml."""

from pathlib import Path

from bridge.doctor.checks.configuration import CHECK, Configuration
from bridge.doctor.files import FileFacts
from bridge.doctor.place import Place

from .given import judged

GOOD = FileFacts("/etc/slurm-k8s-bridge/bridge.toml", "file", "root", "root", 0o644)


def test_it_is_whole_and_roots() -> None:
    assert judged(CHECK, Configuration(GOOD)) == []
    assert judged(CHECK, Configuration(FileFacts(GOOD.path, "file", "root", "ml", 0o664))) == ["config-open"]
    assert judged(CHECK, Configuration(FileFacts(GOOD.path, "file", "ml", "ml", 0o644))) == ["config-open"]


def test_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    found = CHECK.look(Place(file, root=tmp_path))
    assert "config-unreadable" in found.fault and judged(CHECK, found) == ["config-bad"]
    file.write_text("[cluster]\nname = 7\n")
    found = CHECK.look(Place(file, root=tmp_path))
    assert "cluster.name" in found.fault and "config-bad" in judged(CHECK, found)
