#!/usr/bin/env bash
# Nights as a CI job has them: fresh clones, a cache restored from the night before, no terminal, and each exit code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[[ -n ${RENMA:-} ]] || cargo build --release --locked --quiet
renma=$(realpath "${RENMA:-${CARGO_TARGET_DIR:-target}/release/renma}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAILED  $1" >&2; [[ -z ${2:-} ]] || tail -20 "$2" >&2; exit 1; }

# config CLONE NAME [TABLE.KEY=VALUE]...: the smoke config with other values.
config() {
    local file=$scratch/$1/configs/$2.toml change
    cp "$scratch/$1/configs/smoke.toml" "$file"
    shift 2
    for change; do
        awk -v table="[${change%%.*}]" -v key="$(cut -d. -f2- <<<"${change%%=*}")" -v value="${change#*=}" '
            inside && $1 == key && $2 == "=" { next }
            /^\[/ { inside = $0 == table }
            { print }
            inside && $0 == table { print key " = " value; found = 1 }
            END { exit !found }' "$file" >"$file.new" || fail "the config has no table of ${change%%=*}"
        mv "$file.new" "$file"
    done
}

# night CLONE RUN CODE [OPTION]...: runs the pipeline there without a terminal and checks how it ends.
night() {
    local clone=$scratch/$1 run=$2 expected=$3 code=0
    local log=$scratch/$1-$run.log
    shift 3
    (cd "$clone" && RENMA=$renma setsid ./pipeline.sh --config "configs/$run.toml" --exit-verdict "$@" </dev/null >"$log" 2>&1) || code=$?
    [[ " $expected " == *" $code "* ]] || fail "$run $*: code $code, $expected expected" "$log"
    if grep -q $'[\e\r]' "$log"; then fail "$run: the log has more than plain lines" "$log"; fi
    python3 - "$clone/models/$run/run.json" "$code" <<'PYTHON' || fail "$run: run.json" "$log"
import json, sys
record = json.load(open(sys.argv[1]))
outcome = {0: "accepted", 10: "rejected", 11: "inconclusive", 12: "budget", 65: "damaged"}[int(sys.argv[2])]
assert (record["code"], record["outcome"]) == (int(sys.argv[2]), outcome), record
# A damaged dataset is found before a game is played.
assert bool(record["stages"]) == (record["code"] != 65), record
assert all(call["seconds"] >= 0 for call in record["stages"]), record
PYTHON
    echo "passed  $run $*: code $code, $(wc -l <"$log") lines of log"
}

# parts FOLDER RUN: how many parts of self-play the first generation has.
parts() {
    { find "$1/datasets/$2/selfplay/generation=0001/positions" -name 'part-*' 2>/dev/null || true; } | wc -l
}

# job CLONE RUN LIMIT CODE [SIGNAL]: a night as the workflow runs it. With a signal, its first process alone gets it in the
# middle of the first generation. However it ends, nothing of it may be at work afterwards.
job() {
    local clone=$scratch/$1 run=$2 limit=$3 expected=$4 signal=${5:-} code=0 leader before
    local log=$scratch/$1-$run.log output=$scratch/output
    rm -f "$output"
    before=$(parts "$clone" "$run")
    (
        cd "$clone"
        # A job in the background of a script ignores SIGINT, and a step of a workflow does not.
        exec env --default-signal=INT GITHUB_OUTPUT="$output" RENMA="$renma" \
            setsid .github/night.sh "$limit" --config "configs/$run.toml" --exit-verdict </dev/null >"$log" 2>&1
    ) &
    leader=$!
    if [[ -n $signal ]]; then
        while (($(parts "$clone" "$run") == before)); do
            kill -0 "$leader" || fail "$run: it ended before it could be canceled" "$log"
            sleep 0.1
        done
        kill "-$signal" "$leader"
    fi
    wait "$leader" || code=$?
    [[ $code == "$expected" && $(cat "$output" 2>/dev/null) == "code=$code" ]] || fail "$run: code $code, $expected expected" "$log"
    if pgrep -s "$leader" -l | grep -v ' sleep$'; then fail "$run: a process outlived the job" "$log"; fi
    python3 .github/summary.py "$clone/models/$run/run.json" >"$scratch/summary.md"
    grep -q "^## Run $run: " "$scratch/summary.md" || fail "$run: no summary" "$scratch/summary.md"
    echo "passed  $run ended by ${signal:-itself or after $limit}: code $code, $(sed -n '1s/.*: //p' "$scratch/summary.md")"
}

# sums CLONE RUN: a line for each file that is data.
sums() {
    (cd "$scratch/$1" && find "datasets/$2" "models/$2" -type f ! -name '.*' ! -name '*.log' ! -name run.json ! -name report.html -print0 | sort -z | xargs -0 sha256sum)
}

for clone in first second; do
    git clone --quiet . "$scratch/$clone"
    config "$clone" nights run.keep_generations=2
done
night first nights 0 --generations +1 --budget 20m
tar -C "$scratch/first" -cf - datasets models | tar -C "$scratch/second" -xf -
touch "$scratch/restored"
night second nights 0 --generations +1 --budget 20m
[[ -e $scratch/second/datasets/nights/gate/generation=0002/verdict.json ]] || fail "the second night made no second generation"
again=$(find "$scratch/second/datasets/nights" -path '*generation=0001*' -type f -newer "$scratch/restored")
[[ -z $again ]] || fail "the second night did the first one's work again: $again"
night first nights 0 --generations +1
cmp <(sums first nights) <(sums second nights) || fail "a restored cache gives other bytes than the folder itself"
echo "passed  $(sums first nights | wc -l) files with equal bytes, with a restored cache and without"

config second worse run.start='"builtin:champion"' run.generations=1 train.start='"zero"' train.ratio=0.0
night second worse 10
config second undecided run.generations=1 train.start='"zero"' train.ratio=0.0 gate.games=2
night second undecided 11
config second slow run.generations=1 generate.games=2800 generate.part_games=20 generate.play_depth=5 generate.label_depth=5
night second slow 12 --budget 1s
night second slow 0 --budget 20m

cp "$scratch/second/configs/slow.toml" "$scratch/second/configs/jobs.toml"
job second jobs 20m 130 INT
job second jobs 20m 130 TERM
job second jobs 2s 124
job second jobs 20m 0
cmp <(sums second slow | sed 's/slow/jobs/g' | grep -v /config/) <(sums second jobs | grep -v /config/) ||
    fail "jobs that were stopped end in other bytes than one that was not"

part=datasets/nights/selfplay/generation=0002/positions/part-00000.parquet
printf '\xff' | dd of="$scratch/second/$part" bs=1 seek=1000 conv=notrunc status=none
cmp -s "$scratch/first/$part" "$scratch/second/$part" && fail "no byte was flipped"
night second nights 65 --generations +1
grep -q "error: .*$part" "$scratch/second-nights.log" || fail "the damaged file is not named" "$scratch/second-nights.log"
