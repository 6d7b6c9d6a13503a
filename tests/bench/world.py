"""What a figure measures on: the stack as it is, with policies, node credentials and audit."""

from dataclasses import dataclass
from pathlib import Path

from tests.integration.stack import Stack

PROBES = Path(__file__).parent / "probes"
_NODE_PYTHON = ("/usr/bin/python3", "-I", "-S")


@dataclass(frozen=True)
class World:
    """The stack, and how much shall be measured."""

    stack: Stack
    quick: bool

    @property
    def node(self) -> str:
        """The compute node where figures of one node are measured."""
        return self.stack.nodes[0]

    @property
    def audit_log(self) -> Path:
        """Of the API server."""
        return Path(str(self.stack.description["audit_log"]))

    def probe(self, name: str, *arguments: str, python: tuple[str, ...] = _NODE_PYTHON, user: str = "") -> str:
        """What a program of probes/ prints on the node."""
        program = (PROBES / f"{name}.py").read_text(encoding="utf-8")
        return self.stack.exec(self.node, *python, "-", *arguments, stdin=program, user=user)
