"""Starts programs in turn: JSON of the seconds that each took, by name.

    spawn.py REPETITIONS COMMANDS ENVIRONMENT

COMMANDS is JSON, an argument vector by name; ENVIRONMENT is theirs, and nothing else is.
"""

import json
import os
import sys
import time


def once(command: list[str], environment: dict[str, str]) -> float:
    """Seconds from the start of a program to its end."""
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment)
    os.waitpid(child, 0)
    return time.perf_counter() - began


def main() -> None:
    """All of them in turn, again and again."""
    repetitions, commands, environment = int(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
    took: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repetitions):
        for name, command in commands.items():
            took[name].append(once(command, environment))
    print(json.dumps(took))


if __name__ == "__main__":
    main()
