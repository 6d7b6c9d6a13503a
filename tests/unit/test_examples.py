"""The examples that are installed with the package: taken by who reads such files, and whole."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.config import Config, load
from bridge.config.section import Section
from bridge.doctor.checks.slurm_conf import CHECK, facts_of
from bridge.slurm import shown
from tests.unit.doctor.given import judged

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "packaging" / "examples"
SLURM_CONF = (EXAMPLES / "slurm.conf").read_text()
BRIDGE_TOML = (EXAMPLES / "bridge.toml").read_text()
OPENED = re.sub(r"^#(?=[\[a-z])", "", BRIDGE_TOML, flags=re.MULTILINE)
_OF_A_TIER = {"service_user", "service_token_file"}  # which the tier that is shown may not have


def settings(text: str) -> dict[str, str]:
    """The lines of a slurm.conf."""
    return dict(re.findall(r"^(\w+)=(\S+)", text, re.MULTILINE))


def loaded(text: str, folder: Path) -> Config:
    file = folder / "bridge.toml"
    file.write_text(text)
    return load(file)


def test_slurm_conf_is_what_doctor_wants(tmp_path: Path) -> None:
    as_scontrol_shows = "".join(f"{name} = {value}\n" for name, value in settings(SLURM_CONF).items())
    given = shown.settings("ClusterName = alps\n" + as_scontrol_shows)
    assert judged(CHECK, facts_of(given, loaded(BRIDGE_TOML, tmp_path))) == []


def test_slurm_conf_is_readmes() -> None:
    (text,) = re.findall(r"^```\n(PrologFlags=.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert settings(text).items() <= settings(SLURM_CONF).items()
    assert settings(SLURM_CONF).keys() - settings(text).keys() == {"AuthAltParameters"}


@pytest.mark.parametrize("text", [BRIDGE_TOML, OPENED], ids=["as it is", "with every key"])
def test_bridge_toml_is_good(text: str, tmp_path: Path) -> None:
    assert loaded(text, tmp_path).cluster.tag == "alps"


def test_bridge_toml_has_every_key() -> None:
    assert list(_missing(Config, tomllib.loads(OPENED))) == []
    assert all(f"{name} = " in BRIDGE_TOML for name in _OF_A_TIER)


def test_a_key_that_may_be_left_out_shows_its_default(tmp_path: Path) -> None:
    config = loaded(OPENED, tmp_path)
    parts: list[Section] = [config, config.pod, config.gpu, config.timing, config.kubernetes, config.volumes["data"]]
    assert config.slurmrest and config.metrics and config.pod.checkpoints
    parts += [config.slurmrest, config.metrics, config.pod.checkpoints]
    shown_otherwise = [
        name
        for part in parts
        for name, field in type(part).model_fields.items()
        if not (field.is_required() or field.default_factory or isinstance(field.default, Section))
        if field.default and getattr(part, name) != field.default
    ]
    assert shown_otherwise == []


def _missing(model: type[Section], data: dict[str, Any], where: str = "") -> Iterator[str]:
    """The keys of a section, and of those below it, that are not in this data. Profiles are shown by [pod]."""
    for name, field in model.model_fields.items():
        value = data.get(name)
        if value is None:
            yield from [] if name in _OF_A_TIER else [where + name]
        elif name != "profiles" and (below := _section(field.annotation)):
            for one in value if isinstance(value, list) else value.values() if _is_named(field.annotation) else [value]:
                yield from _missing(below, one, f"{where}{name}.")


def _is_named(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is dict


def _section(annotation: Any) -> type[Section] | None:
    """The section that a value of this type has, or has several of."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(filter(None, map(_section, getattr(annotation, "__args__", ()))), None)
