"""Commands of a contract's real side."""

import subprocess


def run(*words: str, stdin: str | None = None) -> str:
    """The standard output of a command."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, input=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
