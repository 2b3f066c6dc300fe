#!/usr/bin/env python3
"""Measure the peak memory of each stage on ten times the rows of the default config, and compare it with a limit.

    python3 tests/memory.py RENMA [TIMES]

TIMES, 10 by default, multiplies the games of a generation, of fit-mpc and of the gate; the limits are for 10. Needs Linux, which counts peaks
in KiB. docs/search.md#memory says what each stage holds.
"""

import contextlib, json, os, sys, tempfile, tomllib
from pathlib import Path

CONFIG = Path(__file__).resolve().parent.parent / "configs/default.toml"

# MiB: a quarter more than the peaks in docs/search.md#memory.
LIMITS = {
    "generate": 57,
    "shard run": 52,
    "shard finish": 60,
    "verify": 43,
    "export": 37,
    "export, tokens": 176,
    "train": 359,
    "train, 64 MiB": 94,
    "fit-mpc": 76,
    "gate": 67,
}

# Shallow searches and one epoch take the memory of deep searches and ten: a transposition table has a fixed size, whatever the depth, and each
# epoch reads the same rows. A sample of fit-mpc has 16 bytes for each depth, so that the default's two further depths take 0.3 MiB.
FAST = {
    "generate.play_depth": 1,
    "generate.label_depth": 1,
    "generate.exact_empties": 4,
    "train.epochs": 1,
    "fit_mpc.depth_max": 6,
    "gate.depth": 1,
    "gate.exact_empties": 4,
}


def peak_of(command, codes):
    """The most MiB that a command held, which must end with one of these exit codes."""
    command = [str(word) for word in command]
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    _, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ, file_actions=silent), 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in codes, f"{' '.join(command)} ends with {code}"
    return usage.ru_maxrss / 1024


def rows_in(dataset):
    """The rows of the largest table of a dataset."""
    parts = json.loads((dataset / "manifest.json").read_text())["parts"]
    return max(sum(part["files"][table]["rows"] for part in parts) for table in parts[0]["files"])


def measure_all(renma, times):
    """The rows and the peak of each stage, made in the current folder."""
    default = tomllib.loads(CONFIG.read_text())
    games = {f"{table}.games": times * default[table]["games"] for table in ("generate", "fit_mpc", "gate")}
    values = ["--config", CONFIG]
    for key, value in (FAST | games).items():
        values += ["--set", f"{key}={value}"]
    config = [*values, "--models", "models"]
    found = {}

    def measure(stage, rows, *arguments, codes=(0,)):
        peak = peak_of([renma, "--quiet", "--threads", 2, *arguments], codes)
        found[stage] = rows(), max(peak, found.get(stage, (0, 0))[1])

    selfplay = [Path(f"selfplay{generation}") for generation in range(1, default["run"]["window"] + 1)]
    one, window = lambda: rows_in(selfplay[0]), lambda: sum(map(rows_in, selfplay))
    player = ["--model", "builtin:square-weights"]
    measure("generate", one, "generate", *config, *player, "--output", selfplay[0])
    for generation, dataset in enumerate(selfplay[1:], 2):
        plan = f"plan{generation}.json"
        divided = ["--generation", generation, "--output", dataset, "--shards", 2]
        measure("plan", one, "generate", "--plan", plan, *config, *player, *divided)
        for shard in range(2):
            measure("shard run", lambda: one() // 2, "shard", "run", plan, shard)
        measure("shard finish", lambda: rows_in(dataset), "shard", "finish", plan)
    measure("verify", one, "dataset", "verify", selfplay[0])
    measure("export", one, "dataset", "export", selfplay[0], "--format", "obf", "--output", "all.obf")
    tokens = ["--format", "tokens", "--labels", "--output", "tokens.parquet"]
    measure("export, tokens", one, "dataset", "export", selfplay[0], *tokens)
    lesson = ["--dataset", *selfplay]
    measure("train", window, "train", *config, *lesson)
    measure("train, 64 MiB", window, "train", *values, *lesson, "--models", "others", "--memory", "64MiB")
    samples, match = Path("samples"), Path("match")
    measure("fit-mpc", lambda: rows_in(samples), "fit-mpc", *config, "--model", "v0001", "--output", samples)
    players = ["--candidate", "v0002", "--baseline", "builtin:square-weights", "--avoid", *selfplay]
    pairs = ["--pairs", games["gate.games"] // 2, "--output", match]
    measure("gate", lambda: rows_in(match), "gate", *config, *players, *pairs, codes=(0, 10, 11))
    return found


def main(renma, times="10"):
    renma = Path(renma).resolve()
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        found = measure_all(renma, int(times))
    print(f"{'stage':20} {'rows':>10} {'peak MiB':>9} {'limit MiB':>10}")
    for stage, limit in LIMITS.items():
        rows, peak = found[stage]
        print(f"{stage:20} {rows:10,} {peak:9.1f} {limit:10}")
    over = [stage for stage, limit in LIMITS.items() if limit < found[stage][1]]
    if over:
        sys.exit(f"more memory than the limit: {'; '.join(over)}")


main(*sys.argv[1:])
