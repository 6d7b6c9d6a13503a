"""`bridgectl submit`: a training as one command. Spec and batch script are written, so that the next time they can be
changed and given to sbatch; sbatch itself decides about the job."""

import argparse
import os
import stat
import sys
from pathlib import Path

from bridge.cli import follow, rehearsal, slurm, written
from bridge.cli.main import add_config
from bridge.commands import run
from bridge.errors import BridgeError, Misused
from bridge.messages import submission as messages

_SECONDS = 60.0  # for sbatch, which waits for slurmctld
_FILES = 1000  # of one name, after which another name has to be chosen


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Its own options; all others are sbatch's."""
    verb.usage = "bridgectl submit --image IMAGE [OPTION…] [any option of sbatch] -- COMMAND [ARGUMENT…]"
    verb.allow_abbrev = False
    verb.add_argument("--image", required=True, metavar="IMAGE", help="what the containers are made from")
    verb.add_argument(
        "--export", type=_names, default=(), metavar="NAME[,NAME]", help="variables that keep the value they have now"
    )
    verb.add_argument(
        "--volume",
        action="append",
        default=[],
        type=_volume,
        metavar="NAME[:PATH]",
        help="a volume of the site, as bridge.toml names it; may be repeated",
    )
    verb.add_argument("--workdir", default="", metavar="PATH", help="where the command starts; the image's own place")
    verb.add_argument("--follow", action="store_true", help="show state and output until the job's end, its exit code")
    add_config(verb)
    verb.set_defaults(command=submit, takes_others=True)


def submit(options: argparse.Namespace) -> int:
    """Write both files, call sbatch, print the job's id; with --follow its exit code. 1, and nothing written, where the
    prolog would refuse it."""
    if word := written.stray(options.others):
        raise Misused(messages.COMMAND_STRAY.sentence(word=word))
    given = _named(options.others, options.words)
    spec, script = _free_files(options, given)
    reasons = rehearsal.refusals(*spec, given, options.config)
    if reasons:
        rehearsal.say("refused", reasons)
        return rehearsal.REFUSED
    for path, text in (spec, script):
        _put(path, text)
    number = _sbatch(written.with_token(given, spec[0].name), script[0])
    print(number, flush=True)
    print(f"bridgectl: {messages.SUBMITTED.format(spec=spec[0], script=script[0])}", file=sys.stderr, flush=True)
    return follow.follow(int(number)) if options.follow else 0


def _named(given: list[str], command: list[str]) -> list[str]:
    """sbatch's options, with a name for the job, which its files have, too."""
    if written.value_of(given, "--job-name", "-J"):
        return given
    return [f"--job-name={written.name_of('', command)}", *given]


def _free_files(options: argparse.Namespace, given: list[str]) -> tuple[tuple[Path, str], tuple[Path, str]]:
    """Spec and script, path and text, under the first of name, name-2, name-3, … whose files are not there or just the
    same. Raises Misused where there is none."""
    directory = Path(written.value_of(given, "--chdir", "-D") or ".")
    name = written.name_of(written.value_of(given, "--job-name", "-J"), options.words)
    env = _environment(options.export)
    more = {"workingDir": options.workdir, "volumes": options.volume}
    for number in range(1, _FILES):
        stem = name if number == 1 else f"{name}-{number}"
        spec, script = directory / f"{stem}.yaml", directory / f"{stem}.sh"
        spec_text = written.spec_text((spec.name, script.name), options.image, options.words, env, more)
        script_text = written.script_text(written.with_token(given, spec.name))
        if _is_free(spec, spec_text) and _is_free(script, script_text):
            return (spec, spec_text), (script, script_text)
    raise Misused(messages.NAMES_TAKEN.sentence(name=name, directory=directory))


def _is_free(file: Path, text: str) -> bool:
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return False
        return file.read_text(encoding="utf-8", errors="replace") == text
    except FileNotFoundError:
        return True
    except OSError as error:
        raise BridgeError(messages.SPEC_UNWRITTEN.sentence(path=file, why=error.strerror)) from error


def _put(file: Path, text: str) -> None:
    """Whole or not at all."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        if file.suffix == ".sh":
            temporary.chmod(temporary.stat().st_mode | stat.S_IXUSR)
        temporary.rename(file)
    except OSError as error:
        raise BridgeError(messages.SPEC_UNWRITTEN.sentence(path=file, why=error.strerror)) from error


def _environment(names: tuple[str, ...]) -> dict[str, str]:
    """Raises Misused for one that is not set."""
    for name in names:
        if name not in os.environ:
            raise Misused(messages.EXPORT_UNSET.sentence(name=name))
    return {name: os.environ[name] for name in names}


def _sbatch(given: list[str], script: Path) -> str:
    """The job's number. The options stand in the script, too, and here once more: those of a command line come before
    the variables SBATCH_*."""
    done = run(["sbatch", "--parsable", *given, str(script)], _SECONDS, whole=True)
    number = done.stdout.strip().partition(";")[0]
    if done.returncode or not number.isdigit():
        raise BridgeError(messages.SBATCH_REFUSED.sentence(said=slurm.first_line(done.stderr), script=script))
    return number


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not all(name.isidentifier() and name.isascii() for name in names):
        raise argparse.ArgumentTypeError(messages.EXPORT_UNLIKE.sentence(given=repr(text[:80])))
    return names


def _volume(text: str) -> str | dict[str, str]:
    name, colon, path = text.partition(":")
    return {"name": name, "mountPath": path} if colon else name
