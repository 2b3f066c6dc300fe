#!/usr/bin/env bash
# The loop: self-play, training, MPC statistics, gate, promotion; a generation a turn.
# Every stage skips what it has done, so a killed run goes on and an unchanged run does nothing.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: ./pipeline.sh [--config FILE] [--generations N] [--exit-verdict]

  --config FILE     the run (default configs/default.toml); its name is the file's stem
  --generations N   turns of the loop (default: run.generations of the config)
  --exit-verdict    end with the last gate's code: 0 promoted, 10 rejected, 11 inconclusive

The datasets go to datasets/RUN, the models to models/RUN. Run it again to go on.
TEXT
}

config=configs/default.toml generations= exit_verdict=
while (($#)); do
    case $1 in
        --config) config=${2:?--config needs a file}; shift 2 ;;
        --generations) generations=${2:?--generations needs a number}; shift 2 ;;
        --exit-verdict) exit_verdict=yes; shift ;;
        --help | -h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done

cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v cargo >/dev/null; then
    echo "error: cargo is missing; install Rust from https://rustup.rs and run this again" >&2
    exit 2
fi
cargo build --release --locked
renma=${CARGO_TARGET_DIR:-target}/release/renma

key() { "$renma" status --config "$config" --key "run.$1"; }
[[ -n $generations ]] || generations=$(key generations)
window=$(key window)
champion=$(key start) # a variable: it moves with each accepted gate, the same way in every rerun
run=$(basename "$config" .toml)
data=datasets/$run
models=models/$run

# A run works from its own copy of the config, so that editing the original changes the next run only.
mkdir -p "$models/config"
cp -r "$(dirname "$config")/features" "$models/config/"
cp "$config" "$models/config/$run.toml"
config=$models/config/$run.toml

datasets=()
for ((g = 1; g <= generations; g++)); do
    generation=$(printf 'generation=%04d' "$g")
    selfplay=$data/selfplay/$generation
    gate=$data/gate/$generation
    datasets+=("$selfplay")
    first=$((g > window ? g - window : 0)) # the oldest dataset to train on

    "$renma" generate --config "$config" --generation "$g" --model "$champion" --models "$models" --output "$selfplay"
    draft=$("$renma" train --config "$config" --parent "$champion" --models "$models" --dataset "${datasets[@]:first}")
    candidate=$("$renma" fit-mpc --config "$config" --generation "$g" --model "$draft" --models "$models" --output "$data/mpc/$generation")
    verdict=0
    "$renma" gate --config "$config" --generation "$g" --candidate "$candidate" --baseline "$champion" --models "$models" --avoid "${datasets[@]:first}" --output "$gate" || verdict=$?
    case $verdict in
        0) "$renma" promote "$candidate" --models "$models" --verdict "$gate"; champion=$candidate ;;
        10 | 11) ;; # the champion stays
        *) exit "$verdict" ;;
    esac
done

"$renma" status --config "$config" --models "$models" --datasets "$data"
[[ -z $exit_verdict ]] || exit "$verdict"
