"""The distributions' own checks; what stays is named, with its reason, in packaging/deb and packaging/rpm."""

import subprocess
from pathlib import Path

from packer import source


def test_lintian_is_content(debs: tuple[Path, Path]) -> None:
    words = ["lintian", "--allow-root", "--fail-on", "error,warning", str(debs[0])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    # An override that answers nothing any more is a warning, too.
    assert done.returncode == 0, done.stdout


def test_rpmlint_is_content(rpms: tuple[Path, Path]) -> None:
    words = ["rpmlint", "--config", str(source.PACKAGING / "rpm" / "rpmlint.toml"), str(rpms[0])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "0 errors, 0 warnings" in done.stdout, done.stdout
