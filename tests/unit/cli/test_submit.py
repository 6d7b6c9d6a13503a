"""`bridgectl submit`: two files, one sbatch, and with --follow the job to its end."""

import subprocess
from pathlib import Path

import pytest
import yaml

from bridge.cli import follow, written
from bridge.cli.main import main
from bridge.errors import Misused

from .golden import SITE
from .login import Login

WORDS = (
    "submit",
    "--image",
    "r/x:1",
    "-N",
    "2",
    "--gpus-per-node=8",
    "--",
    "torchrun",
    "/opt/train.py",
    "--epochs",
    "3",
)


@pytest.fixture
def here(login: Login, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working directory, and an sbatch that notes what it is given."""
    directory = tmp_path / "work"
    directory.mkdir()
    monkeypatch.chdir(directory)
    login.has("sbatch", f'printf "%s\\n" "$@" >{login.home}/given; env >{login.home}/env; echo "7;demo"')
    return directory


def given(login: Login) -> list[str]:
    """sbatch's words."""
    return (login.home / "given").read_text().splitlines()


def test_spec_and_script_are_written_and_given_to_sbatch(
    login: Login, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(WORDS)) == 0
    said = capsys.readouterr()
    assert said.out == "7\n"
    assert said.err == "bridgectl: wrote train.yaml and train.sh; `sbatch train.sh` submits them again\n"
    options = ["--job-name=train", "-N", "2", "--gpus-per-node=8", "--comment=k8s=train.yaml"]
    assert given(login) == ["--parsable", *options, "train.sh"]
    assert (here / "train.sh").read_text().splitlines()[2:] == [
        "#SBATCH --job-name=train",
        "#SBATCH -N 2",
        "#SBATCH --gpus-per-node=8",
        "#SBATCH --comment=k8s=train.yaml",
        "",
        "exec bridgectl attach",
    ]
    assert (here / "train.sh").stat().st_mode & 0o100
    spec = yaml.safe_load((here / "train.yaml").read_text())
    assert spec == {
        "apiVersion": "slurm-k8s-bridge/v1",
        "kind": "ContainerJob",
        "image": "r/x:1",
        "command": ["torchrun", "/opt/train.py", "--epochs", "3"],
    }


def test_what_is_written_has_variables_volumes_and_place(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEED", "0x10: yes")
    more = ["--export=SEED", "--volume", "home", "--volume=data:/data", "--workdir=/home/ada"]
    assert main(["submit", "--image=r/x:1", *more, "-J", "a b/c d", "--", "true"]) == 0
    (file,) = here.glob("*.yaml")
    assert file.name == "c-d.yaml"
    spec = yaml.safe_load(file.read_text())
    assert spec["env"] == {"SEED": "0x10: yes"}
    assert spec["volumes"] == ["home", {"name": "data", "mountPath": "/data"}]
    assert spec["workingDir"] == "/home/ada"


def test_the_same_again_takes_its_files_and_another_one_leaves_them(login: Login, here: Path) -> None:
    for _ in range(2):
        assert main(list(WORDS)) == 0
    assert sorted(path.name for path in here.iterdir()) == ["train.sh", "train.yaml"]
    mine = "mine: true\n"
    (here / "train.yaml").write_text(mine)
    assert main(list(WORDS)) == 0
    assert (here / "train.yaml").read_text() == mine
    assert given(login)[-1] == "train-2.sh"
    assert "--comment=k8s=train-2.yaml" in given(login)


def test_it_writes_into_the_jobs_directory(login: Login, here: Path) -> None:
    (here / "below").mkdir()
    assert main(["submit", "--image=x", "-D", "below", "--", "sleep", "1"]) == 0
    assert (here / "below" / "sleep.yaml").exists()
    assert given(login)[-1] == "below/sleep.sh"
    assert "--comment=k8s=sleep.yaml" in given(login)


@pytest.mark.usefixtures("here")
def test_sbatch_sees_the_whole_environment(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own variables, and what --export of sbatch's hands on to the script."""
    monkeypatch.setenv("SBATCH_PARTITION", "night")
    assert main(list(WORDS)) == 0
    assert "SBATCH_PARTITION=night" in (login.home / "env").read_text().splitlines()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--export=NO_SUCH_VARIABLE"], "export-unset"),
        (["--comment=k8s=other.yaml"], "comment-taken"),
        (["--comment", 'a "quoted" word'], "option-unlike"),
        (["--chdir=/nowhere/at/all"], "spec-unwritten"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_submitted(
    login: Login, here: Path, capsys: pytest.CaptureFixture[str], words: list[str], name: str
) -> None:
    assert main(["submit", "--image=x", *words, "--", "true"]) != 0
    assert f"[{name}]" in capsys.readouterr().err
    assert not (login.home / "given").exists()
    assert list(here.iterdir()) == []


def test_what_the_prolog_would_refuse_is_refused_here(
    login: Login, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["submit", "--image=x", "--volume=no-such-volume", *SITE, "--", "true"]
    assert main(words) == 1
    assert "no-such-volume" in capsys.readouterr().err
    assert not (login.home / "given").exists()
    assert list(here.iterdir()) == []


def test_what_sbatch_refuses_is_said(login: Login, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    login.has("sbatch", "echo 'sbatch: error: invalid partition specified: day' >&2; exit 1")
    assert main(list(WORDS)) != 0
    assert "invalid partition specified: day" in capsys.readouterr().err
    assert (here / "train.yaml").exists()


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["-N2", "python3", "train.py"], "python3"),
        (["-N", "2", "python3"], "python3"),
        (["--nodes=2", "train.sh"], "train.sh"),
        (["train.sh"], "train.sh"),
        (["-p", "gpu", "--time", "10", "--exclusive", "-n2"], ""),
    ],
)
def test_a_command_without_two_dashes_is_told(
    words: list[str], word: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert written.stray(words) == word
    assert main(["submit", "--image", "r/x:1", *words]) == (64 if word else 0)
    assert ("write the command behind `--`" in capsys.readouterr().err) == bool(word)
    assert (list(here.iterdir()) == []) == bool(word)


def test_options_that_nobody_takes_are_still_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["ps", "--no-such-option"])
    assert "unrecognized arguments: --no-such-option" in capsys.readouterr().err


def test_a_comment_of_the_users_own_stays() -> None:
    for words in (["--comment=mine, too"], ["--comment", "mine, too"]):
        assert written.with_token([*words, "-N2"], "x.yaml") == ["-N2", "--comment=mine, too k8s=x.yaml"]


@pytest.mark.parametrize("options", [["--chdir=/a"], ["--chdir", "/a"], ["-D", "/a"], ["-D/a"], ["-D", "/b", "-D/a"]])
def test_an_option_is_found_however_it_is_written(options: list[str]) -> None:
    assert written.value_of(options, "--chdir", "-D") == "/a"
    assert written.value_of(["--nodes=1", "-N1"], "--chdir", "-D") == ""


def test_a_script_is_taken_apart_as_it_was_meant() -> None:
    """A shell takes words and double quotes apart as sbatch does."""
    options = ["--comment=two words", "--mail-user", "a@b", "--exclusive"]
    lines = [line for line in written.script_text(options).splitlines() if line.startswith("#SBATCH ")]
    done = subprocess.run(
        ["sh", "-c", "\n".join(f"printf '%s\\n' {line.removeprefix('#SBATCH ')}" for line in lines)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == options
    with pytest.raises(Misused):
        written.script_text(["--comment=two\nlines"])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_PERIOD", 0.01)
    monkeypatch.setattr(follow, "_LATE", 0.05)


def stages(login: Login, *shown: str) -> None:
    """What scontrol shows, one call after the other; the last one for good."""
    for number, text in enumerate(shown, 1):
        (login.home / f"stage{number}").write_text(text)
    count = f"n=$(cat {login.home}/n 2>/dev/null || echo 0); n=$((n+1)); [ $n -le {len(shown)} ] || n={len(shown)}"
    login.has("scontrol", f"{count}; echo $n >{login.home}/n; cat {login.home}/stage$n")


def job(login: Login, state: str, reason: str = "None", code: str = "0:0", comment: str = "") -> str:
    said = f"k8s=x.yaml | k8s: {comment}" if comment else "k8s=x.yaml"
    return (
        f"JobId=7 JobName=x\n   UserId=ml(2001)\n   JobState={state} Reason={reason}\n   ExitCode={code}\n"
        f"   BatchHost=n1\n   Comment={said}\n   StdOut={login.home}/out\n"
    )


@pytest.mark.usefixtures("quick")
def test_followed_it_shows_states_output_and_exit_code(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    (login.home / "out").write_text("epoch 1\nepoch 2\n")
    stages(
        login,
        job(login, "PENDING", "Resources"),
        job(login, "RUNNING", "Prolog", comment="1/2 pods ready"),
        job(login, "RUNNING"),
        job(login, "FAILED", "NonZeroExitCode", "3:0"),
    )
    assert follow.follow(7) == 3
    said = capsys.readouterr()
    assert said.out == "epoch 1\nepoch 2\n"
    assert said.err.splitlines() == [
        "bridgectl: job 7: PENDING: Resources",
        "bridgectl: job 7: PROLOG: 1/2 pods ready",
        "bridgectl: job 7: RUNNING",
        "bridgectl: job 7 has ended: FAILED, exit code 3",
    ]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("state", "code", "exit_code"), [("COMPLETED", "0:0", 0), ("CANCELLED", "0:15", 143), ("NODE_FAIL", "0:0", 1)]
)
def test_it_exits_as_the_job_did(login: Login, state: str, code: str, exit_code: int) -> None:
    stages(login, job(login, state, code=code))
    assert follow.follow(7) == exit_code


@pytest.mark.usefixtures("quick")
def test_it_outlives_a_silent_slurmctld(login: Login, capsys: pytest.CaptureFixture[str]) -> None:
    (login.home / "out").write_text("here\n")
    stages(login, job(login, "RUNNING"), "", job(login, "COMPLETED"))
    login.has("sacct", "exit 1")
    assert follow.follow(7) == 0
    assert capsys.readouterr().out == "here\n"


def test_output_that_is_begun_anew_is_shown_anew(login: Login, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output, path = follow._Output(), login.home / "out"
    path.write_text("the first run\n")
    output.show(str(path))
    path.write_text("2nd\n")
    output.show(str(path))
    with path.open("a") as file:
        file.write("more\n")
    output.show(str(path))
    assert capfdbinary.readouterr().out == b"the first run\n2nd\nmore\n"


@pytest.mark.parametrize(("answer", "cancelled"), [("y", True), ("", False), ("n", False)])
def test_interrupted_it_asks(login: Login, monkeypatch: pytest.MonkeyPatch, answer: str, cancelled: bool) -> None:
    login.has("scancel", f"echo $1 >{login.home}/cancelled")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert follow._left(7, lambda _: answer) == 130
    assert (login.home / "cancelled").exists() == cancelled


def test_without_a_terminal_the_job_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow._left(7, lambda _: "y") == 130
    assert "goes on" in capsys.readouterr().err
