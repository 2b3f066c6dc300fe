"""Learns eval.dat by the published rule: python3 learn_es_cube.py DATASET configs/features/es-cube.toml eval.dat"""
import sys, tomllib
from pathlib import Path
import numpy as np, polars as pl

dataset, features, output = map(Path, sys.argv[1:])
rows = pl.concat([pl.read_parquet(part, hive_partitioning=False) for part in sorted(dataset.glob("positions/*.parquet"))])
black, white = (np.unpackbits(rows[name].to_numpy().view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
                for name in ("black", "white"))
black_to_move = rows["black_to_move"].to_numpy()[:, None]
boards = np.where(black_to_move, black + 2 * white, white + 2 * black).astype(int)  # 0 empty, 1 side to move, 2 opponent
grid = np.arange(64).reshape(8, 8)  # a1 = 0, b1 = 1, …, h8 = 63
symmetries = [np.rot90(turned, turns).ravel() for turned in (grid, grid.T) for turns in range(4)]


def index(boards, mirrors, powers):
    """The smallest index in base 3 of an instance and its mirrors, which share the weight there."""
    return np.min([boards[:, mirror] @ powers for mirror in mirrors], axis=0)


slots, shared, size = [], [], 0  # The weights that each instance visits; for each weight the one that its mirrors share.
for pattern in tomllib.loads(features.read_text())["pattern"][:-1]:
    squares = ["abcdefgh".index(name[0]) + 8 * int(name[1]) - 8 for name in pattern["squares"].split()]
    powers, instances = 3 ** np.arange(len(squares))[::-1], {}
    for symmetry in symmetries:
        instances.setdefault(frozenset(symmetry[squares].tolist()), []).append(symmetry[squares])
    slots += [size + index(boards, mirrors, powers) for mirrors in instances.values()]
    every = np.zeros((3 ** len(squares), 64), dtype=int)
    every[:, squares] = np.arange(len(every))[:, None] // powers % 3
    shared += [size + index(every, instances[frozenset(squares)], powers)]
    size += len(every)
slots += [size + (boards == 0).sum(axis=1) % 2]  # The last pattern is parity.
shared = np.concatenate([*shared, [size, size + 1]])
weights = np.zeros(len(shared), dtype=int)
for visited, result in zip(np.stack(slots, axis=1), rows["result"]):
    np.add.at(weights, visited, int((1000 * result - weights[visited].sum()) * 0.003))  # int() cuts toward zero.
    weights[visited] = np.clip(weights[visited], -20000, 20000)
weights[shared].astype("<i4").tofile(output)
