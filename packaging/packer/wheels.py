"""The daemon's libraries: wheels brought by their hashes, unpacked, and what each says of itself."""

import hashlib
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from packer import lock, pip, source, trim
from packer.errors import PackerError
from packer.targets import Architecture

_LICENCE_FILES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS")


@dataclass(frozen=True)
class Library:
    """One wheel. ``licence`` as its author writes it, an SPDX expression in newer ones; ``sha256`` of the wheel."""

    name: str
    version: str
    licence: str
    homepage: str
    sha256: str
    licence_files: tuple[str, ...]  # below site-packages


def bring(python: str, machine: Architecture, cache: Path) -> list[Path]:
    """The locked wheels, from the cache or else from the index; pip compares the hashes both times."""
    text = source.LOCK.read_bytes()
    folder = cache / hashlib.sha256(text).hexdigest()[:12] / f"{python}-{machine.name}"
    done = folder / ".complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        pip.download(python, machine, folder, ["--no-deps", "--require-hashes", "--requirement", str(source.LOCK)])
        done.touch()
    return sorted(folder.glob("*.whl"))


def unpack(wheels: list[Path], site: Path) -> list[Library]:
    """Into site-packages, less what is left out. Raises PackerError for a wheel that the lock does not know."""
    pins = lock.read(source.LOCK.read_text())
    libraries = [_unpacked(wheel, site) for wheel in wheels]
    for library in libraries:
        pin = pins.pop(library.name, None)
        if pin is None or library.sha256 not in pin.hashes:
            raise PackerError(f"the wheel of {library.name} is not the locked one", "remove the cache, and build again")
    if pins:
        raise PackerError(f"the lock names {', '.join(sorted(pins))}, and pip brought none", "make lock")
    return libraries


def _unpacked(wheel: Path, site: Path) -> Library:
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(name for name in archive.namelist() if not name.endswith("/") and not trim.is_left_out(name))
        for name in names:
            if ".data/" in name.partition("/")[0] + "/" or ".." in name.split("/"):
                raise PackerError(f"{wheel.name} has {name}, which belongs nowhere", "see what the project changed")
            archive.extract(name, site)
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = HeaderParser().parsestr(archive.read(metadata).decode())
    info = metadata.partition("/")[0]
    # Says which files belong to the wheel and is true no more; nobody uninstalls by it.
    (site / info / "RECORD").unlink()
    return Library(
        name=lock.project(said["Name"]),
        version=said["Version"],
        licence=_licence(said.get_all("Classifier", []), said["License-Expression"], said["License"]),
        homepage=said["Home-page"] or _homepage(said.get_all("Project-URL", [])),
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        licence_files=tuple(name for name in names if name.startswith(info) and _is_licence(name)),
    )


def _is_licence(name: str) -> bool:
    return name.rpartition("/")[2].upper().startswith(_LICENCE_FILES)


def _licence(classifiers: list[str], expression: str | None, text: str | None) -> str:
    """The expression, else the one line of an older project, else its classifiers."""
    if expression:
        return expression
    classified = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    if text and "\n" not in text.strip() and len(text) < 80:
        return text.strip()
    return " and ".join(classified) or "not said"


def _homepage(urls: list[str]) -> str:
    """The first of the addresses that a project names."""
    return urls[0].partition(", ")[2] if urls else ""
