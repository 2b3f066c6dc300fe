#!/usr/bin/env bash
# One night of a workflow: pipeline.sh under a time limit, ended in an orderly way when the job is canceled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# < 1)); then
    echo "usage: .github/night.sh LIMIT [OPTION OF pipeline.sh]..." >&2
    exit 2
fi
limit=$1
shift

# A runner that cancels a step signals the step's first process alone, so start this with `exec`. What that process has
# started would work on while the run is being saved. `timeout` passes a signal on to the whole pipeline, and the stages
# end at it within seconds.
timeout --signal=INT --kill-after=60s "$limit" ./pipeline.sh "$@" &
pipeline=$!
trap 'kill -INT "$pipeline" 2>/dev/null || true' INT TERM
code=0
wait "$pipeline" || code=$?
while kill -0 "$pipeline" 2>/dev/null; do # a signal ends `wait` before the pipeline has ended
    code=0
    wait "$pipeline" || code=$?
done

[[ -z ${GITHUB_OUTPUT:-} ]] || echo "code=$code" >>"$GITHUB_OUTPUT"
case $code in
    0) echo "::notice::promoted" ;;
    10) echo "::notice::rejected: the champion stays" ;;
    11) echo "::notice::inconclusive: the champion stays" ;;
    12) echo "::notice::the budget is spent: the next night resumes" ;;
    124 | 137) echo "::error::the run was stopped after $limit: the next night resumes"; exit "$code" ;;
    130 | 143) echo "::error::the run was canceled: the next night resumes"; exit "$code" ;;
    *) echo "::error::the run ended with code $code"; exit "$code" ;;
esac
