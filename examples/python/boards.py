"""Boards as numpy arrays, for any number of positions at once, and games as tokens: python3 boards.py TOKENS.parquet

Bit i of a bitboard is square i: a1 = 0, b1 = 1, …, h8 = 63. All bitboards here are uint64, and so is every constant that meets them:
numpy before 2.0 makes floats of uint64 and Python's integers, and those have 53 bits.
"""
import sys

import numpy as np

ONE, ZERO = np.uint64(1), np.uint64(0)
FULL, NOT_A, NOT_H = (np.uint64(bits) for bits in (0xFFFFFFFFFFFFFFFF, 0xFEFEFEFEFEFEFEFE, 0x7F7F7F7F7F7F7F7F))
BLACK, WHITE = np.uint64(1 << 28 | 1 << 35), np.uint64(1 << 27 | 1 << 36)  # The start; black is to move.

# Steps to the eight neighbors: how far to shift, and which squares can be reached.
STEPS = [(1, NOT_A), (7, NOT_H), (8, FULL), (9, NOT_A), (-1, NOT_H), (-7, NOT_A), (-8, FULL), (-9, NOT_H)]

# Tokens: 0 is the pad, 1 to 60 are a1 a2 … h8 without d4 d5 e4 e5. Letters come first, so this is not the order of squares.
SQUARE_OF_TOKEN = np.array([-1] + [8 * digit + letter for letter in range(8) for digit in range(8)
                                   if not {letter, digit} <= {3, 4}])
TOKEN_OF_SQUARE = np.zeros(64, dtype=np.uint8)
TOKEN_OF_SQUARE[SQUARE_OF_TOKEN[1:]] = np.arange(1, 61)


def planes(boards):
    """0 or 1 for each square, in a new last axis."""
    boards = np.asarray(boards, dtype="<u8")
    return np.unpackbits(boards[..., None].view(np.uint8), axis=-1, bitorder="little")


def bitboards(planes):
    """The bitboards of which these are the planes."""
    return np.packbits(np.asarray(planes, dtype=np.uint8), axis=-1, bitorder="little").view("<u8")[..., 0].astype(np.uint64)


def discs(boards):
    """The number of discs, or of any squares."""
    return planes(boards).sum(axis=-1, dtype=np.int64)


def flip_rows(boards):
    """Mirrored top to bottom."""
    return np.asarray(boards, dtype=np.uint64).byteswap()


def flip_columns(boards):
    """Mirrored left to right."""
    return bitboards(planes(boards)[..., ::-1]).byteswap()


def transpose(boards):
    """Mirrored about the diagonal from a1 to h8."""
    grids = planes(boards).reshape(*np.shape(boards), 8, 8)
    return bitboards(grids.swapaxes(-1, -2).reshape(*np.shape(boards), 64))


def images(boards):
    """The eight images of each board, in a new first axis."""
    two = [np.asarray(boards, dtype=np.uint64), transpose(boards)]
    four = two + [flip_rows(image) for image in two]
    return np.stack(four + [flip_columns(image) for image in four])


def canonical(own, other):
    """The least of the eight images of each position, the same for all positions that are equal up to symmetry."""
    all_own, all_other = images(own), images(other)
    best_own, best_other = all_own[0], all_other[0]
    for image_own, image_other in zip(all_own, all_other):
        is_less = (image_own < best_own) | (image_own == best_own) & (image_other < best_other)
        best_own, best_other = np.where(is_less, image_own, best_own), np.where(is_less, image_other, best_other)
    return best_own, best_other


def shifted(boards, step):
    distance, reached = step
    bits = np.uint64(abs(distance))
    return (boards << bits if distance > 0 else boards >> bits) & reached


def lines(own, other, begin, step):
    """The discs of the other side in one direction from `begin`, without a gap."""
    line = shifted(begin, step) & other
    for _ in range(5):  # A move turns over at most six discs of a line.
        line = line | shifted(line, step) & other
    return line


def legal_moves(own, other):
    """The legal moves of the side with the discs `own`."""
    own, other = np.asarray(own, dtype=np.uint64), np.asarray(other, dtype=np.uint64)
    moves = np.zeros(np.broadcast(own, other).shape, dtype=np.uint64)
    for step in STEPS:
        moves = moves | shifted(lines(own, other, own, step), step)
    return moves & ~(own | other)


