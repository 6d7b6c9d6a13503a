"""A user's hand on the login node: runs there by itself, and does what it is told by lines of JSON, one by one.

{"options": [...], "spec": TEXT or null, "script": TEXT} submits a job, and the answer says in which folder, too, where
its output goes to the file `out`; a list of words is a command, whose exit code and output are the answer.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def _run(words: list[str], text: str | None = None) -> dict[str, Any]:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    return {"code": done.returncode, "output": done.stdout if not done.returncode else done.stderr}


def _submit(asked: dict[str, Any]) -> dict[str, Any]:
    folder = tempfile.mkdtemp(prefix="chaos-", dir=Path.home())
    if asked["spec"] is not None:
        Path(folder, "job.yaml").write_text(asked["spec"], encoding="utf-8")
    words = ["sbatch", "--parsable", f"--chdir={folder}", f"--output={folder}/out", *asked["options"]]
    return {"folder": folder, **_run(words, "#!/bin/bash\n" + asked["script"] + "\n")}


for line in sys.stdin:
    told = json.loads(line)
    answer = _submit(told) if isinstance(told, dict) else _run(told)
    print(json.dumps(answer), flush=True)
