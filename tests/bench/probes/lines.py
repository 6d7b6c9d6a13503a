"""Reads what talk.py says, as it comes: JSON of how late each line came and how long the flood took, in seconds.

PROGRAM | lines.py
"""

import json
import sys
import time


def main() -> None:
    """Until the end of the input."""
    late: list[float] = []
    began = ended = 0.0
    for line in sys.stdin.buffer:
        now, (word, *rest) = time.time(), line.split(maxsplit=2) or [b""]
        if word == b"line":
            late.append(now - float(rest[0]))
        elif word == b"flood":
            began = float(rest[0])
        elif word == b"over":
            ended = now
    print(json.dumps({"late": late, "flood": ended - began}))


if __name__ == "__main__":
    main()
