"""The real stack, started once for all integration tests, and left as it was found."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from . import audit
from .leaks import leaks
from .stack import STACK, Stack

_ASKED = pytest.StashKey[set[audit.Asked]]()


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
def running_stack(
    docker_services: object,  # noqa: ARG001
    stack_was_running: bool,
    pytestconfig: pytest.Config,
) -> Iterator[Stack]:
    """The stack, whole and healthy. What its daemons have asked of Kubernetes is kept for the end; none of the secrets
    that lived in it may stand anywhere then."""
    began = datetime.now(UTC).isoformat()
    stack = Stack(Stack.describe())
    yield stack
    asked = audit.asked(Path(str(stack.description["audit_log"])), began)
    pytestconfig.stash[_ASKED] = asked
    if hasattr(pytestconfig, "workeroutput"):
        pytestconfig.workeroutput["asked"] = [list(each) for each in asked]
    try:
        leaked = leaks(stack)
    finally:
        if not stack_was_running:
            subprocess.run([STACK, "down"], check=True, stdout=sys.stderr)
    assert not leaked, "\n".join(leaked)


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


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """One of several processes has ended."""
    told = getattr(node, "workeroutput", {}).get("asked", [])
    node.config.stash.setdefault(_ASKED, set()).update(tuple(each) for each in told)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """After all tests of this folder, of all processes: the rights that daemons have used are those that they have."""
    config = session.config
    whole = Path(__file__).parent in [Path(argument).resolve() for argument in config.args]
    if hasattr(config, "workerinput") or not whole or config.getoption("keyword") or config.getoption("collectonly"):
        return
    asked = config.stash.setdefault(_ASKED, set())
    wrong = audit.complaints(asked)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