def flips(own, other, squares):
    """The discs that a move turns over; none where it is illegal."""
    own, other = np.asarray(own, dtype=np.uint64), np.asarray(other, dtype=np.uint64)
    begin = ONE << np.asarray(squares).astype(np.uint64)
    flipped = np.zeros(np.broadcast(own, other, begin).shape, dtype=np.uint64)
    for step in STEPS:
        line = lines(own, other, begin, step)
        is_closed = (shifted(line, step) & own) != ZERO
        flipped = flipped | np.where(is_closed, line, ZERO)
    return np.where((begin & (own | other)) == ZERO, flipped, ZERO)


def play(own, other, squares):
    """The discs of the side that moved, and of the other, after a move."""
    flipped = flips(own, other, squares)
    return own | flipped | ONE << np.asarray(squares).astype(np.uint64), other & ~flipped


def replay(tokens):
    """The positions before the moves of games, one row per game: discs of the side to move, of the other, and whether black is to move.

    A side without a move passes. After the last move of a game its final position stays.
    """
    tokens = np.asarray(tokens)
    own, other = np.full(len(tokens), BLACK), np.full(len(tokens), WHITE)
    black_to_move, found = np.ones(len(tokens), dtype=bool), []
    for column in tokens.T:
        found.append((own, other, black_to_move))
        is_move, squares = column != 0, SQUARE_OF_TOKEN[column].clip(0)
        if (is_move & (flips(own, other, squares) == ZERO)).any():
            raise ValueError("a token is not a legal move")
        moved, turned = play(own, other, squares)
        has_reply, can_continue = legal_moves(turned, moved) != ZERO, legal_moves(moved, turned) != ZERO
        passes = ~has_reply & can_continue
        black_to_move = np.where(is_move & ~passes, ~black_to_move, black_to_move)
        own, other = (np.where(is_move, np.where(passes, first, second), before)
                      for first, second, before in ((moved, turned, own), (turned, moved, other)))
    return tuple(np.stack(column, axis=1) for column in zip(*found))


def tokens_of(transcripts, length=60):
    """The tokens of games `f5d6c3…`, padded with 0."""
    tokens = np.zeros((len(transcripts), length), dtype=np.uint8)
    for row, text in zip(tokens, transcripts):
        squares = [8 * int(text[place + 1]) - 8 + "abcdefgh".index(text[place]) for place in range(0, len(text), 2)][:length]
        row[:len(squares)] = TOKEN_OF_SQUARE[squares]
    return tokens


def canonical_games(tokens):
    """The least image of each game under the four symmetries that keep the start, as rows of tokens."""
    grid = np.arange(64).reshape(8, 8)
    image_of = []
    for image in (grid, grid.T, grid[::-1, ::-1], grid[::-1, ::-1].T):
        image_of.append(np.concatenate([[0], TOKEN_OF_SQUARE[image.ravel()[SQUARE_OF_TOKEN[1:]]]]).astype(np.uint8))
    # The first moves of the four images differ, so the first token decides.
    found = np.stack([image[tokens] for image in image_of])
    return found[found[:, :, 0].argmin(axis=0), np.arange(len(tokens))]


def main(path):
    import pyarrow.parquet

    def array(name):
        return table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(len(table), -1)

    table = pyarrow.parquet.read_table(path)
    tokens = array("tokens")
    own, other, black_to_move = replay(tokens)
    is_move = tokens != 0
    expected = {"mine": own, "yours": other, "legal": legal_moves(own, other), "black_to_move": black_to_move}
    for name, values in expected.items():
        if name in table.column_names:
            assert (array(name) == np.where(is_move, values, 0)).all(), f"{name} is not that of the games"
    by_parity = np.arange(tokens.shape[1]) % 2 == 0
    wrong = is_move & (black_to_move != by_parity)
    print(f"{len(table):,} games, {is_move.sum():,} moves; by the parity of the move {100 * wrong.sum() / is_move.sum():.2f} % "
          f"of the moves in {100 * wrong.any(axis=1).mean():.1f} % of the games get the wrong color")


if __name__ == "__main__":
    main(sys.argv[1])
