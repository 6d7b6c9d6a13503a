"""Makes a journal of many runs out of one, and says how long sqlite3 alone reads it: JSON of seconds.

    journal.py FROM DIRECTORY JOB COUNT LIVE

FROM is a journal that is not in use, JOB the run of it that is written COUNT times, under other numbers, to the journal
in DIRECTORY, which stays the owner's of DIRECTORY. The last LIVE of them have not come to their epilog.
"""

import json
import os
import shutil
import sqlite3
import sys
import time
from pathlib import Path

FIRST = 500_000  # numbers of jobs that no Slurm has given


def lines(source: Path, job: str) -> list[tuple[str, float, bytes]]:
    """Every event of the run."""
    database = sqlite3.connect(source)
    found = database.execute("SELECT run, wall, body FROM event WHERE run LIKE ? ORDER BY number", (f"%/{job}/%",))
    return list(found)


def write(target: Path, events: list[tuple[str, float, bytes]], job: str, count: int, live: int) -> None:
    """The runs one behind the other."""
    epilog = next(at for at, (_, _, body) in enumerate(events) if b'"kind":"epilog_began"' in body)
    database = sqlite3.connect(target, isolation_level=None)
    database.execute("BEGIN")
    database.execute("DELETE FROM event")
    for number in range(FIRST, FIRST + count):
        for run, wall, body in events if number < FIRST + count - live else events[:epilog]:
            text = body.decode().replace(f"-{job}-", f"-{number}-").replace(f'"job_id":{job}', f'"job_id":{number}')
            name = run.replace(f"/{job}/", f"/{number}/")
            database.execute("INSERT INTO event (run, wall, body) VALUES (?, ?, ?)", (name, wall, text.encode()))
    database.execute("COMMIT")
    database.close()


def main() -> None:
    """Write, then read."""
    source, directory, job = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    count, live = int(sys.argv[4]), int(sys.argv[5])
    target = directory / source.name
    for old in directory.glob(f"{source.name}*"):
        old.unlink()
    shutil.copy(source, target)
    write(target, lines(source, job), job, count, live)
    for file in directory.glob(f"{source.name}*"):
        os.chown(file, directory.stat().st_uid, directory.stat().st_gid)
    began = time.perf_counter()
    read = len(sqlite3.connect(target).execute("SELECT run, wall, body FROM event ORDER BY number").fetchall())
    print(json.dumps({"read": time.perf_counter() - began, "lines": read}))


if __name__ == "__main__":
    main()
