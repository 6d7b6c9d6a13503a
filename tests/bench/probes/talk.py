"""A training that talks once it is let go: lines with pauses between them, then a flood, then silence.

talk.py LINES BYTES
"""

import sys
import time
from pathlib import Path

WIDTH = 100


def main() -> None:
    """Each line says when it was written."""
    while not Path("/tmp/let-go").exists():
        time.sleep(0.05)
    for _ in range(int(sys.argv[1])):
        print(f"line {time.time()}", flush=True)
        time.sleep(0.05)
    print(f"flood {time.time()}", flush=True)
    text = "x" * (WIDTH - 1)
    for _ in range(int(sys.argv[2]) // WIDTH):
        print(text)
    print("over", flush=True)


if __name__ == "__main__":
    main()
