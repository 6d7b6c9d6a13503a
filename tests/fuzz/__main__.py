"""`python -m tests.fuzz TARGET SECONDS CORPUS…`: one target under atheris; `make fuzz` runs all of them.

The first corpus takes what is new. A finding is written beside it, and ends the run with another exit code than 0.
"""

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import atheris  # type: ignore  # not in the checks' environment

with atheris.instrument_imports(include=["bridge"]):
    from tests.fuzz.targets import TARGETS

_STRANGE: tuple[Any, ...] = (None, True, -1, 2**64, 1.5, "", "0", "x" * 300, "\ud800", [], {}, [[]], [None], {"": {}})
_MEMORY = 1024  # MiB, the fuzzer's own counted in
_HANG = 10  # seconds for one input


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """Bytes as libFuzzer changes them; every other time, where they are JSON, another value in one place of it."""
    rng = random.Random(seed)
    start = data.find(b"{")
    if rng.random() < 0.5 or start < 0:
        return bytes(atheris.Mutate(data, most))
    try:
        document = json.loads(data[start:])
        _change(document, rng)
        body = json.dumps(document).encode()
    except (ValueError, RecursionError):
        return bytes(atheris.Mutate(data, most))
    head = b"%d\n" % len(body) if data[:start].strip().isdigit() else data[:start]
    return (head + body)[:most]


def _change(document: Any, rng: random.Random) -> None:
    places = list(_places(document))
    if places:
        holder, key = rng.choice(places)
        holder[key] = rng.choice([*_STRANGE, *(known[place] for known, place in rng.sample(places, 1))])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield value, key
        yield from _places(item)


def main() -> None:
    """Never returns."""
    name, seconds, *corpora = sys.argv[1:]
    limits = [f"-max_total_time={seconds}", f"-rss_limit_mb={_MEMORY}", f"-timeout={_HANG}", "-max_len=16384"]
    quiet = ["-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={corpora[0]}/finding-"]
    atheris.Setup([sys.argv[0], *limits, *quiet, *corpora], TARGETS[name], custom_mutator=mutated)
    atheris.Fuzz()


main()
