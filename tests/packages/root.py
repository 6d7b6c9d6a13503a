"""A Debian 13 in a folder, in which packages are installed as on a node that has not booted."""

import os
import shutil
import subprocess
from pathlib import Path

from packer.source import NAME

_OUTSIDE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
_LEFT = (f"etc/{NAME}", f"var/lib/{NAME}", f"run/{NAME}", f"usr/lib/{NAME}")


class Root:
    """Needs to be made by root: chroot, and files of other owners."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ensure(self) -> None:
        """Have it made, once for all tests of this machine."""
        if not (self.folder / "complete").exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            words = ["debootstrap", "--variant=minbase", "--include=python3,systemd", "trixie", str(self.folder)]
            subprocess.run(words, check=True)
            (self.folder / "complete").touch()

    def clear(self) -> None:
        """Take away what a test that failed has left."""
        shutil.rmtree(self.folder / "var/lib" / NAME, ignore_errors=True)
        if self.run("dpkg-query", "-s", NAME, check=False).returncode == 0:
            self.run("dpkg", "--purge", NAME)
        if self.rpm("--query", NAME, check=False).returncode == 0:
            self.rpm("--erase", NAME)
        for name in _LEFT:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self.run("userdel", NAME, check=False)

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command in it; stdout and stderr are one."""
        return _run(["chroot", str(self.folder), *words], check=check)

    def started(self, *words: str) -> subprocess.Popen[str]:
        """A program in it that goes on, with a /proc of its own; stdout and stderr are one."""
        mounted = 'mount -t proc proc /proc && exec "$@"'
        command = ["unshare", "--mount", "chroot", str(self.folder), "sh", "-c", mounted, "sh", *words]
        return subprocess.Popen(command, env=_OUTSIDE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def rpm(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """This machine's rpm on it. Its database knows no package but ours, so nothing that ours requires."""
        return _run(["rpm", "--root", str(self.folder), *words], check=check)

    def take_in(self, file: Path) -> str:
        """Copy a file into it; its path there."""
        shutil.copy2(file, self.folder / "tmp" / file.name)
        return f"/tmp/{file.name}"

    def interpreter(self, version: str, prefix: Path) -> None:
        """Have this machine's Python of that version, which lies below ``prefix``, under the name that EL gives it."""
        name = f"python{version}"
        if not self.has(f"usr/bin/{name}"):
            shutil.copytree(prefix, self.folder / prefix.relative_to("/"), symlinks=True, dirs_exist_ok=True)
            (self.folder / "usr/bin" / name).symlink_to(prefix / "bin" / name)

    def lay(self, name: str) -> None:
        """An empty file, with its folders."""
        self.write(name, "")

    def write(self, name: str, text: str) -> None:
        """A file, with its folders."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def has(self, name: str) -> bool:
        """Whether there is such a file, link or folder."""
        return os.path.lexists(self.folder / name)

    def enabled(self) -> set[str]:
        """Units that the next boot would start."""
        return {path.name for path in (self.folder / "etc/systemd/system").glob(f"*.wants/{NAME}*")}


def prefix_of(version: str) -> Path | None:
    """Where this machine has a Python of that version, pyenv's among them; None where it has none."""
    name = f"python{version}"
    found = [shutil.which(name), *Path.home().glob(f".pyenv/versions/{version}.*/bin/{name}")]
    for program in filter(None, found):
        # pyenv's own program of that name ends with 127 where no version was chosen.
        asked = _run([str(program), "-c", "import sys; print(sys.base_prefix)"], check=False)
        if asked.returncode == 0:
            return Path(asked.stdout.strip())
    return None


def _run(words: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words, env=_OUTSIDE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert not check or done.returncode == 0, done.stdout
    return done
