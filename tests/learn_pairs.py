#!/usr/bin/env python3
"""Learn weights and vectors with numpy, and compare with renma train, number for number.

    python3 tests/learn_pairs.py RENMA

10,000 rows of the sample are learned from nothing, and then from the model that results, by other settings: with the rules of
docs/training.md, from the choice and the order of the rows to every step of a weight and of a vector, and the random streams of
src/random.rs. All is exact, in integers and in doubles that are cut to integers, so nothing may differ. Needs what
tests/readers.py needs.
"""

import itertools, json, math, sys, tempfile, tomllib
from pathlib import Path

import numpy as np
import polars as pl
from blake3 import blake3

sys.dont_write_bytecode = True  # The examples' folder holds nothing but them.
from examples import EXAMPLES, FEATURES, PROJECT, run

sys.path.insert(0, str(EXAMPLES))
from evaluate import instance_indices, number

SAMPLE = PROJECT / "datasets/sample/selfplay/generation=0001"
SEED = 7
# With this ratio many steps are whole numbers, and with the double below it they are just less. So the last binary digit
# shows: in the first training if a ratio is too large, in the second if it is too small.
VECTOR_RATIO = 50_000 / 2**22
FIRST = {
    "ratio": 0.005, "ratio_decay": 0.8, "clip": 3000, "fraction_bits": 8, "quantum": 1, "target": "result",
    "weight_scale": 20.0, "start": "zero", "epochs": 2, "shuffle": True, "validation": 0.83, "overlap": 2, "wide_overlap": 5,
    "vector_ratio": math.nextafter(VECTOR_RATIO, 0), "vector_epochs": 2,
}
SECOND = FIRST | {
    "ratio": 2**-7, "clip": 20000, "fraction_bits": 4, "quantum": 16, "target": "score", "weight_scale": 0.0,
    "start": "parent", "shuffle": False, "wide_overlap": 0, "overlap": 0, "vector_ratio": VECTOR_RATIO, "vector_epochs": 1,
}
SET = tomllib.loads(FEATURES)
PHASES, GROUPS, SIZE = SET["phase_empties_max"], SET["vector_empties_max"], SET["vectors"]
SIGNS = np.where(np.arange(SIZE) < SIZE - SET["negative"], 1, -1)
COUNTS = [3 ** len(pattern["squares"].split()) if "squares" in pattern else 2 if pattern["kind"] == "parity"
          else pattern.get("cap", 31) + 1 for pattern in SET["pattern"]]
OFFSETS = np.cumsum([0, *COUNTS])
FEATURE_COUNT = OFFSETS[-1]


def key(*words):
    """The key of a random stream: a hash of the seed and what the stream is for."""
    material = b"".join(word.to_bytes(8, "little") for word in (SEED, *words))
    return blake3(material, derive_key_context="renma 2026 random stream").digest()


def stream(*words):
    """Numbers of 32 bits from ChaCha with 8 rounds."""
    columns = [(place, place + 4, place + 8, place + 12) for place in range(4)]
    diagonals = [(place, 4 + (place + 1) % 4, 8 + (place + 2) % 4, 12 + (place + 3) % 4) for place in range(4)]
    constants = np.frombuffer(b"expand 32-byte k" + key(*words), "<u4").tolist()
    for counter in itertools.count():
        begin = [*constants, counter, 0, 0, 0]
        state = begin.copy()
        for a, b, c, d in 4 * (columns + diagonals):
            for to, by, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[to] = (state[to] + state[by]) % 2**32
                mixed = state[turned] ^ state[to]
                state[turned] = (mixed << bits | mixed >> 32 - bits) % 2**32
        yield from ((left + right) % 2**32 for left, right in zip(begin, state))


def below(numbers, bound):
    """A uniform number (Lemire, 2019)."""
    while True:
        product = next(numbers) * bound
        if 2**32 % bound <= product % 2**32:
            return product >> 32


