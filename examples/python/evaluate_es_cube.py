"""Static values by an es-cube model, in millidiscs: python3 evaluate_es_cube.py models/seed/v0001 positions.obf"""
import sys, tomllib
from pathlib import Path
import numpy as np, polars as pl

lines = [line.split() for line in open(sys.argv[2])]
boards = np.array([[("-XO" if side[0] == "X" else "-OX").index(disc) for disc in board] for board, side, *_ in lines])
grid = np.arange(64).reshape(8, 8)  # a1 = 0, b1 = 1, …, h8 = 63
symmetries = [np.rot90(turned, turns).ravel() for turned in (grid, grid.T) for turns in range(4)]
tables = pl.read_parquet(Path(sys.argv[1]) / "weights.parquet").partition_by("pattern", as_dict=True)
values = np.zeros(len(boards), dtype=int)
for pattern in tomllib.loads((Path(sys.argv[1]) / "features.toml").read_text())["pattern"]:
    table = tables[pattern["name"],]  # Its rows are in order of the index.
    squares = ["abcdefgh".index(name[0]) + 8 * int(name[1]) - 8 for name in pattern.get("squares", "").split()]
    images = [symmetry[squares] for symmetry in symmetries] if squares else []
    powers = 3 ** np.arange(len(squares))[::-1]
    indices = [(boards == 0).sum(axis=1) % 2] if not squares else []  # PARITY has no squares.
    for instance in {frozenset(image.tolist()) for image in images}:
        # Images with the same squares are mirrors, which share the weight of the smallest index.
        indices.append(np.min([boards[:, image] @ powers for image in images if set(image) == instance], axis=0))
    for index in indices:
        values += table["weight"].to_numpy()[np.searchsorted(table["index"], index)]
print(*values, sep="\n")
