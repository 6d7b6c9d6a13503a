"""The stack's containers: docker compose with this stack's project, file and variables."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import engine
from .commands import logged, output, succeeds
from .errors import StackError
from .places import STACK, project, run_dir

_REMOVAL = 90  # seconds for all containers of a stack
PROFILES = ("--profile", "kwok")


def command(*arguments: str) -> list[str]:
    """Return the docker compose command line for this stack.

    compose.yaml has two compute nodes, nodes.json what there are besides.
    """
    return [
        "docker",
        "compose",
        "--project-name",
        project(),
        "--file",
        str(STACK / "compose.yaml"),
        "--file",
        str(run_dir() / "nodes.json"),
        "--env-file",
        str(run_dir() / "compose.env"),
        *arguments,
    ]


def up(services: Sequence[str] = (), *, kwok: bool = False, alone: bool = False) -> None:
    """Create and start services; `alone` without those that they depend on."""
    profile = PROFILES if kwok else ()
    others = ["--no-deps"] if alone else []
    logged(
        "compose",
        command(*profile, "up", "--detach", "--no-build", "--quiet-pull", *others, *services),
        cure="the reason is in the containers' logs: tests/stack/stack logs SERVICE",
    )


def remove(service: str) -> None:
    """Stop one service and remove its container."""
    logged(
        "compose",
        command(*PROFILES, "rm", "--stop", "--force", service),
        cure=f"remove it by hand: docker rm --force {container(service)}",
    )


def container(service: str) -> str:
    """Return the name that compose gives to a service's container."""
    return f"{project()}-{service}-1"


def containers(*, running_only: bool = False) -> list[str]:
    """Return the containers of this stack, found by label, whatever the run dir says."""
    every = [] if running_only else ["--all"]
    text = output(
        ["docker", "ps", *every, "--filter", f"label=com.docker.compose.project={project()}", "--format", "{{.Names}}"]
    )
    return sorted(text.split())


def health_test(service: str) -> list[str]:
    """Return the probe of a service as compose.yaml has it."""
    text = output(["docker", "inspect", "--format", "{{json .Config.Healthcheck.Test}}", container(service)])
    kind, *words = json.loads(text)
    return ["sh", "-c", words[0]] if kind == "CMD-SHELL" else list(words)


def is_healthy(service: str) -> bool:
    """Ask a service's own probe now."""
    return succeeds(["docker", "exec", container(service), *health_test(service)], timeout=20)


def complaint(service: str) -> str:
    """Return what a service's probe says about it in its last line."""
    command = ["docker", "exec", container(service), *health_test(service)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return ((done.stdout + done.stderr).strip().splitlines() or [""])[-1]


def run_in(service: str, *words: str, stdin: bytes | None = None) -> str:
    """Run a command in a container and return what it prints."""
    interactive = ["-i"] if stdin is not None else []
    return output(["docker", "exec", *interactive, container(service), *words], stdin=stdin)


def remove_all() -> None:
    """Remove every container, volume and network that carries this stack's label."""
    names = containers()
    if names:
        # Clean ends take longer and leave the same: nothing.
        remove = ["docker", "rm", "--force", "--volumes"]
        if not succeeds([*remove, *names], timeout=_REMOVAL) and _every_running() <= set(names):
            # Seen once with docker 20.10: a probe's exec and the kill of its container waited for each other.
            engine.restart_hung()
            _quietly(*remove, *containers())
    label = f"label=com.docker.compose.project={project()}"
    for kind in ("volume", "network"):
        found = output(["docker", kind, "ls", "--quiet", "--filter", label]).split()
        if found:
            _quietly("docker", kind, "rm", *found)
    left = containers()
    if left:
        raise StackError(f"docker does not remove {', '.join(left)}", "restart dockerd and try again")


def _every_running() -> set[str]:
    return set(output(["docker", "ps", "--format", "{{.Names}}"]).split())


def _quietly(*words: str) -> None:
    subprocess.run(words, check=False, stdout=subprocess.DEVNULL)


def write_env(path: Path, values: dict[str, str]) -> None:
    """Write the variables that compose.yaml names."""
    path.write_text("".join(f"{k}={v}\n" for k, v in sorted(values.items())))
