#!/bin/sh
# The proof of the proof: two holders on one GPU, on purpose. Exactly one may get it.
#
#   two-holders-test.sh          two processes on this machine
#   two-holders-test.sh IMAGE    two containers of an image that has hold-gpu
set -eu

here=$(cd "$(dirname "$0")" && pwd)
image=${1:-}
dir=$(mktemp -d)
first=
finish() {
	[ -z "$first" ] || kill "$first" 2>/dev/null || true
	[ -z "$image" ] || docker rm -f "holder-$$" >/dev/null 2>&1 || true
	rm -rf "$dir"
}
trap finish EXIT
chmod 755 "$dir"
touch "$dir/gpu0" "$dir/gpu1"
chmod 666 "$dir/gpu0" "$dir/gpu1"

# Each holder is another account, as two jobs' would be.
hold() { # JOB UID GPU ARGUMENT...
	job=$1 uid=$2 gpu=$3
	shift 3
	if [ -n "$image" ]; then
		docker run --rm ${name:+--name "$name"} --network none --user "$uid:$uid" -e "SLURM_JOB_ID=$job" \
			-v "$dir/gpu$gpu:/run/gpu-lock/gpu$gpu" "$image" hold-gpu "$@"
	else
		mkdir -p "$dir/$job"
		ln -sf "$dir/gpu$gpu" "$dir/$job/gpu$gpu"
		SLURM_JOB_ID=$job GPU_LOCK_DIR=$dir/$job sh "$here/small/hold-gpu" "$@"
	fi
}

fail() {
	echo "two-holders-test: $*" >&2
	cat "$dir"/*.out >&2
	exit 1
}

expect() { # CODE FILE TEXT
	[ "$code" = "$1" ] || fail "expected exit code $1, got $code"
	grep -q "$3" "$dir/$2" || fail "expected '$3'"
}

name=holder-$$ hold 11 2001 0 60 >"$dir/first.out" 2>&1 &
first=$!
for _ in $(seq 100); do
	grep -q held "$dir/first.out" && break
	sleep 0.1
done
grep -q 'GPU 0 held by 11 rank 0' "$dir/first.out" || fail "the first one did not get it"

code=0; hold 12 2002 0 true >"$dir/second.out" 2>&1 || code=$?
expect 42 second.out 'GPU 0 IN TWO HANDS: 12 rank 0 found it held by 11 rank 0'

code=0; hold 13 2002 1 true >"$dir/other.out" 2>&1 || code=$?
expect 0 other.out 'GPU 1 held by 13 rank 0'

# The first one leaves at once when it is told to, and then the GPU is free.
if [ -n "$image" ]; then
	docker stop -t 10 "holder-$$" >/dev/null
else
	pkill -P "$first" -x sh 2>/dev/null || kill "$first"
fi
code=0; wait "$first" || code=$?
first=
[ "$code" = 143 ] || fail "the first one ended with $code"
code=0; hold 14 2002 0 sh -c 'exit 7' >"$dir/third.out" 2>&1 || code=$?
expect 7 third.out 'GPU 0 held by 14 rank 0'

cat "$dir"/*.out
