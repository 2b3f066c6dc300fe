#!/usr/bin/env bash
# Builds renma where there is a clone and cargo, and runs the loop: renma run. `./pipeline.sh --help` lists the options.
# The program is $RENMA if that is set, else the one built here, else an installed one.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 2
}

renma=${RENMA:-}
if [[ -n $renma ]]; then
    command -v -- "$renma" >/dev/null || fail "RENMA=$renma: program not found"
elif [[ -f $here/Cargo.toml ]] && command -v cargo >/dev/null; then
    target=${CARGO_TARGET_DIR:-target}
    [[ $target == /* ]] || target=$here/$target
    renma=$target/release/renma
    [[ -x $renma ]] || echo "building renma (once, about 4 min on 2 cores)" >&2
    (cd -- "$here" && cargo build --release --locked --quiet --target-dir "${CARGO_TARGET_DIR:-target}")
else
    renma=$(command -v renma) || fail "no renma is here; install it, or Rust from https://rustup.rs to build it, or name it in RENMA"
fi
exec "$renma" run -C "$here" "$@"
