#!/usr/bin/env python3
"""Compare exact scores of renma with those of Edax, another solver, on positions of games that are played here.

    python3 tests/solver.py RENMA [COUNT] [--edax EDAX] [--cache FOLDER]

COUNT positions, 10,000 by default, have 12 to 20 empty squares, about equally many of each. EDAX is a built Edax 4.5. Without
it, the source of Edax is fetched at one commit, checked, and built by gcc in FOLDER, ~/.cache/renma by default, unless FOLDER
has it; if it cannot be fetched, nothing is compared. Edax reads its weights from a model that is trained here.
"""

import argparse, hashlib, json, os, platform, re, subprocess, sys, tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SAMPLE = PROJECT / "datasets/sample/selfplay/generation=0001"
EMPTIES = range(12, 21)

EDAX = "https://github.com/okuhara/edax-reversi-AVX"
COMMIT = "8a2b3ea5f5d4d9028a1310304670724f0cfb322d"
# Of the paths and contents of the files in src: git itself checks only SHA-1.
SOURCE_SHA256 = "fded96a43bad99a7c494b28a85317b1fceeb172bcd15c3d16c049f604096f942"
# What the makefile calls code for nearly every machine of a kind.
ARCHITECTURES = {"x86_64": "x86-64-v2", "aarch64": "armv8"}


def run(*command, folder=PROJECT):
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} ends with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def fetched_edax(cache):
    """Edax in `cache`, built there if it is missing; None if its source cannot be fetched."""
    program = cache / f"edax-{COMMIT}"
    if program.exists():
        return program
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:
        clone = Path(name)
        run("git", "init", "--quiet", clone)
        fetch = ["git", "fetch", "--quiet", "--depth", "1", EDAX, COMMIT]
        fetch = subprocess.run(fetch, cwd=clone, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"}, capture_output=True, text=True)
        if fetch.returncode != 0:
            print(f"SKIPPED: cannot fetch Edax: {' '.join(fetch.stderr.split())}")
            return None
        run("git", "-c", "core.autocrlf=false", "checkout", "--quiet", COMMIT, folder=clone)
        source = hashlib.sha256()
        for path in sorted(path for path in (clone / "src").rglob("*") if path.is_file()):
            source.update(b"%s\0%s\0" % (path.relative_to(clone).as_posix().encode(), path.read_bytes()))
        assert source.hexdigest() == SOURCE_SHA256, f"src of {EDAX} at {COMMIT} has the SHA-256 {source.hexdigest()}"
        (clone / "bin").mkdir()
        run("make", "build", "COMP=gcc", "CC=gcc", f"ARCH={ARCHITECTURES[platform.machine()]}", folder=clone / "src")
        [built] = (clone / "bin").iterdir()
        built.rename(program)
    return program


def positions(renma, scratch, count):
    """Distinct boards of games by the champion at depth 3, about equally many for each of EMPTIES."""
    games = f"generate.games={count // 8 + 10}"
    run(renma, "generate", "--progress", "none", "--config", PROJECT / "configs/smoke.toml", "--set", games,
        "--model", "builtin:champion", "--output", scratch / "games")
    run(renma, "dataset", "export", scratch / "games", "--format", "obf", "--output", scratch / "all.obf")
    boards = list(dict.fromkeys(line[:66] for line in (scratch / "all.obf").read_text().splitlines()))
    share = -(-count // len(EMPTIES))
    chosen = [[board for board in boards if board[:64].count("-") == empties][:share] for empties in EMPTIES]
    return sum(chosen, [])[:count]


def edax_weights(renma, scratch):
    """Writes data/eval.dat, which Edax reads in the folder where it starts."""
    (scratch / "edax.toml").write_text(f'[run]\nfeatures = "{PROJECT}/configs/features/edax.toml"\n\n[train]\nepochs = 2\n')
    run(renma, "train", "--progress", "none", "--config", scratch / "edax.toml", "--dataset", SAMPLE,
        "--models", scratch / "models")
    (scratch / "data").mkdir()
    run(renma, "model", "export", "--model", scratch / "models/v0001", "--format", "edax-eval",
        "--output", scratch / "data/eval.dat")


def main(renma, count, edax, scratch):
    edax_weights(renma, scratch)
    boards = positions(renma, scratch, count)
    assert len(boards) == count, f"{len(boards)} positions"
    (scratch / "boards.obf").write_text("".join(f"{board};\n" for board in boards))
    solve = [renma, "solve", scratch / "boards.obf", "--progress", "none", "--json"]
    solved = json.loads(subprocess.run(solve, check=True, capture_output=True).stdout)["positions"]
    assert len(solved) == len(boards)
    lines = [f"{board}; {found['move']}:{found['score'] // 1000:+d};\n" for board, found in zip(boards, solved)]
    # A score that is false on purpose shows that Edax compares.
    false = re.sub(r":([+-]\d+)", lambda score: f":{int(score[1]) + 2:+d}", lines[0])
    for listed, expected in ((lines, 0), ([false, *lines[1:9]], 1)):
        # Edax sums up at a position without scores.
        (scratch / "scored.obf").write_text("".join(listed) + f"{boards[0]};\n")
        found = run(edax, "-solve", scratch / "scored.obf", "-n", "1", "-l", "60", "-vv", "-q", folder=scratch)
        summary = re.search(r"(\d+) positions; (\d+) erroneous move; (\d+) erroneous score", found)
        assert summary, found[-2000:]
        assert [int(summary[1]), int(summary[3])] == [len(listed) + 1, expected], summary[0]
        print(summary[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("renma", type=Path)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--edax", type=Path)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--cache", type=Path, default=caches / "renma")
    options = parser.parse_args()
    edax = options.edax or fetched_edax(options.cache)
    if edax is None:
        sys.exit(77)  # A skipped check is not done.
    with tempfile.TemporaryDirectory() as name:
        main(options.renma.resolve(), options.count, edax.resolve(), Path(name))
