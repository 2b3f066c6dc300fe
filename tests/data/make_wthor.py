#!/usr/bin/env python3
"""Write games.wtb, a file in the WTHOR format, and games.csv, what it holds.

    python3 tests/data/make_wthor.py

The layout is that of the published description of the format; nothing here shares code with renma. The games are played
at random: most to their end, one ends early by a wipe-out, two are given up and have the result that was agreed on.
"""

import random, struct
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
DIRECTIONS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def turned(board, color, row, column):
    """The discs that `color` turns by a move there."""
    if (row, column) in board:
        return []
    found = []
    for row_step, column_step in DIRECTIONS:
        line, place = [], (row + row_step, column + column_step)
        while board.get(place) == -color:
            line.append(place)
            place = place[0] + row_step, place[1] + column_step
        if board.get(place) == color:
            found += line
    return found


def legal(board, color):
    return [(row, column) for row in range(1, 9) for column in range(1, 9) if turned(board, color, row, column)]


def play(choose, moves_max=60):
    """Moves as (row, column), black's discs with the empty squares given to the winner, and the number of passes."""
    board, color = {(4, 4): -1, (5, 5): -1, (4, 5): 1, (5, 4): 1}, 1
    moves, passes = [], 0
    while len(moves) < moves_max:
        choices = legal(board, color)
        if not choices:
            color = -color
            choices = legal(board, color)
            if not choices:
                break
            passes += 1
        row, column = choose(len(moves), choices)
        for place in turned(board, color, row, column) + [(row, column)]:
            board[place] = color
        moves.append((row, column))
        color = -color
    black, white = (list(board.values()).count(disc) for disc in (1, -1))
    empty = 64 - black - white
    return moves, black + (empty if black > white else 0 if black < white else empty // 2), passes


def squares(names):
    return [(int(names[start + 1]), "abcdefgh".index(names[start]) + 1) for start in range(0, len(names), 2)]


def games():
    generator = random.Random(1977)
    at_random = lambda _, choices: generator.choice(choices)
    for _ in range(12):
        moves, black, passes = play(at_random)
        yield moves, black, passes
    wipe_out = squares("e6f4e3f6g5d6e7f5c5")
    yield play(lambda number, _: wipe_out[number])
    for moves_max, agreed in [(31, 40), (8, 0)]:
        moves, _, passes = play(at_random, moves_max)
        yield moves, agreed, passes


def main():
    records, lines = [], ["game,moves,black_discs,result,passes"]
    for number, (moves, black, passes) in enumerate(games()):
        numbers = bytes(10 * row + column for row, column in moves)
        records.append(struct.pack("<hhhBB60s", number % 3, number, number + 1, black, 32, numbers))
        text = "".join("abcdefgh"[column - 1] + str(row) for row, column in moves)
        lines.append(f"{number},{text},{black},{2 * black - 64},{passes}")
    header = struct.pack("<BBBBihhBBBB", 20, 26, 11, 21, len(records), 0, 2026, 0, 0, 22, 0)
    (FOLDER / "games.wtb").write_bytes(header + b"".join(records))
    (FOLDER / "games.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
