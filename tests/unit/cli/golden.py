"""What `bridgectl render` makes of some specs, to the letter. `python -m tests.unit.cli.golden` writes them anew."""

import contextlib
import io
import pwd
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from bridge.cli.main import main
from tests.manifests.collected import HERE as MANIFESTS

HERE = Path(__file__).parent / "golden"
PUBLIC = MANIFESTS / "public"
SITE = ("--config", str(MANIFESTS / "site.toml"))
ADA = pwd.struct_passwd(("ada", "x", 2001, 2002, "", "/home/ada", "/bin/bash"))
# Name of the golden file, and the words after `bridgectl render`.
CASES = {
    "container-job": (
        str(HERE / "container-job.job.yaml"),
        "-N2",
        "--gpus-per-node=8",
        "-c96",
        "--mem=1T",
        "-Aphysics",
    ),
    "mnist-nccl": (str(PUBLIC / "kubeflow-mnist-nccl.yaml"), "--nodes", "2", "--gpus-per-node=1"),
    "oke-rdma": (str(PUBLIC / "oke-rdma-c10d.yaml"), "-N2", "--gpus-per-node=1", "-c32", "--mem=512G"),
}


@contextlib.contextmanager
def as_ada() -> Iterator[None]:
    """Whoever runs this has her account and her groups."""
    with mock.patch("pwd.getpwuid", lambda _uid: ADA), mock.patch("os.getgrouplist", lambda *_: [2002, 3000]):
        yield


def made(name: str) -> str:
    """The object of this case as it is today."""
    out = io.StringIO()
    with as_ada(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main(["render", *CASES[name], *SITE]) == 0
    return out.getvalue()


if __name__ == "__main__":
    for case in CASES:
        (HERE / f"{case}.yaml").write_text(made(case))
