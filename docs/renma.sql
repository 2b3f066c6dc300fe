-- Views and macros over the self-play datasets, for DuckDB 1.1 or later. docs/datasets.md shows them at work.
--
--     duckdb -init docs/renma.sql
--
-- from the project's root reads the folder `datasets`. For another folder, say where it is first:
--
--     SET VARIABLE datasets = '/data/datasets';
--     .read docs/renma.sql
--
-- At least one self-play dataset must be finished. Datasets without a manifest, which are being made, are left out; read
-- this file again to see those that were finished since. Scores are millidiscs from the side to move; columns and macros
-- whose names say `discs` are discs. Every query is a macro over a table of positions: all of them, or a view of your own,
--
--     CREATE VIEW middle_game AS FROM positions WHERE 20 <= empties AND empties <= 40;
--     FROM duplicates(source := 'middle_game');

SET VARIABLE datasets = coalesce(getvariable('datasets'), 'datasets');

-- The files of finished datasets: those in folders with a manifest.

CREATE OR REPLACE MACRO finished_files(pattern) AS TABLE
SELECT file
FROM glob(getvariable('datasets') || '/*/selfplay/*/' || pattern)
WHERE regexp_replace(file, '[^/\\]+[/\\][^/\\]+$', 'manifest.json')
    IN (SELECT file FROM glob(getvariable('datasets') || '/*/selfplay/*/manifest.json'));

SET VARIABLE position_files = (SELECT list(file ORDER BY file) FROM finished_files('positions/*.parquet'));
SET VARIABLE game_files = (SELECT list(file ORDER BY file) FROM finished_files('games/*.parquet'));

-- Tables. A game is named by run, generation and game_id.

CREATE OR REPLACE VIEW positions AS
SELECT regexp_extract(filename, '^(?:.*[/\\])?([^/\\]+)[/\\]selfplay[/\\]', 1) AS run, * EXCLUDE (filename)
FROM read_parquet(
    getvariable('position_files'), union_by_name = true,
    hive_partitioning = true, hive_types = {'generation': UINTEGER}, filename = true);

CREATE OR REPLACE VIEW games AS
SELECT regexp_extract(filename, '^(?:.*[/\\])?([^/\\]+)[/\\]selfplay[/\\]', 1) AS run, * EXCLUDE (filename)
FROM read_parquet(
    getvariable('game_files'), union_by_name = true,
    hive_partitioning = true, hive_types = {'generation': UINTEGER}, filename = true);

-- Notation.

-- Discs of a score.
CREATE OR REPLACE MACRO discs(score) AS score / 1000;

