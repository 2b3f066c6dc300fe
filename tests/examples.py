#!/usr/bin/env python3
"""Run examples/python on a finished smoke run, and compare with renma.

    python3 tests/examples.py RENMA ROOT

RENMA is the program; ROOT holds datasets/smoke and models/smoke. The values of every position of a generation must be those
of `renma eval`, and the learned weights those of `renma train`, byte for byte. Needs what tests/readers.py needs.
"""

import json, subprocess, sys, tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
EXAMPLES = PROJECT / "examples/python"

# Every kind of pattern: two, one and eight mirrors, more than one phase, each number for each side, small and absent caps; and
# vectors, in fewer groups than there are phases.
FEATURES = """name = "every-kind"
phase_empties_max = [60, 50, 44, 30, 17, 8]
vectors = 5
negative = 2
vector_empties_max = [60, 17]
""" + "".join(f'\n[[pattern]]\nname = "P{number}"\n{text}\n' for number, text in enumerate([
    'squares = "a1 b1 c1 d1 e1 f1 g1 h1"', 'squares = "a1 b1 c1 a2"', 'squares = "c3 f3 c6 f6"', 'kind = "parity"',
    *(f'kind = "{kind}"\nside = "{side}"\n{cap}' for kind in ("mobility", "potential", "discs")
      for side, cap in (("own", "cap = 5"), ("opponent", "")))]))


def run(*command):
    """The standard output of a command; its standard error is shown if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command} ends with {done.returncode}\n{done.stderr}"
    return done.stdout


def example(name, *arguments):
    return run(sys.executable, EXAMPLES / name, *arguments)


def check_values(renma, model, positions, *examples):
    """The examples and renma value each position the same."""
    found = json.loads(run(renma, "eval", positions, "--model", model, "--json"))["positions"]
    expected = [position["score"] for position in found]
    assert len(set(expected)) > 1000, "the positions tell nothing apart"
    folder = PROJECT / "models/shipped" if model == "builtin:champion" else model
    for name in examples:
        values = [int(line) for line in example(name, folder, positions).splitlines()]
        differing = sum(value != score for value, score in zip(values, expected, strict=True))
        assert differing == 0, f"{name}: {differing} of {len(values)} values differ from those of {model}"
        print(f"{name}: {len(values):,} values equal to renma eval, {Path(*Path(model).parts[-2:])}")


def check_learning(renma, dataset, scratch):
    config = PROJECT / "configs/seed.toml"
    run(renma, "train", "--progress", "none", "--config", config, "--dataset", dataset, "--models", scratch / "seed")
    model, output = scratch / "seed/v0001", scratch / "renma.dat"
    run(renma, "model", "export", "--model", model, "--format", "es-cube-eval", "--output", output)
    example("learn_es_cube.py", dataset, PROJECT / "configs/features/es-cube.toml", scratch / "eval.dat")
    found, expected = (scratch / "eval.dat").read_bytes(), output.read_bytes()
    assert any(expected) and found == expected, "learn_es_cube.py learns other weights than renma train"
    print(f"learn_es_cube.py: {len(found):,} bytes equal to renma train")


def main(renma, root):
    renma, root = Path(renma).resolve(), Path(root).resolve()
    selfplay = root / "datasets/smoke/selfplay"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        positions = scratch / "positions.obf"
        run(renma, "dataset", "export", selfplay / "generation=0002", "--format", "obf", "--output", positions)
        (scratch / "features.toml").write_text(FEATURES)
        (scratch / "every-kind.toml").write_text('[run]\nfeatures = "features.toml"\n\n[train]\nepochs = 1\n')
        run(renma, "train", "--progress", "none", "--config", scratch / "every-kind.toml",
            "--dataset", selfplay / "generation=0001", "--models", scratch / "every-kind")
        check_values(renma, "builtin:champion", positions, "evaluate.py")
        check_values(renma, scratch / "every-kind/v0001", positions, "evaluate.py")
        check_values(renma, root / "models/smoke/v0002", positions, "evaluate.py", "evaluate_es_cube.py")
        check_learning(renma, selfplay / "generation=0001", scratch)
    answers = example("read.py", selfplay / "generation=0002", root / "models/smoke/v0002").splitlines()[1:4]
    assert len({answer[7:] for answer in answers}) == 1, f"read.py: {answers}"
    print(f"read.py: one answer of {len(answers)} readers")


if __name__ == "__main__":
    main(*sys.argv[1:])
