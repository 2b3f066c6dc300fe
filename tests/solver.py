#!/usr/bin/env python3
"""Compare exact scores of renma with those of Edax, another solver, on positions of the sample's games.

    python3 tests/solver.py RENMA EDAX [COUNT]

EDAX is a built Edax 4.5. COUNT positions, 10,000 by default, have 11 to 20
empty squares, equally many of each. Edax reads its weights from a model that is trained here.
"""

import json, random, re, subprocess, sys, tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SAMPLE = PROJECT / "datasets/sample/selfplay/generation=0001"
EMPTIES = range(11, 21)


def run(*command, folder=PROJECT):
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} ends with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def positions(renma, scratch, count):
    """Boards of the sample with EMPTIES empty squares, `count` in all, by seed."""
    run(renma, "dataset", "export", SAMPLE, "--format", "obf", "--output", scratch / "all.obf")
    boards = sorted({line[:66] for line in (scratch / "all.obf").read_text().splitlines()})
    of_empties = {empties: [board for board in boards if board[:64].count("-") == empties] for empties in EMPTIES}
    draw = random.Random(1)
    return [board for found in of_empties.values() for board in draw.sample(found, min(len(found), count // len(EMPTIES)))]


def main(renma, edax, count="10000"):
    renma, edax = Path(renma).resolve(), Path(edax).resolve()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "edax.toml").write_text(f'[run]\nfeatures = "{PROJECT}/configs/features/edax.toml"\n\n[train]\nepochs = 2\n')
        run(renma, "train", "--progress", "none", "--config", scratch / "edax.toml", "--dataset", SAMPLE, "--models", scratch / "models")
        (scratch / "data").mkdir()
        run(renma, "model", "export", "--model", scratch / "models/v0001", "--format", "edax-eval", "--output", scratch / "data/eval.dat")
        boards = positions(renma, scratch, int(count))
        (scratch / "boards.obf").write_text("".join(f"{board};\n" for board in boards))
        solved = subprocess.run([renma, "solve", scratch / "boards.obf", "--progress", "none", "--json"], check=True, capture_output=True)
        solved = json.loads(solved.stdout)["positions"]
        assert len(solved) == len(boards)
        lines = [f"{board}; {found['move']}:{found['score'] // 1000:+d};\n" for board, found in zip(boards, solved)]
        # A score that is false on purpose shows that Edax compares.
        for listed, expected in ((lines, 0), ([re.sub(r":([+-]\d+)", lambda score: f":{int(score[1]) + 2:+d}", lines[0]), *lines[1:9]], 1)):
            # Edax sums up at a position without scores.
            (scratch / "scored.obf").write_text("".join(listed) + f"{boards[0]};\n")
            found = run(edax, "-solve", scratch / "scored.obf", "-n", "1", "-l", "60", "-vv", "-q", folder=scratch)
            summary = re.search(r"(\d+) positions; (\d+) erroneous move; (\d+) erroneous score", found)
            assert summary, found[-2000:]
            assert [int(summary[1]), int(summary[3])] == [len(listed) + 1, expected], summary[0]
            print(summary[0])


main(*sys.argv[1:])