def order(count, part, epoch):
    """A random order of the rows of a part."""
    rows, numbers = list(range(count)), stream(2, part << 32 | epoch, 1)
    for index in reversed(range(1, count)):
        other = below(numbers, index + 1)
        rows[index], rows[other] = rows[other], rows[index]
    return rows


def cut(numbers):
    """Doubles without what is behind the point."""
    return np.trunc(numbers).astype(int)


def divided(number, divisor):
    """Integers divided, and cut toward zero."""
    return np.sign(number) * (np.abs(number) // divisor)


def inverse_roots(counts):
    """1/√n, from 1,024 on that of n without its last binary digits."""
    scales = np.ones(len(counts))
    while (large := counts >= 1024).any():
        counts, scales = np.where(large, counts >> 4, counts), np.where(large, scales / 4, scales)
    return 1 / np.sqrt(counts.clip(1)) * scales


def own_and_other(rows):
    """The discs of the side to move and of the other: 64 bits per position."""
    discs = {name: np.unpackbits(rows[name].to_numpy().view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
             for name in ("black", "white")}
    black_to_move = rows["black_to_move"].to_numpy()[:, None]
    return [np.where(black_to_move, discs[left], discs[right]) for left, right in (("black", "white"), ("white", "black"))]


def game_names(rows):
    """The name of each game: of its last position, as two bitboards, the least of the eight images."""
    last = rows.group_by("game_id", maintain_order=True).last()
    boards = np.stack(own_and_other(last), axis=1).reshape(-1, 2, 8, 8)
    images = [np.rot90(board, turns, (2, 3)) for board in (boards, boards.swapaxes(2, 3)) for turns in range(4)]
    packed = [np.packbits(image.reshape(-1, 2, 64), axis=2, bitorder="little").view("<u8")[..., 0] for image in images]
    return dict(zip(last["game_id"], (min(names) for names in zip(*(sides.tolist() for sides in packed)))))


class Rows:
    """The rows to learn: features, empty squares, targets in millidiscs, weights in 256ths."""

    def __init__(self, settings):
        rows = pl.read_parquet(SAMPLE / "positions/part-00000.parquet", hive_partitioning=False)
        def is_held_out(name):
            drawn = blake3(b"".join(side.to_bytes(8, "little") for side in name), key=key(3, 0, 0)).digest()
            return (int.from_bytes(drawn[:8], "little") >> 11) / 2**53 < settings["validation"]

        held_out = [game for game, name in game_names(rows).items() if is_held_out(name)]
        rows = rows.filter(~pl.col("game_id").is_in(held_out))
        own, other = own_and_other(rows)
        boards = (own + 2 * other).astype(int)
        squares, numbers = [], []  # Instances come before numbers.
        for offset, pattern in zip(OFFSETS, map(dict, SET["pattern"])):
            del pattern["name"]
            if "squares" in pattern:
                squares += [offset + index for index in instance_indices(boards, **pattern)]
            else:
                numbers.append(offset + number(boards, **pattern))
        self.features = np.stack(squares + numbers, axis=1)
        self.empties = rows["empties"].to_numpy()
        self.targets = rows[settings["target"]].to_numpy().astype(int) * (1000 if settings["target"] == "result" else 1)
        self.weights = np.full(len(rows), 256)
        if settings["weight_scale"] > 0:
            self.weights = np.floor(256 / (1 + (self.targets / 1000 / settings["weight_scale"]) ** 2) + 0.5).astype(int).clip(1)

    def of(self, least, most, settings, part, epoch):
        """The numbers of the rows within a range of empty squares, in the order of an epoch of a part."""
        chosen = np.flatnonzero((least <= self.empties) & (self.empties <= most))
        if not settings["shuffle"]:
            return chosen
        chosen = chosen[np.argsort(self.empties[chosen], kind="stable")]
        return chosen[order(len(chosen), part, epoch)]


def rounded(vectors):
    return (vectors + 2**15) >> 16


def pairs(vectors):
    """The sums of vectors, and the products of their pairs: half of the squared sum less half of the squares, with signs."""
    sums = vectors.sum(axis=-2)
    return sums, ((SIGNS * sums**2).sum(axis=-1) >> 2) - ((SIGNS * vectors**2).sum(axis=-1) >> 2).sum(axis=-1)


def learn_weights(rows, learned, vectors, least, most, settings, part):
    """A part of weights beside vectors, from weights in units and their visits."""
    weights, visits = (values.copy() for values in learned)
    clip, ratio = settings["clip"] << settings["fraction_bits"], settings["ratio"]
    for epoch in range(settings["epochs"]):
        numbers = rows.of(least, most, settings, part, epoch)
        targets = (rows.targets[numbers] - pairs(rounded(vectors)[rows.features[numbers]])[1]) << settings["fraction_bits"]
        ratios = ratio * rows.weights[numbers] / 256
        for features, target, row_ratio in zip(rows.features[numbers], targets, ratios):
            update = cut((target - weights[features].sum()) * row_ratio)
            visited, counts = np.unique(features, return_counts=True)
            weights[visited] = (weights[visited] + update * counts).clip(-clip, clip)
            visits[visited] += settings["epochs"] * counts * (epoch == 0)
        ratio *= settings["ratio_decay"]
    return weights, visits


def learn_vectors(rows, weights, vectors, least, most, settings, part):
    """A part of vectors, in 65,536ths of their unit, beside the weights of all phases; and their visits."""
    vectors, visits = vectors.copy(), np.zeros(FEATURE_COUNT, dtype=int)
    ratio, roots = settings["vector_ratio"], inverse_roots(np.arange(1 << 20))
    phases = np.sum(rows.empties[:, None] <= PHASES, axis=1) - 1
    for epoch in range(settings["vector_epochs"]):
        for row in rows.of(least, most, settings, part, epoch):
            features = rows.features[row]
            target = rows.targets[row] - (weights[phases[row]][features].sum() >> settings["fraction_bits"])
            sums, value = pairs(rounded(vectors[features]))
            step = (target - value) * (ratio * rows.weights[row] / 256 * (2**22 / 1000))
            while len(features) > 0:  # A feature that comes twice moves twice.
                _, first = np.unique(features, return_index=True)
                once, features = features[first], np.delete(features, first)
                visits[once] += 1
                steps = cut((step * roots[visits[once]]).clip(-(2**17), 2**17))
                change = divided(SIGNS * (sums - rounded(vectors[once])) * steps[:, None], 64)
                vectors[once] = (vectors[once] + change).clip(-31 << 16, 31 << 16)
        ratio *= 0.5
    return vectors, visits


def first_vectors(group, features):
    """The random vectors of a group."""
    vectors = np.zeros((FEATURE_COUNT, SIZE), dtype=int)
    for feature in np.unique(features).tolist():
        pattern = int(np.searchsorted(OFFSETS, feature, side="right")) - 1
        numbers = stream(8, group << 32 | pattern, feature - int(OFFSETS[pattern]))
        vectors[feature] = [below(numbers, 3 << 16) + below(numbers, 3 << 16) - (3 << 16) for _ in range(SIZE)]
    return vectors


def train(settings, parent):
    """The number of rows; weights and visits of each phase and vectors of each group, from a parent's or from nothing."""
    rows, parts, bits = Rows(settings), itertools.count(), settings["fraction_bits"]
    weights, visits, vectors = parent or (np.zeros((len(PHASES), FEATURE_COUNT), dtype=int),) * 2 + (None,)
    ranges = [(least + 1, most) for most, least in zip(PHASES, [*PHASES[1:], -1])]
    frozen = np.zeros((len(GROUPS), FEATURE_COUNT, SIZE), dtype=int) if vectors is None else vectors << 16
    begun = [(of_phase << bits, visited) for of_phase, visited in zip(weights, visits)]
    groups = np.sum(np.array(PHASES)[:, None] <= GROUPS, axis=1) - 1  # Of each phase.

    def learned(phase, begun, overlap, part):
        least, most = ranges[phase]
        least, most = max(0, least - overlap), min(60, most + overlap)
        return learn_weights(rows, begun, frozen[groups[phase]], least, most, settings, part)

    for first in range(0, len(PHASES), 5) if settings["wide_overlap"] > 0 else []:
        phases = range(first, min(first + 5, len(PHASES)))
        middle = first + len(phases) // 2
        wide, _ = learned(middle, begun[middle], settings["wide_overlap"], next(parts))
        for phase in phases:
            begun[phase] = wide, visits[phase]
    of_phases = [learned(phase, begun[phase], settings["overlap"], next(parts)) for phase in range(len(PHASES))]
    for group in range(len(GROUPS)):
        phases = np.flatnonzero(groups == group)
        begin = first_vectors(group, rows.features) if vectors is None else frozen[group]
        least, most = ranges[phases[-1]][0], ranges[phases[0]][1]
        moved, visited = learn_vectors(rows, [pair[0] for pair in of_phases], begin, least, most, settings, next(parts))
        if vectors is None:
            moved[visited == 0] = 0
        frozen[group] = rounded(moved) << 16
    refit = [learned(phase, of_phases[phase], settings["overlap"], next(parts)) for phase in range(len(PHASES))]
    weights, visits = (np.stack(values) for values in zip(*refit))
    unit, most = settings["quantum"] << bits, 25_079 // settings["quantum"]
    weights = np.sign(weights) * ((2 * np.abs(weights) + unit) // (2 * unit)).clip(max=most) * settings["quantum"]
    return len(rows.features), (weights, visits, frozen >> 16)


def read(model):
    """What a model has, as `train` gives it."""
    offsets = dict(zip((pattern["name"] for pattern in SET["pattern"]), OFFSETS.tolist()))

    def table(name, first, count, *columns):
        rows = pl.read_parquet(model / f"{name}.parquet")
        places = rows[first].to_numpy(), rows["pattern"].replace_strict(offsets).to_numpy() + rows["index"].to_numpy()
        filled = np.zeros((count, FEATURE_COUNT, len(columns)), dtype=int)
        filled[places] = rows.select(columns).to_numpy()
        return filled

    weights, visits = np.moveaxis(table("weights", "phase", len(PHASES), "weight", "visits"), 2, 0)
    return weights, visits, table("vectors", "group", len(GROUPS), *(f"component_{place}" for place in range(SIZE)))


def check(renma, scratch, settings, parent, made):
    """Trains by renma and here; what both have made."""
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    (scratch / "pairs.toml").write_text(f'[run]\nseed = {SEED}\nfeatures = "features.toml"\n\n[train]\n{table}')
    run(renma, "train", "--progress", "none", "--config", scratch / "pairs.toml", "--dataset", SAMPLE,
        "--models", scratch / "models", *(["--parent", scratch / "models/v0001"] if parent else []))
    expected, (count, found) = read(scratch / "models" / made), train(settings, parent)
    for name, ours, theirs in zip(("weights", "visits", "components"), found, expected):
        differing = np.count_nonzero(ours != theirs)
        assert differing == 0, f"{made}: {differing:,} of {ours.size:,} {name} differ"
        filled = np.count_nonzero(ours)
        print(f"{made}: {ours.size:,} {name} from {count:,} rows equal to renma train, {filled:,} of them not zero")
    return found


def main(renma):
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "features.toml").write_text(FEATURES)
        first = check(Path(renma).resolve(), scratch, FIRST, None, "v0001")
        check(Path(renma).resolve(), scratch, SECOND, first, "v0002")


if __name__ == "__main__":
    main(*sys.argv[1:])
