"""Static values by any model of renma, in millidiscs: python3 evaluate.py models/shipped positions.obf"""
import sys, tomllib
from pathlib import Path

import numpy as np
import polars as pl

GRID = np.arange(64).reshape(8, 8)  # a1 = 0, b1 = 1, …, h8 = 63
SYMMETRIES = [np.rot90(grid, turns).ravel() for grid in (GRID, GRID.T) for turns in range(4)]
STEPS = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if (row, column) != (0, 0)]


def read_obf(path):
    """An array with 64 digits per position: 0 empty, 1 side to move, 2 opponent."""
    lines = [line.split() for line in Path(path).read_text().splitlines() if line]
    return np.array([[("-XO" if side[0] == "X" else "-OX").index(disc) for disc in board] for board, side, *_ in lines])


def instance_indices(boards, squares):
    """The index of each instance of a pattern, in base 3: the smallest one of its mirrors."""
    squares = ["abcdefgh".index(name[0]) + 8 * int(name[1]) - 8 for name in squares.split()]
    instances = {}  # The images of the pattern under the symmetries; images with the same squares are mirrors.
    for symmetry in SYMMETRIES:
        instances.setdefault(frozenset(symmetry[squares].tolist()), []).append(symmetry[squares])
    powers = 3 ** np.arange(len(squares))[::-1]
    return [np.min([boards[:, mirror] @ powers for mirror in mirrors], axis=0) for mirrors in instances.values()]


def number(boards, kind, side="own", cap=31):
    """The index of a pattern without squares."""
    padded = np.pad(boards.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)), constant_values=-1)
    own, other, empty = (padded == disc for disc in ((1, 2, 0) if side == "own" else (2, 1, 0)))
    if kind == "parity":
        return empty.sum(axis=(1, 2)) % 2
    counted = own if kind == "discs" else np.zeros_like(own)
    for step in STEPS if kind in ("mobility", "potential") else []:
        line = other & np.roll(own, step, axis=(1, 2)) if kind == "mobility" else other
        for _ in range(5):  # A move turns over at most six discs of a line.
            line = line | other & np.roll(line, step, axis=(1, 2))
        counted |= empty & np.roll(line, step, axis=(1, 2))
    return np.minimum(counted.sum(axis=(1, 2)), cap)


def evaluate(model, boards):
    """The weights of all patterns, in the phase of each position, and the products of all pairs of their vectors."""
    features = tomllib.loads((Path(model) / "features.toml").read_text())
    weights = pl.read_parquet(Path(model) / "weights.parquet").partition_by("phase", "pattern", as_dict=True)
    size, vectors = features.get("vectors", 0), {}
    signs = np.where(np.arange(size) < size - features.get("negative", 0), 1, -1)
    if size > 0:
        vectors = pl.read_parquet(Path(model) / "vectors.parquet").partition_by("group", "pattern", as_dict=True)
    empties = (boards == 0).sum(axis=1)[:, None]
    phases = np.sum(empties <= features["phase_empties_max"], axis=1) - 1
    groups = np.sum(empties <= features.get("vector_empties_max", [60]), axis=1) - 1
    values, sums = (np.zeros(shape, dtype=int) for shape in (len(boards), (len(boards), size)))
    for phase in np.unique(phases):
        rows, chosen = boards[phases == phase], phases == phase
        for name, pattern in [(pattern.pop("name"), pattern) for pattern in map(dict, features["pattern"])]:
            table = weights[phase, name]  # Its rows are in order of the index.
            components = np.zeros((len(table), size), dtype=int)
            if (learned := vectors.get((groups[chosen][0], name))) is not None:  # A vector without a row is zero.
                components[np.searchsorted(table["index"], learned["index"])] = learned.select(pl.col("^component_.*$"))
            for index in instance_indices(rows, **pattern) if "squares" in pattern else [number(rows, **pattern)]:
                places = np.searchsorted(table["index"], index)
                values[chosen] += table["weight"].to_numpy()[places]
                sums[chosen] += components[places]
                values[chosen] -= (signs * components[places] ** 2).sum(axis=1) >> 2
    return values + ((signs * sums**2).sum(axis=1) >> 2)


if __name__ == "__main__":
    print(*evaluate(sys.argv[1], read_obf(sys.argv[2])), sep="\n")
