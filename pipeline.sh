#!/usr/bin/env bash
# Builds renma where there is a clone and cargo, and runs the loop: renma run. `./pipeline.sh --help` lists the options.
# The program is $RENMA if that is set, else the one built here, else an installed one.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 2
}

is_help=
for argument; do
    case $argument in -h | --help) is_help=yes ;; esac
done

renma=${RENMA:-}
if [[ -n $renma ]]; then
    command -v -- "$renma" >/dev/null || fail "RENMA=$renma: program not found"
elif [[ -f $here/Cargo.toml ]] && command -v cargo >/dev/null; then
    target=${CARGO_TARGET_DIR:-target}
    [[ $target == /* ]] || target=$here/$target
    renma=$target/release/renma
    if [[ -z $is_help ]]; then
        [[ -x $renma ]] || echo "building renma (once, about 4 min on 2 cores)" >&2
        (cd -- "$here" && cargo build --release --locked --quiet --target-dir "${CARGO_TARGET_DIR:-target}")
    elif [[ ! -x $renma ]] && ! renma=$(command -v renma); then
        # Nothing is built for a help text: the page of the options has it too.
        exec awk '/^##/ { is_run = $0 == "### renma run" } is_run' "$here/docs/reference.md"
    fi
else
    renma=$(command -v renma) || fail "no renma is here; install it, or Rust from https://rustup.rs to build it, or name it in RENMA"
fi
exec "$renma" run -C "$here" "$@"
