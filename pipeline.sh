#!/usr/bin/env bash
# The loop: self-play, training, MPC statistics, gate, promotion; one generation after another.
# Every stage skips what it has done, so a killed run resumes and an unchanged run does nothing.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: ./pipeline.sh [--config FILE] [--set KEY=VALUE]... [--generations N|+N] [--budget TIME] [--from-next | --restart G]
                     [--exit-verdict] [--dry-run] [-v | -q] [--on HOW [--workers N | --scheduler ADDRESS [--insecure]]]

  --config FILE     the run (default configs/default.toml); its name is the file's stem. builtin:NAME is a config of the program
  --set KEY=VALUE   another value for a key of the config, such as train.epochs=3
  --generations N   the last generation to make (default: run.generations of the config); +N: N more than are done
  --budget TIME     stop after this time (90s, 30m, 2h, 1h30m), between parts, epochs or gate batches, with code 12
  --on HOW          where stages run: local (the default), dask, or a command with {plan} and {shard} in it for each shard
  --workers N       how many commands or Dask workers run at once (default: one per core of this machine)
  --scheduler ADDR  a Dask scheduler of yours; --insecure permits one on another machine without TLS
  --from-next       use a changed config from the next generation on; a generation that has begun keeps its own
  --restart G       remove generation G and all after it, after printing what is lost, and make them again
  --dry-run         print how long the run will take and what it needs, and write nothing
  -v, --verbose     print the details of every stage; -q, --quiet: print errors only
  --exit-verdict    end with the last gate's code: 0 promoted, 10 rejected, 11 inconclusive

The datasets go to datasets/RUN, the models to models/RUN, a summary for machines to models/RUN/run.json.
Finished generations are never touched: a changed key ends the run with 2 unless one of the two options says what to do.
Run it again to resume. The program is $RENMA if that is set, else it is built here.
TEXT
}

fail() {
    printf 'error: %s\n' "$@" >&2
    exit 2
}

# Prints a line unless only errors are wanted.
say() {
    [[ $verbosity == -q ]] || printf '%s\n' "$@" >&2
}

