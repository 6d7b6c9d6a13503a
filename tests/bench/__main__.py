"""The bench: figure after figure, each measured once for this commit. Fails where one is over its bound."""

import argparse
import json
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.integration.stack import STACK, Stack

from . import machine, profiles, table
from .catalogue import FIGURES
from .figure import Figure
from .results import Result, Results, key
from .world import World

CHECKOUT = Path(__file__).parents[2]


def main() -> int:
    """The exit status: 1 where something was over its bound or could not be measured."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what a figure has changed on the stack is undone
    options = _options()
    chosen = [figure for figure in FIGURES if _is_chosen(figure, options)]
    with _stack() as stack:
        world = World(stack, options.quick)
        folder = Path(str(stack.description["run_dir"])).parents[1] / "bench" / key(CHECKOUT, quick=options.quick)
        results, failures = _measured(chosen, world, Results(folder), anew=options.anew)
        if options.profile or not (options.quick or options.figures):
            _profile(profiles.worst(chosen, results), world, folder)
    return _told(chosen, results, failures, folder / "bench.json")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, and no figure that takes long")
    parser.add_argument("--anew", action="store_true", help="measure what this commit has been measured for, too")
    parser.add_argument(
        "--profile", action="store_true", help="flame graphs of the worst three; else a full bench only"
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(figure.name for figure in FIGURES))
    options = parser.parse_args()
    unknown = set(options.figures) - {figure.name for figure in FIGURES}
    if unknown:
        parser.error(f"no figure {', '.join(sorted(unknown))}")
    return options


def _is_chosen(figure: Figure, options: argparse.Namespace) -> bool:
    if options.figures:
        return figure.name in options.figures
    return bool(figure.quick) or not options.quick


@contextmanager
def _stack() -> Iterator[Stack]:
    """Up, with the product as the checkout has it; down again where it was not up."""
    was_running = subprocess.run([STACK, "status"], capture_output=True, check=False).returncode == 0
    subprocess.run([STACK, "up"], check=True, stdout=sys.stderr)
    try:
        yield Stack(Stack.describe())
    finally:
        if not was_running:
            subprocess.run([STACK, "down"], check=True, stdout=sys.stderr)


def _measured(
    figures: Sequence[Figure], world: World, results: Results, *, anew: bool
) -> tuple[dict[str, Result], dict[str, str]]:
    """What each figure found, and why one found nothing."""
    found, failures = {}, {}
    for figure in figures:
        known = None if anew else results.get(figure.name)
        try:
            result = known or _measure(figure, world)
        except Exception as error:  # noqa: BLE001 - the others are measured, and this one is told in the end
            traceback.print_exc()
            failures[figure.name] = f"{type(error).__name__}: {error}"
            continue
        results.put(result)
        found[figure.name] = result
        print("\n".join(table.lines(figure, result)), flush=True)
    return found, failures


def _measure(figure: Figure, world: World) -> Result:
    began, load = time.monotonic(), machine.load()
    columns: dict[str, list[float]] = {}
    world.stack.make_clean()
    with figure.measuring(world) as one_round:
        for number in range((figure.quick or 1) if world.quick else figure.rounds):
            for name, samples in one_round(number).items():
                columns.setdefault(name, []).extend(samples)
    world.stack.assert_clean()
    return Result(figure.name, columns, time.monotonic() - began, (load, machine.load()))


def _profile(figures: Sequence[Figure], world: World, folder: Path) -> None:
    for figure in figures:
        world.stack.make_clean()
        profiles.keep(figure, world, folder)
        world.stack.assert_clean()
        print(f"flame graphs of {figure.name}: {folder}", flush=True)


def _told(figures: Sequence[Figure], results: dict[str, Result], failures: dict[str, str], file: Path) -> int:
    made = table.document(figures, results, failures, machine.description(), file.parent.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    over = [
        f"{figure.name}: {table.said(each.bound)}"
        for figure in figures
        if figure.name in results
        for each in table.judged(figure, results[figure.name])
        if not each.met
    ]
    print(f"\n{len(results)} of {len(figures)} figures measured; {file}")
    for line in over:
        print(f"over its bound: {line}")
    for name, why in failures.items():
        print(f"not measured: {name}: {why}")
    return 1 if over or failures else 0


if __name__ == "__main__":
    sys.exit(main())