-- 0 is a1, 1 is b1, 63 is h8.
CREATE OR REPLACE MACRO square_name(n) AS chr((97 + n % 8)::INTEGER) || (n // 8 + 1);

CREATE OR REPLACE MACRO has_disc(board, n) AS ((board >> n::UBIGINT) & 1::UBIGINT) = 1;

CREATE OR REPLACE MACRO disc_symbol(black, white, n) AS
    CASE WHEN has_disc(black, n) THEN 'X' WHEN has_disc(white, n) THEN 'O' ELSE '-' END;

-- The board as people see it: X is black, O is white, a dot is empty. `SELECT board(black, white)` gives a text of nine
-- lines, `FROM board(black, white)` a table of eight rows, which DuckDB's box shows as a board. For several boards,
--
--     SELECT game_id, ply, picture.* FROM blunders(row_count := 3), board(black, white) AS picture ORDER BY ALL;

-- Without a list comprehension, in which DuckDB 1.1 finds no columns of a table to the left.
CREATE OR REPLACE MACRO row_text(black, white, n) AS replace(concat_ws(' ',
    disc_symbol(black, white, 8 * n), disc_symbol(black, white, 8 * n + 1),
    disc_symbol(black, white, 8 * n + 2), disc_symbol(black, white, 8 * n + 3),
    disc_symbol(black, white, 8 * n + 4), disc_symbol(black, white, 8 * n + 5),
    disc_symbol(black, white, 8 * n + 6), disc_symbol(black, white, 8 * n + 7)), '-', '.');

CREATE OR REPLACE MACRO board(black, white) AS
    '  a b c d e f g h' || array_to_string(
        [chr(10) || (n + 1) || ' ' || row_text(black, white, n) for n in range(8)], '');

CREATE OR REPLACE MACRO board(black, white) AS TABLE
SELECT n + 1 AS row, row_text(black, white, n) AS "a b c d e f g h" FROM range(8) AS numbers(n) ORDER BY n;

-- A line of an OBF file, as `renma eval` and `renma solve` read them.
CREATE OR REPLACE MACRO obf(black, white, black_to_move) AS
    array_to_string([disc_symbol(black, white, n) for n in range(64)], '') || if(black_to_move, ' X;', ' O;');

-- Symmetries. A swap exchanges the squares of `moved` with those `shift` squares on; `kept` stay where they are.
-- The multiplication is a shift to the left, which DuckDB refuses where it reaches the last bit.

CREATE OR REPLACE MACRO swap_squares(board, kept, moved, shift) AS
    (board & kept::UBIGINT)
    | ((board & moved::UBIGINT) * (1::UBIGINT << shift::UBIGINT))
    | ((board >> shift::UBIGINT) & moved::UBIGINT);

-- Row 1 and row 8 change places, and so on.
CREATE OR REPLACE MACRO flip_rows(board) AS
    swap_squares(
        swap_squares(
            swap_squares(board, 0, 71777214294589695, 8), -- 0x00FF00FF00FF00FF
            0, 281470681808895, 16),                      -- 0x0000FFFF0000FFFF
        0, 4294967295, 32);                               -- 0x00000000FFFFFFFF

-- Column a and column h change places, and so on.
CREATE OR REPLACE MACRO flip_columns(board) AS
    swap_squares(
        swap_squares(
            swap_squares(board, 0, 6148914691236517205, 1), -- 0x5555555555555555
            0, 3689348814741910323, 2),                     -- 0x3333333333333333
        0, 1085102592571150095, 4);                         -- 0x0F0F0F0F0F0F0F0F

-- Rows become columns.
CREATE OR REPLACE MACRO transpose(board) AS
    swap_squares(
        swap_squares(
            swap_squares(board, 12273903644374837845, 47851476196393130, 7), -- 0xAA55AA55AA55AA55, 0x00AA00AA00AA00AA
            14757226376558555955, 225176545447116, 14),                      -- 0xCCCC3333CCCC3333, 0x0000CCCC0000CCCC
        17361641477348724495, 4042322160, 28);                               -- 0xF0F0F0F00F0F0F0F, 0x00000000F0F0F0F0

-- Moves. A direction is a number: 1 north, 2 west, 3 northwest, 4 northeast; 9 - direction is the opposite one.

-- A bitboard moved by one square. Discs that would leave the board are dropped. As above, a multiplication is a shift.
CREATE OR REPLACE MACRO moved(board, direction) AS
    ((board & [
        18446744073709551360, 18374403900871474942, 18374403900871474688, 9187201950435737344,
        71775015237779198, 35887507618889599, 9187201950435737471, 72057594037927935][direction]::UBIGINT)
        * [1, 1, 1, 1, 128, 512, 2, 256][direction]::UBIGINT)
    >> [8, 1, 9, 7, 0, 0, 0, 0][direction]::UBIGINT;

-- The unbroken lines of discs that begin next to a square of `start`: at most six discs each.
CREATE OR REPLACE MACRO line_from(start, discs, direction) AS
    discs & moved(start | (discs & moved(start | (discs & moved(start | (discs & moved(start | (discs & moved(start | (
        discs & moved(start, direction)), direction)), direction)), direction)), direction)), direction);

-- The squares after those lines.
CREATE OR REPLACE MACRO line_ends(player, opponent, direction) AS moved(line_from(player, opponent, direction), direction);

CREATE OR REPLACE MACRO moves_of(player, opponent) AS
    (line_ends(player, opponent, 1) | line_ends(player, opponent, 2)
    | line_ends(player, opponent, 3) | line_ends(player, opponent, 4)
    | line_ends(player, opponent, 5) | line_ends(player, opponent, 6)
    | line_ends(player, opponent, 7) | line_ends(player, opponent, 8))
    & ~(player | opponent);

-- The discs between the square of a move and one of the player's, in one direction.
CREATE OR REPLACE MACRO flipped_in_line(player, opponent, move, direction) AS
    line_from(move, opponent, direction) & line_from(player, opponent, 9 - direction);

CREATE OR REPLACE MACRO flipped_discs(player, opponent, move) AS
    flipped_in_line(player, opponent, move, 1) | flipped_in_line(player, opponent, move, 2)
    | flipped_in_line(player, opponent, move, 3) | flipped_in_line(player, opponent, move, 4)
    | flipped_in_line(player, opponent, move, 5) | flipped_in_line(player, opponent, move, 6)
    | flipped_in_line(player, opponent, move, 7) | flipped_in_line(player, opponent, move, 8);

-- The legal moves of the side to move as a bitboard; 0 if it has to pass. For a table with `player` and `opponent`, write
-- `legal_moves(player, opponent, true)`.
CREATE OR REPLACE MACRO legal_moves(black, white, black_to_move) AS
    moves_of(if(black_to_move, black, white), if(black_to_move, white, black));

-- The number of legal moves of the side to move.
CREATE OR REPLACE MACRO mobility(black, white, black_to_move) AS bit_count(legal_moves(black, white, black_to_move));

-- The squares of a bitboard as a list of numbers.
CREATE OR REPLACE MACRO squares(board) AS [n for n in range(64) if has_disc(board, n)];

-- The position after a move that flips these discs, the other side to move.
CREATE OR REPLACE MACRO with_discs(black, white, black_to_move, move, flipped) AS {
    'black': if(black_to_move, black | move | flipped, black & ~flipped),
    'white': if(black_to_move, white & ~flipped, white | move | flipped),
    'black_to_move': NOT black_to_move};

-- The same position, after the pass of a side that has no move while the other one has.
CREATE OR REPLACE MACRO after_pass(place) AS {
    'black': place.black,
    'white': place.white,
    'black_to_move': place.black_to_move != (
        legal_moves(place.black, place.white, place.black_to_move) = 0
        AND legal_moves(place.black, place.white, NOT place.black_to_move) != 0)};

-- The position after a legal move, as a struct of black, white and black_to_move. A side without a move passes, so this is
-- the next row of the game in `positions`.
-- Name columns as its arguments: an expression is copied out for each use, which is slow for one like `unnest(squares(…))`.
CREATE OR REPLACE MACRO play(black, white, black_to_move, square) AS
    [after_pass(place) for place in [with_discs(
        black, white, black_to_move, 1::UBIGINT << square::UBIGINT,
        flipped_discs(
            if(black_to_move, black, white), if(black_to_move, white, black), 1::UBIGINT << square::UBIGINT))]][1];

CREATE OR REPLACE MACRO boards(black, white) AS {'black': black, 'white': white};

-- The rows with `canonical`, the smallest of a position's eight images: positions that are the same up to symmetry
-- have the same one. One step per symmetry, because a macro within a macro is copied out for each use.
CREATE OR REPLACE MACRO with_canonical(source := 'positions') AS TABLE
WITH one AS (SELECT *, boards(black, white) AS i1 FROM query_table(source)),
two AS (SELECT *, boards(transpose(i1.black), transpose(i1.white)) AS i2 FROM one),
four AS (
    SELECT *,
        boards(flip_rows(i1.black), flip_rows(i1.white)) AS i3,
        boards(flip_rows(i2.black), flip_rows(i2.white)) AS i4
    FROM two),
eight AS (
    SELECT *,
        boards(flip_columns(i1.black), flip_columns(i1.white)) AS i5,
        boards(flip_columns(i2.black), flip_columns(i2.white)) AS i6,
        boards(flip_columns(i3.black), flip_columns(i3.white)) AS i7,
        boards(flip_columns(i4.black), flip_columns(i4.white)) AS i8
    FROM four)
SELECT * EXCLUDE (i1, i2, i3, i4, i5, i6, i7, i8), least(i1, i2, i3, i4, i5, i6, i7, i8) AS canonical
FROM eight;

-- The queries.

-- How scores spread and how well they predict the result.
CREATE OR REPLACE MACRO score_by_empties(source := 'positions') AS TABLE
SELECT
    run, generation, empties,
    count(*) AS positions,
    round(avg(exact::INTEGER), 3) AS exact_share,
    round(avg(discs(score)), 2) AS mean_discs,
    round(stddev_pop(discs(score)), 2) AS deviation_discs,
    round(avg(abs(discs(score))), 2) AS mean_absolute_discs,
    round(avg(abs(discs(score) - result)), 2) AS mae_of_result_discs
FROM query_table(source)
GROUP BY run, generation, empties
ORDER BY run, generation, empties;

-- The static value against the search's, where the search solved the position and where it did not.
CREATE OR REPLACE MACRO static_error(source := 'positions') AS TABLE
WITH errors AS (SELECT *, discs(static_score) - discs(score) AS error FROM query_table(source))
SELECT
    run, generation, empties, exact,
    count(*) AS positions,
    round(avg(abs(error)), 2) AS mae_discs,
    round(sqrt(avg(error * error)), 2) AS rmse_discs,
    round(avg(error), 2) AS bias_discs
FROM errors
GROUP BY run, generation, empties, exact
ORDER BY run, generation, empties, exact;

-- Rows whose board and side to move occur in another row, as they are and up to symmetry.
CREATE OR REPLACE MACRO duplicates(source := 'positions') AS TABLE
WITH keys AS (
    SELECT run, generation, hash(black, white, black_to_move) AS board, hash(canonical, black_to_move) AS image
    FROM with_canonical(source := source))
SELECT
    run,
    generation,
    count(*) AS positions,
    count(DISTINCT board) AS distinct_positions,
    round(distinct_positions / positions, 4) AS distinct_share,
    count(DISTINCT image) AS distinct_up_to_symmetry,
    round(distinct_up_to_symmetry / positions, 4) AS distinct_share_up_to_symmetry
FROM keys
GROUP BY GROUPING SETS ((run, generation), ())
ORDER BY run NULLS LAST, generation NULLS LAST;

-- How fast games part: distinct positions and move sequences by ply, and the entropy of the positions in bits.
-- All games different: as many bits as the logarithm of the games.
CREATE OR REPLACE MACRO opening_variety(source := 'positions', last_ply := 20) AS TABLE
WITH openings AS (
    SELECT
        ply,
        left(moves, 2 * (60 - empties)) AS sequence,
        hash(black, white, black_to_move) AS board,
        hash(canonical, black_to_move) AS image
    FROM with_canonical(source := source) JOIN games USING (run, generation, game_id)
    WHERE ply <= last_ply)
SELECT
    ply,
    count(*) AS games,
    count(DISTINCT sequence) AS move_sequences,
    count(DISTINCT board) AS distinct_positions,
    count(DISTINCT image) AS distinct_up_to_symmetry,
    round(abs(entropy(image)), 2) AS entropy_bits,
    round(log2(games), 2) AS entropy_bits_at_most
FROM openings
GROUP BY ply
ORDER BY ply;

-- The rows where static value and search differ most, with their boards.
CREATE OR REPLACE MACRO largest_errors(source := 'positions', row_count := 10) AS TABLE
WITH worst AS (
    FROM query_table(source)
    ORDER BY abs(score - static_score) DESC, run, generation, game_id, ply
    LIMIT row_count)
SELECT
    run, generation, game_id, ply, empties, exact,
    discs(score) AS score_discs,
    discs(static_score) AS static_discs,
    result AS result_discs,
    if(black_to_move, 'X', 'O') AS to_move,
    square_name(best_move) AS best_move,
    board(black, white) AS board,
    obf(black, white, black_to_move) AS obf,
    black, white
FROM worst
ORDER BY abs(score - static_score) DESC, run, generation, game_id, ply;

-- The rows with `loss_discs`: by how much the score fell from this position to the next one of the game, for the side that
-- moved. Null where that position has no row. Scores are those of searches, so small losses and gains are their errors.
CREATE OR REPLACE MACRO move_losses(source := 'positions') AS TABLE
WITH pairs AS (
    SELECT *,
        lead({'empties': empties, 'score': if(black_to_move, score, -score)}) OVER (
            PARTITION BY run, generation, game_id ORDER BY ply) AS following
    FROM query_table(source))
SELECT
    * EXCLUDE (following),
    if(following.empties = empties - 1, discs(score - if(black_to_move, 1, -1) * following.score), NULL) AS loss_discs
FROM pairs;

-- The chosen moves that lost most. Random moves are not among them.
CREATE OR REPLACE MACRO blunders(source := 'positions', row_count := 10) AS TABLE
WITH worst AS (
    FROM move_losses(source := source)
    WHERE 0 < loss_discs AND random_move IS NOT TRUE
    ORDER BY loss_discs DESC, run, generation, game_id, ply
    LIMIT row_count)
SELECT
    run, generation, game_id, ply, empties, exact,
    if(black_to_move, 'X', 'O') AS to_move,
    square_name(played_move) AS played_move,
    square_name(best_move) AS best_move,
    discs(score) AS score_discs,
    loss_discs,
    result AS result_discs,
    obf(black, white, black_to_move) AS obf,
    black, white
FROM worst
ORDER BY loss_discs DESC, run, generation, game_id, ply;
