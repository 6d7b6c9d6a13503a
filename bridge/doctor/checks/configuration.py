"""bridge.toml."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import Check, Told, clause
from bridge.doctor.files import FileFacts, seen
from bridge.doctor.place import Place
from bridge.errors import ConfigError
from bridge.messages import doctor as messages

_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Configuration:
    """``fault`` is why it cannot be read, '' when it can."""

    file: FileFacts
    fault: str = ""


def look(place: Place) -> Configuration:
    fault = ""
    try:
        _ = place.site
    except ConfigError as error:
        fault = clause(error)
    return Configuration(seen(place.config_file), fault)


def judge(facts: Configuration) -> Iterator[Told]:
    if facts.fault:
        yield messages.CONFIG_BAD.told(fault=facts.fault)
    if facts.file.kind and (facts.file.owner != "root" or facts.file.mode & _OTHERS_WRITE):
        shown = f"owner {facts.file.owner}, mode {facts.file.mode:04o}"
        yield messages.CONFIG_OPEN.told(path=facts.file.path, shown=shown)


CHECK = Check("configuration", "bridge.toml is whole, and only root can change it", look, judge)
