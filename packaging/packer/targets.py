"""The systems that packages are made for. Wheels with compiled parts fit one Python on one architecture."""

from dataclasses import dataclass
from typing import Literal

from packer.errors import PackerError


@dataclass(frozen=True)
class Target:
    """``python``: minor version of the distribution's interpreter; ``mark``: what tells its package from the others."""

    name: str
    form: Literal["deb", "rpm"]
    python: str
    mark: str

    @property
    def interpreter(self) -> str:
        """The program that the package requires."""
        return f"/usr/bin/python{self.python}"


@dataclass(frozen=True)
class Architecture:
    """One machine in the words of wheels and rpm, and in Debian's."""

    name: str
    debian: str

    @property
    def platforms(self) -> tuple[str, ...]:
        """Tags of the wheels that run with glibc 2.28, which the oldest target has."""
        return tuple(f"{tag}_{self.name}" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014"))


TARGETS = (
    Target("bookworm", "deb", "3.11", "+deb12"),
    Target("trixie", "deb", "3.13", "+deb13"),
    Target("noble", "deb", "3.12", "+ubuntu24.04"),
    Target("el8", "rpm", "3.12", ".el8"),
    Target("el9", "rpm", "3.12", ".el9"),
    Target("el10", "rpm", "3.12", ".el10"),
)
ARCHITECTURES = (Architecture("x86_64", "amd64"), Architecture("aarch64", "arm64"))


def targets(form: str, names: list[str]) -> list[Target]:
    """Those of a form, or those of them that are named. Raises PackerError for a name that none has."""
    of_form = [target for target in TARGETS if target.form == form]
    known = {target.name: target for target in of_form}
    for name in names:
        if name not in known:
            raise PackerError(f"there is no {form} for {name}", f"TARGETS takes {', '.join(known)}")
    return [known[name] for name in names] or of_form


def architecture(name: str) -> Architecture:
    """By its name. Raises PackerError."""
    for known in ARCHITECTURES:
        if name in (known.name, known.debian):
            return known
    raise PackerError(f"there is no package for {name}", "ARCH takes x86_64 and aarch64")