again=./pipeline.sh given= settings=() generations= exit_verdict= dry_run= verbosity= limit= on=local budget=() change=() where=()
while (($#)); do
    option=$1 value=
    case $option in
        --config=* | --set=* | --generations=* | --budget=* | --on=* | --workers=* | --scheduler=* | --restart=*) value=${option#*=} option=${option%%=*} ;;
        --config | --set | --generations | --budget | --on | --workers | --scheduler | --restart)
            (($# > 1)) || fail "$option needs a value"
            value=$2
            shift
            ;;
    esac
    shift
    case $option in
        --config | --set | --generations | --budget | --on | --workers | --scheduler | --restart) [[ -n $value ]] || fail "$option needs a value" ;;&
        --config) again+=" --config $value"; [[ $value == /* || $value == builtin:* ]] || value=$PWD/$value; given=$value ;;
        --set) again+=" --set $value"; settings+=(--set "$value") ;;
        --generations) [[ $value =~ ^\+?[0-9]+$ ]] || fail "--generations $value: expected a number, or + and a number"; generations=$value ;;
        --budget) limit=$value ;;
        --on) on=$value ;;
        --workers | --scheduler) where+=("$option" "$value") ;;
        --insecure) where+=(--insecure) ;;
        --restart) [[ $value =~ ^[1-9][0-9]*$ ]] || fail "--restart $value: expected the number of a generation"; change+=(--restart "$value") ;;
        --from-next) change+=(--from-next) ;;
        --exit-verdict) exit_verdict=yes ;;
        --dry-run) dry_run=yes ;;
        -v | --verbose) verbosity=-v ;;
        -q | --quiet) verbosity=-q ;;
        --help | -h) usage; exit 0 ;;
        *) usage >&2; fail "unknown option $option" ;;
    esac
done
[[ $on != local || ${#where[@]} == 0 ]] || fail "--workers, --scheduler and --insecure need --on"
[[ $on == dask || "${where[*]}" != *--scheduler* ]] || fail "--scheduler needs --on dask"

renma=${RENMA:-}
[[ $renma != */* || $renma == /* ]] || renma=$PWD/$renma
cd "$(dirname "${BASH_SOURCE[0]}")"
[[ -n $given ]] || given=configs/default.toml

# The program: $RENMA, else built here, else an installed one.
if [[ -n $renma ]]; then
    command -v "$renma" >/dev/null || fail "RENMA=$RENMA: there is no such program"
elif [[ -f Cargo.toml ]] && command -v cargo >/dev/null; then
    renma=${CARGO_TARGET_DIR:-target}/release/renma
    [[ -x $renma ]] || say "building renma (once, about 4 min on 2 cores)"
    build=(cargo build --release --locked)
    [[ $verbosity == -v ]] || build+=(--quiet)
    "${build[@]}"
else
    renma=$(command -v renma) || fail "no renma is here; install it, or Rust from https://rustup.rs to build it, or name it in RENMA"
fi
program=("$renma" ${verbosity:+"$verbosity"})

run=$("${program[@]}" status --config "$given" "${settings[@]}" --key run.name) # a bad config ends here, before anything is written
data=datasets/$run
models=models/$run
places=(--models "$models" --datasets "$data")

# What the run will take; one that does not fit on the disk ends here, before anything is written.
expected=$("${program[@]}" status --forecast --config "$given" "${settings[@]}" "${places[@]}" ${generations:+--generations "$generations"} "${change[@]}")
[[ -z $dry_run ]] || exit 0

# One pipeline at a time: the lock on this file lasts as long as the script and the stages that it starts.
mkdir -p "$models"
exec 9<>"$models/.run.lock"
"${program[@]}" status --lock --config "$given" "${settings[@]}" "${places[@]}" <&9
since=$(date +%s)

# run.json says how far the run is, every few seconds and however it ends.
record() {
    "${program[@]}" status --config "$given" "${settings[@]}" "${places[@]}" --record "$models/run.json" --since "$since" ${limit:+--budget "$limit"} "$@"
}
record
page=(--config "$given" "${settings[@]}") # the page names the config as its reader knows it
report() {
    "${program[@]}" report "${page[@]}" "${places[@]}" >/dev/null || true # a page to look at never stops the run
}
watcher= code=0 complete=
finish() {
    local ended=$?
    ((ended != 0)) || ended=${complete:-130} # a signal that ends the script leaves the status of the command before it
    [[ -z $watcher ]] || { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
    record --code "$ended" || true
    [[ -z $watcher ]] || report
}
trap finish EXIT

# Reads what the next generation needs: generation, last, config, champion, veteran, replace, keep, verdict, until, and the datasets. From
# then on the run is given its own copy of the config, so that the original may be edited.
next() {
    local lines name value
    lines=$("${program[@]}" status --next --begin --config "$given" "${settings[@]}" "${places[@]}" "$@" <&9)
    datasets=() settings=() # the copy has them
    while IFS='=' read -r name value; do
        if [[ $name == dataset ]]; then datasets+=("$value"); else printf -v "$name" %s "$value"; fi
    done <<<"$lines"
}
next ${generations:+--generations "$generations"} "${change[@]}" --expect "$expected"
end=$last
[[ -z $limit ]] || budget=(--budget "$limit" --since "$(date +%s)")
{ while sleep 10 && kill -0 $$; do record; done } 9<&- >/dev/null 2>&1 &
watcher=$!

# stage NAME ARGUMENTS...: runs a stage here, or in shards elsewhere. The output and the exit code are the same.
stage() {
    local name=$1 plan=$data/plans/$folder/$1.json run=(--config "$config" --models "$models") work=(--log "$models/run.log" "${budget[@]}" ${until:+--until "$until"})
    shift
    report # of the stages before
    if [[ $on != local && $name == fit-mpc && $("${program[@]}" status --config "$config" --key fit_mpc.method) == source ]]; then
        echo 'fit-mpc: fit_mpc.method = "source" runs on this machine: each of its searches uses the fits before it' >&2
    elif [[ $on != local ]]; then
        "${program[@]}" shard plan "$plan" --force --stage "$name" "${run[@]}" "$@" &&
            "${program[@]}" shard drive "$plan" --on "$on" "${where[@]}" "${work[@]}" 9<&- &&
            "${program[@]}" shard finish "$plan" "${work[@]}"
        return
    fi
    "${program[@]}" "$name" "${run[@]}" "${work[@]}" "$@"
}

# After every fifth generation the champion plays 100 pairs against a former one, so that the ladder does not drift.
drift() {
    [[ -n $veteran ]] || return 0
    local code=0 last=$((generation - 1)) folder on=local # too short to be worth shards
    folder=generation=$(printf '%04d' "$last")
    stage gate --replace --generation "$last" --candidate "$champion" --baseline "$veteran" --pairs 100 --output "$data/drift/$folder" || code=$?
    ((code == 0 || code == 10 || code == 11)) || exit "$code" # whoever wins, the champion stays
}

while drift && ((generation <= end)); do
    folder=generation=$(printf '%04d' "$generation")
    gate=$data/gate/$folder

    stage generate $replace --generation "$generation" --model "$champion" --output "$data/selfplay/$folder"
    draft=$(stage train --parent "$champion" --dataset "${datasets[@]}")
    candidate=$(stage fit-mpc $replace --generation "$generation" --model "$draft" --output "$data/mpc/$folder")
    code=0
    stage gate $replace --generation "$generation" --candidate "$candidate" --baseline "$champion" --avoid "${datasets[@]}" --output "$gate" || code=$?
    case $code in
        0) "${program[@]}" promote "$candidate" --models "$models" --verdict "$gate" --log "$models/run.log" ;;
        10 | 11) ;; # the champion stays
        *) exit "$code" ;;
    esac
    ((keep == 0)) || "${program[@]}" gc --config "$given" "${settings[@]}" "${places[@]}"
    next --generations "$end"
done

if [[ $verbosity != -q ]]; then
    "${program[@]}" status --config "$given" "${settings[@]}" "${places[@]}"
    printf '%s\n' "play      $renma play --models $models" "continue  $again --generations +5"
fi
case $verdict in
    rejected) code=10 ;;
    inconclusive) code=11 ;;
    *) code=0 ;;
esac
complete=$code
[[ -z $exit_verdict ]] || exit "$code"
