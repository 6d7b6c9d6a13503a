"""A small real training: torch's DistributedDataParallel over gloo, one process per node.

Where the others are it learns as any training does, from MASTER_ADDR, MASTER_PORT, WORLD_SIZE and
RANK; without them it trains alone. While it runs it holds the lock file of every GPU that the
container was given, and ends with 42 if another one holds it: a GPU is never in two hands.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, NoReturn

# A training that is started alone.
ALONE = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "23456"}
GPU_LOCKS = Path(os.environ.get("GPU_LOCK_DIR", "/run/gpu-lock"))
IN_TWO_HANDS = 42
NO_GPU = 43


def leave_on_sigterm() -> None:
    """Leave at once when told to, also while torch waits for another rank.

    The first process of a container ignores a SIGTERM that it does not catch, and Python would run
    a handler only after torch has come back.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def wait() -> None:
        signal.sigwait({signal.SIGTERM})
        os._exit(128 + signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def leave_now(code: int) -> NoReturn:
    """End with a code, whatever torch's threads are at.

    An interpreter that shuts down beside gloo's threads may be ended by a signal ("terminate called
    without an active exception"), and the code that was to be seen is lost.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def hold_gpus(rank: int) -> list[IO[str]]:
    """Lock every GPU of this container until the process ends."""
    job = os.environ.get("SLURM_JOB_ID", platform.node())
    held: list[IO[str]] = []
    for path in sorted(GPU_LOCKS.glob("gpu*")):
        gpu = path.name.removeprefix("gpu")
        file = path.open("r+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"GPU {gpu} IN TWO HANDS: {job} rank {rank} found it held by {file.read().strip()}")
            sys.exit(IN_TWO_HANDS)
        file.truncate(0)
        print(f"{job} rank {rank}", file=file, flush=True)
        print(f"GPU {gpu} held by {job} rank {rank}")
        held.append(file)
    return held


def train(options: argparse.Namespace, rank: int) -> int:
    """Train; return the exit code."""
    # Takes seconds, in which the GPUs are held already.
    import torch  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    from torch import distributed as dist  # noqa: PLC0415

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    node = os.environ.get("NODE_NAME", platform.node())
    print(f"rank {rank} of {world} on {node}")

    # The same truth for all, to be found from each rank's own samples of it.
    truth = torch.randn(16, 1, generator=torch.Generator().manual_seed(0))
    samples = torch.Generator().manual_seed(1 + rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses: list[float] = []
    for epoch in range(options.epochs):
        total = torch.zeros(1)
        for _ in range(options.steps):
            inputs = torch.randn(32, 16, generator=samples)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs @ truth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
            time.sleep(options.pause)
        dist.all_reduce(total)
        losses.append(total.item() / options.steps / world)
        if rank == 0:
            print(f"epoch {epoch + 1} of {options.epochs} loss {losses[-1]:.6f}")
        if options.exit_code is not None and rank == options.exit_rank:
            print(f"rank {rank} exits with {options.exit_code} as it was told")
            leave_now(options.exit_code)
    if rank == 0:
        print(f"final loss {losses[-1]:.6f}")
    dist.destroy_process_group()
    return 0 if losses[-1] < losses[0] or len(losses) == 1 else 1


def main() -> int:
    """Hold the GPUs and train."""
    parser = argparse.ArgumentParser(description="A small real training.")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="per epoch")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step")
    parser.add_argument("--exit-code", type=int, help="fail with this after the first epoch")
    parser.add_argument("--exit-rank", type=int, default=0, help="the rank that fails")
    parser.add_argument(
        "--peer-loss",
        choices=("fail", "hang"),
        default="fail",
        help="what a rank does when another has gone; NCCL would hang",
    )
    parser.add_argument("--no-gpu", action="store_true", help="run although there is no GPU to hold")
    options = parser.parse_args()

    leave_on_sigterm()
    for name, value in ALONE.items():
        os.environ.setdefault(name, value)
    rank = int(os.environ["RANK"])
    held = hold_gpus(rank)
    if not held and not options.no_gpu:
        print("no GPU in this container", file=sys.stderr)
        return NO_GPU
    try:
        return train(options, rank)
    except RuntimeError as error:
        if options.peer_loss == "fail":
            raise
        print(f"rank {rank} has lost another one and hangs: {error}", file=sys.stderr)
        threading.Event().wait()
        raise


if __name__ == "__main__":
    sys.exit(main())
