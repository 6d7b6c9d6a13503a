"""The real stack, started once for all integration tests, and left as it was found."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .stack import STACK, Stack


def pytest_configure(config: pytest.Config) -> None:
    """Where several processes share the tests, each has a stack of its own; the first one the usual."""
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if worker != "gw0":
        os.environ["SKB_BESIDE"] = worker


@pytest.fixture(scope="session")
def stack_was_running() -> bool:
    """Whether somebody had the stack up before: then it stays up."""
    return subprocess.run([STACK, "status"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="session")
def docker_compose_command(stack_was_running: bool) -> str:  # noqa: ARG001 - asked before anything starts
    """The stack has what compose needs (images, certificates, variables) made by its own `up`."""
    subprocess.run([STACK, "up"], check=True, stdout=sys.stderr)
    return "docker compose --env-file " + str(Path(Stack.describe()["run_dir"]) / "compose.env")


@pytest.fixture(scope="session")
def docker_compose_file(docker_compose_command: str) -> str:  # noqa: ARG001 - only a stack that is up has a project
    """Of the stack."""
    return str(STACK.parent / "compose.yaml")


@pytest.fixture(scope="session")
def docker_compose_project_name(docker_compose_command: str) -> str:  # noqa: ARG001
    """Each checkout has its own."""
    return str(Stack.describe()["project"])


@pytest.fixture(scope="session")
def docker_setup() -> list[str]:
    """`stack up` has waited for every service; this asks compose to agree."""
    return ["ps --quiet"]


@pytest.fixture(scope="session")
def docker_cleanup() -> list[str]:
    """`stack down` removes more than compose knows of; see the `stack` fixture."""
    return []


@pytest.fixture(scope="session")
def running_stack(docker_services: object, stack_was_running: bool) -> Iterator[Stack]:  # noqa: ARG001
    """The stack, whole and healthy."""
    yield Stack(Stack.describe())
    if not stack_was_running:
        subprocess.run([STACK, "down"], check=True, stdout=sys.stderr)


@pytest.fixture
def stack(running_stack: Stack) -> Iterator[Stack]:
    """A stack that is clean before the test, and must be clean after it."""
    running_stack.make_clean()
    yield running_stack
    running_stack.assert_clean()


@pytest.fixture(scope="module")
def soon_missed(running_stack: Stack) -> Iterator[None]:
    """Daemons that soon miss a cancelled job."""
    with running_stack.configured(timing={"poll_period": 1.0}):
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the stack."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.stack)
