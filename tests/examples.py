#!/usr/bin/env python3
"""Run examples/python on a finished smoke run, and compare with renma.

    python3 tests/examples.py RENMA ROOT

RENMA is the program; ROOT holds datasets/smoke and models/smoke. The values of every position of a generation must be those
of `renma eval`, and the learned weights those of `renma train`, byte for byte. The boards and moves of boards.py must be those of
the definitions and those of `renma dataset export`, whose tokens every reader must read the same. Needs what tests/readers.py needs.
"""

import json, subprocess, sys, tempfile
from pathlib import Path

import duckdb, numpy, pandas, polars, pyarrow.parquet

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


def flips_of(own, other, square):
    """The discs that a move turns over, square by square."""
    turned = 0
    if (own | other) >> square & 1:
        return turned
    for down, right in [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]:
        row, column, line = square // 8 + down, square % 8 + right, 0
        while 0 <= row < 8 and 0 <= column < 8 and other >> 8 * row + column & 1:
            line |= 1 << 8 * row + column
            row, column = row + down, column + right
        if 0 <= row < 8 and 0 <= column < 8 and own >> 8 * row + column & 1:
            turned |= line
    return turned


def image_of(board, image):
    """A board whose squares went where `image` takes their row and column."""
    squares = [image(square // 8, square % 8) for square in range(64) if board >> square & 1]
    return sum(1 << 8 * row + column for row, column in squares)


IMAGES = [lambda row, column, turn=turn, row_flip=row_flip, column_flip=column_flip:
          (abs(row_flip - (row, column)[turn]), abs(column_flip - (row, column)[1 - turn]))
          for turn in (0, 1) for row_flip in (0, 7) for column_flip in (0, 7)]


def check_board_functions(boards):
    """Each function on random boards, all 64 bits of them, against its definition in integers of any size."""
    random = numpy.random.default_rng(1)
    taken, side = (random.integers(0, 1 << 64, 200, dtype=numpy.uint64) for _ in range(2))
    own, other = taken & side, taken & ~side
    pairs = list(zip(own.tolist(), other.tolist()))
    assert boards.planes(own).tolist() == [[board >> square & 1 for square in range(64)] for board, _ in pairs]
    assert (boards.bitboards(boards.planes(own)) == own).all()
    assert boards.discs(own).tolist() == [board.bit_count() for board, _ in pairs]
    for function, image in ((boards.flip_rows, IMAGES[2]), (boards.flip_columns, IMAGES[1]), (boards.transpose, IMAGES[4])):
        assert function(own).tolist() == [image_of(board, image) for board, _ in pairs], function.__name__
    least = [min((image_of(mine, image), image_of(yours, image)) for image in IMAGES) for mine, yours in pairs]
    assert list(zip(*(found.tolist() for found in boards.canonical(own, other)))) == least
    for square in range(64):
        expected = [flips_of(mine, yours, square) for mine, yours in pairs]
        squares = numpy.full(len(own), square)
        assert boards.flips(own, other, squares).tolist() == expected, square
        legal = boards.legal_moves(own, other) >> numpy.uint64(square) & numpy.uint64(1)
        assert legal.tolist() == [int(turned != 0) for turned in expected], square
        after = [(mine | turned | 1 << square, yours & ~turned) for (mine, yours), turned in zip(pairs, expected) if turned]
        moved, turned = (found[legal == 1].tolist() for found in boards.play(own, other, squares))
        assert list(zip(moved, turned)) == after, square
    print("boards.py: every function is that of its definition")


def check_tokens(renma, dataset, scratch):
    sys.path.insert(0, str(EXAMPLES))
    import boards

    check_board_functions(boards)
    path = scratch / "tokens.parquet"
    run(renma, "dataset", "export", dataset, "--format", "tokens", "--labels", "--output", path)
    print("boards.py:", example("boards.py", path).strip())
    transcripts = pyarrow.parquet.read_table(dataset / "games", columns=["moves"])["moves"].to_pylist()
    tokens = boards.tokens_of(transcripts)
    # The same arrays from each reader.
    column = pyarrow.parquet.read_table(path)["tokens"].combine_chunks()
    by_pyarrow = column.flatten().to_numpy().reshape(len(column), -1)
    by_polars = numpy.stack(polars.read_parquet(path)["tokens"].to_list())
    by_pandas = numpy.stack(pandas.read_parquet(path)["tokens"])
    by_duckdb = numpy.stack(duckdb.sql(f"SELECT tokens FROM '{path}'").fetchnumpy()["tokens"])
    for found in (by_pyarrow, by_polars, by_pandas, by_duckdb):
        assert (found == tokens).all()
    canonical, split = boards.canonical_games(tokens), polars.read_parquet(path)["split"].to_numpy()
    sides = [{game.tobytes() for game in canonical[split == side]} for side in ("train", "validation")]
    assert sides[0] and sides[1] and not sides[0] & sides[1], "a game is on both sides of the split"
    print(f"tokens: {len(tokens):,} games equal in pyarrow, Polars, pandas and DuckDB, {len(sides[1])} for validation")


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
        check_tokens(renma, selfplay / "generation=0002", scratch)
    answers = example("read.py", selfplay / "generation=0002", root / "models/smoke/v0002").splitlines()[1:4]
    assert len({answer[7:] for answer in answers}) == 1, f"read.py: {answers}"
    print(f"read.py: one answer of {len(answers)} readers")


if __name__ == "__main__":
    main(*sys.argv[1:])
