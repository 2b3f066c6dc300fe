#!/usr/bin/env python3
"""Prints the table "Speed" of docs/search.md: what this program takes, and another one beside it.

    cargo build --release
    python3 benches/speed.py target/release/renma [OTHER] [--runs 5] [--dataset DATASET]

The two programs alternate, because machines that are shared change their speed from minute to minute. Each row has the
medians of CPU seconds, the median of the ratios of neighboring runs and their range, and the nodes, which are equal where the
search is the same. DATASET is one of games, such as datasets/default/selfplay/generation=0001 after ./pipeline.sh; without it
training is left out. Needs Python 3 alone.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CHAMPION = ["--model", "builtin:champion"]
BOARD = "---------------------------OX------XO--------------------------- X;\n"
# What a row says, and the command line. Figures are those that `renma bench` prints, which leave out the start of the program.
BENCHES = [
    ("perft 11", ["bench", "perft", "--depth", "11"]),
    ("depth 10, full width", ["bench", "search", "--depth", "10", "--positions", "40", *CHAMPION]),
    ("depth 14 at 73 %", ["bench", "search", "--depth", "14", "--mpc-level", "73", *CHAMPION]),
    ("exact, 14 empty squares", ["bench", "endgame", "--depth", "14", "--positions", "400", *CHAMPION]),
    ("exact, 18", ["bench", "endgame", "--depth", "18", "--positions", "100", *CHAMPION]),
    ("exact, 20", ["bench", "endgame", "--depth", "20", "--positions", "40", *CHAMPION]),
    ("exact, 22", ["bench", "endgame", "--depth", "22", "--positions", "12", *CHAMPION]),
    ("games of the champion", ["bench", "generate", "--config", "builtin:default", "--games", "100", *CHAMPION]),
]


def cpu_of(program, arguments, threads):
    """The CPU seconds of a command, what it printed, and the elapsed seconds that it reports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, *arguments, "--threads", str(threads), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = done.stdout.strip().splitlines()
    figures = json.loads(lines[-1]) if arguments[0] == "bench" else {}
    return figures.get("cpu_seconds", whole), figures.get("nodes"), figures.get("seconds", whole)


def print_row(name, programs, arguments, runs):
    """One row: medians, ratios and nodes."""
    seconds, nodes = [[] for _ in programs], [None] * len(programs)
    for run in range(runs):
        order = range(len(programs)) if run % 2 == 0 else reversed(range(len(programs)))
        for number in order:
            took, nodes[number], _ = cpu_of(programs[number], arguments, 1)
            seconds[number].append(took)
    medians = [f"{statistics.median(some):.3f} s" for some in seconds]
    shown = f"{nodes[0]:,}" if nodes[0] else ""
    if len(programs) == 1:
        print(f"| {name} | {medians[0]} | {shown} |", flush=True)
        return
    ratios = [ours / theirs for ours, theirs in zip(*seconds)]
    spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    other = f"{nodes[1]:,}" if nodes[1] else ""
    both = shown if shown == other else f"{shown}, {other}"
    print(f"| {name} | {medians[0]} | {medians[1]} | {spread} | {both} |", flush=True)


def print_threads(name, program, arguments, runs):
    """How much sooner two threads are done than one."""
    elapsed = {1: [], 2: []}
    for _ in range(runs):
        for threads in elapsed:
            elapsed[threads].append(cpu_of(program, arguments, threads)[2])
    ratio = statistics.median(one / two for one, two in zip(elapsed[1], elapsed[2]))
    print(f"| {name} | {ratio:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program to measure")
    parser.add_argument("other", nargs="?", help="another one, for ratios")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (default: 5)")
    parser.add_argument("--seed", default="1", help="seed of the positions to solve (default: 1)")
    parser.add_argument("--dataset", help="a dataset of games to train on")
    arguments = parser.parse_args()
    programs = [str(Path(program).resolve()) for program in (arguments.program, arguments.other) if program]
    with tempfile.TemporaryDirectory() as folder:
        board = Path(folder, "start.obf")
        board.write_text(BOARD)
        benches = [("start: eval of one position", ["eval", str(board), *CHAMPION]), *BENCHES]
        training = []
        if arguments.dataset:
            training = ["bench", "train", "--config", "builtin:default", "--dataset", arguments.dataset]
            benches.append(("training, weights", training))
        heads = ["", "CPU", "nodes"] if len(programs) == 1 else ["", "CPU", "CPU of the other", "ratio", "nodes"]
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for name, command in benches:
            if command[1] == "endgame":
                command = [*command, "--seed", arguments.seed]
            print_row(name, programs, command, arguments.runs)
        print("\n| two threads for one | times as fast |\n|---|---|")
        generate = BENCHES[-1][1]
        print_threads("games of the champion", programs[0], generate, arguments.runs)
        if training:
            print_threads("training, weights", programs[0], training, arguments.runs)


if __name__ == "__main__":
    main()
