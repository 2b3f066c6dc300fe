#!/usr/bin/env bash
# The loop: self-play, training, MPC statistics, gate, promotion; a generation a turn.
# Every stage skips what it has done, so a killed run goes on and an unchanged run does nothing.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: ./pipeline.sh [--config FILE] [--generations N|+N] [--budget TIME] [--exit-verdict]

  --config FILE     the run (default configs/default.toml); its name is the file's stem
  --generations N   turns of the loop (default: run.generations of the config); +N: so many more than are done
  --budget TIME     stop after so long (90s, 30m, 2h, 1h30m), between parts, epochs or gate batches, with code 12
  --exit-verdict    end with the last gate's code: 0 promoted, 10 rejected, 11 inconclusive

The datasets go to datasets/RUN, the models to models/RUN, a summary for machines to models/RUN/run.json.
Run it again to go on.
TEXT
}

config=configs/default.toml generations= exit_verdict= budget=()
while (($#)); do
    case $1 in
        --config) config=${2:?--config needs a file}; shift 2 ;;
        --generations) generations=${2:?--generations needs a number}; shift 2 ;;
        --budget) budget=(--budget "${2:?--budget needs a time}"); shift 2 ;;
        --exit-verdict) exit_verdict=yes; shift ;;
        --help | -h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
if [[ -n $generations && ! $generations =~ ^\+?[0-9]+$ ]]; then
    echo "error: --generations $generations: expected a number, or + and a number" >&2
    exit 2
fi

cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v cargo >/dev/null; then
    echo "error: cargo is missing; install Rust from https://rustup.rs and run this again" >&2
    exit 2
fi
cargo build --release --locked
renma=${CARGO_TARGET_DIR:-target}/release/renma

run=$(basename "$config" .toml)
data=datasets/$run
models=models/$run
"$renma" status --config "$config" --key run.seed >/dev/null # a bad config ends here, before anything is written

# A run works from its own copy of the config, so that editing the original changes the next run only.
mkdir -p "$models/config"
cp -r "$(dirname "$config")/features" "$models/config/"
cp "$config" "$models/config/$run.toml"
config=$models/config/$run.toml

# What every stage is told, and the summary that is written however the run ends.
began=$(date +%s)
rm -f "$models/run.json"
common=(--config "$config" --models "$models")
work=(--log "$models/run.log" "${budget[@]}")
((${#budget[@]} == 0)) || work+=(--since "$began")
verdict=0
summarize() {
    local code=$?
    "$renma" status "${common[@]}" --datasets "$data" --record "$models/run.json" --since "$began" \
        --code "$((code == 0 ? verdict : code))" "${budget[@]}" || true
}
trap summarize EXIT

resume=$("$renma" status "${common[@]}" --datasets "$data" --resume)
read -r first champion next <<<"$resume" # the champion moves with each accepted gate, the same way in every rerun
window=$("$renma" status "${common[@]}" --key run.window)
keep=$("$renma" status "${common[@]}" --key run.keep_generations)
case $generations in
    '') generations=$("$renma" status "${common[@]}" --key run.generations) ;;
    +*) generations=$((next - 1 + ${generations#+})) ;;
esac

for ((g = first; g <= generations; g++)); do
    generation=$(printf 'generation=%04d' "$g")
    selfplay=$data/selfplay/$generation
    gate=$data/gate/$generation
    datasets=()
    for ((older = g > window ? g - window + 1 : 1; older <= g; older++)); do
        folder=$data/selfplay/$(printf 'generation=%04d' "$older")
        # Of closed generations, those that windows reach are still there; a window made larger finds fewer.
        if ((older >= first)) || [[ -e $folder/manifest.json ]]; then datasets+=("$folder"); fi
    done

    "$renma" generate "${common[@]}" "${work[@]}" --replace --generation "$g" --model "$champion" --output "$selfplay"
    draft=$("$renma" train "${common[@]}" "${work[@]}" --parent "$champion" --dataset "${datasets[@]}")
    candidate=$("$renma" fit-mpc "${common[@]}" "${work[@]}" --replace --generation "$g" --model "$draft" --output "$data/mpc/$generation")
    verdict=0
    "$renma" gate "${common[@]}" "${work[@]}" --replace --generation "$g" --candidate "$candidate" --baseline "$champion" --avoid "${datasets[@]}" --output "$gate" || verdict=$?
    case $verdict in
        0) "$renma" promote "$candidate" --models "$models" --verdict "$gate" --log "$models/run.log"; champion=$candidate ;;
        10 | 11) ;; # the champion stays
        *) exit "$verdict" ;;
    esac
    ((keep == 0)) || "$renma" gc "${common[@]}" --datasets "$data" --generation "$g"
done

"$renma" status "${common[@]}" --datasets "$data"
[[ -z $exit_verdict ]] || exit "$verdict"
