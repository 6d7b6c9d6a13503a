"""`bridgectl attach`: the output of all ranks, each byte once, whatever happens to daemon and API server."""

import re

from .flood import flood
from .specs import UNTIL_LET_GO, container_job
from .stack import Stack, eventually

_LINES = 3200  # a quarter of a second's, of five hundred bytes: 6.4 MB/s, and 5 are left where a shell is slow to begin
_WIDTH = 500
# With what containerd puts before each, 220 MB: at 256 MiB the kubelet takes another file (kubelet.yaml), and on a busy
# machine the reader, who has to wait for the API server, would find the first one gone.
_MANY = 400_000
# A quarter's lines are written while it sleeps, and a hundredth of them after many. Each has its rank and its number.
# It ends when it is let go.
_STEADY = (
    f'pad=$(head -c 479 /dev/zero | tr "\\0" x); n=0; lines={_LINES}; echo "begins $(date +%s)"; '
    "until [ -e /tmp/let-go ]; do sleep 0.25 & "
    "awk -v r=$PET_NODE_RANK -v pad=$pad -v n=$n -v lines=$lines 'BEGIN { for (i = n; i < n + lines; i++) "
    'printf "%d line %012d %s\\n", r, i, pad }\'; wait; n=$((n + lines)); '
    f'[ $n -lt {_MANY} ] || lines={_LINES // 100}; done; echo "ends $(date +%s) $n"'
)
# How many lines there are, how many there should be, which come too early, too late or not whole, and the seconds.
_CHECK = (
    f'$2 == "line" {{ if ($3 + 0 != next_of[$1] || length($0) != {_WIDTH - 1}) '
    "{ wrong++; if (wrong < 5) print NR, $1, $3 } "
    "next_of[$1] = $3 + 1; lines++ } "
    '$1 == "begins" && (!first || $2 < first) { first = $2 } $1 == "ends" { all += $3; if ($2 > last) last = $2 } '
    "END { print lines + 0, all + 0, wrong + 0, last - first }"
)


def test_nothing_is_lost_or_doubled_at_5_mb_a_second_over_restarts_of_daemon_and_api_server(stack: Stack) -> None:
    job = stack.submit(container_job(stack.images["small"], _STEADY), "-N2", "--gpus-per-node=2")
    eventually(lambda: _size(stack, job.output) > 20_000_000, 60, "both ranks write")
    stack.kill_daemon("compute1")
    before = _size(stack, job.output)
    eventually(lambda: _size(stack, job.output) > before + 20_000_000, 60, "output goes on")
    with stack.stopped("kube-apiserver"):
        eventually(lambda: not _grows(stack, job.output), 30, "no output without an API server")
    stack.let_go(job)
    stack.await_end(job, 180)
    *strange, last = stack.exec("login", "awk", _CHECK, job.output).splitlines()
    lines, written, wrong, seconds = map(int, last.split())
    print(f"{lines * _WIDTH / seconds / 2e6:.1f} MB/s a rank over {seconds} s")
    assert (lines, wrong) == (written, 0), strange
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert "slurm-k8s-bridge:" not in stack.exec("login", "grep", "-va", " line ", job.output)


def test_long_lines_and_junk(stack: Stack) -> None:
    """Lines of 1 MB beside a rank of many short ones, and bytes of every kind."""
    # Without carriage returns: containerd takes \r\n for the end of a line, and nobody gets that \r back.
    junk = "cd /tmp; head -c 3000000 /dev/urandom | tr -d '\\r' > junk; cat junk; echo; sha256sum < junk; rm junk"
    beside = (
        'if [ $PET_NODE_RANK = 0 ]; then for i in 1 2 3; do head -c 1000000 /dev/zero | tr "\\0" x; echo; done; '
        "else for i in $(seq 500); do echo short; sleep 0.002; done; fi"
    )
    small = stack.images["small"]
    jobs = [
        stack.submit(container_job(small, junk), "-N1", "-w", "compute1", "-c1"),
        stack.submit(container_job(small, beside), "-N2", "-c1"),
    ]
    stack.await_ended(jobs, 90)
    # The last line is the sum, and the newline before it was not in the junk.
    sums = stack.sh("login", f"head -n -1 {jobs[0].output} | head -c -1 | sha256sum; tail -n 1 {jobs[0].output}")
    assert len(set(sums.splitlines())) == 1, sums
    lengths = stack.sh("login", f"awk '{{ print length($0) }}' {jobs[1].output} | sort -n | uniq -c")
    assert lengths.split() == ["500", "5", "3", "1000000"]


def test_two_seconds_at_full_speed(stack: Stack) -> None:
    """Nobody can read so fast: the job ends all the same, the daemon keeps its size, and what is lost is told."""
    flood(stack, 2)


def test_ranks_are_chosen_and_named(stack: Stack) -> None:
    spec = container_job(stack.images["small"], f"echo here; {UNTIL_LET_GO}; echo $PET_NODE_RANK; printf end")
    verbs = {"prefix": "--prefix", "one": "--rank 1", "all": "--all", "none": "--rank 2", "junk": "--rank x"}
    script = "\n".join(f"bridgectl attach {options} > $PWD/{name} 2>&1 &" for name, options in verbs.items())
    job = stack.submit(spec, "-N2", script=f"{script}\nwait")
    prefixed = f"{job.directory}/prefix"
    eventually(
        lambda: stack.exec("login", "cat", prefixed, check=False).count("here") == 2, 60, "both ranks have begun"
    )
    stack.let_go(job)
    stack.await_end(job)
    said = {name: stack.exec("login", "cat", f"{job.directory}/{name}") for name in verbs}
    assert sorted(said["prefix"].splitlines()) == sorted(
        f"[rank {rank}] {word}" for rank in range(2) for word in ("here", str(rank), "end")
    )
    assert said["one"] == "here\n1\nend"
    assert sorted(said["all"].splitlines()) == ["0", "1", "end", "end", "here", "here"]
    assert f"job {job.id} has the ranks 0 to 1, and no rank 2 [no-such-rank]; give --rank one of these" in said["none"]
    assert "ranks are up to 1024 whole numbers" in said["junk"]


def _size(stack: Stack, path: str) -> int:
    found = re.fullmatch(r"(\d+)", stack.exec("login", "stat", "-c", "%s", path, check=False).strip())
    return int(found[1]) if found else 0


def _grows(stack: Stack, path: str) -> bool:
    before = _size(stack, path)
    return _size(stack, path) > before
