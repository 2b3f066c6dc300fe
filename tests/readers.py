#!/usr/bin/env python3
"""Read datasets with DuckDB, pyarrow and Polars, and check them against each other, their manifests and the rules.

    python3 tests/readers.py [--write] [--brief] [ROOT]

ROOT (default: the project) holds datasets/ and perhaps models/. Nothing here shares code with renma: the readers and
the hash are other people's, and Othello is written a second time. The snippets of docs/datasets.md run too, on the same
datasets, and must print what the page says if datasets/sample is the only one; --write puts what they print into the page.
So do its command lines that copy a dataset into other files, if RENMA in the environment names the program.
--brief replays no games and compares no output, for a second run with other versions of the readers.
Needs: pip install -r tests/readers-requirements.txt, or readers-oldest.txt for the oldest supported versions.
"""

import contextlib, io, json, os, re, shlex, shutil, struct, subprocess, sys, tempfile, traceback
from pathlib import Path

import blake3, duckdb, pandas, polars, pyarrow, pyarrow.compute, pyarrow.dataset, pyarrow.parquet

PROJECT = Path(__file__).resolve().parent.parent
WORD = 1 << 64
CODES = {"bool": "?", "int16": "h", "int32": "i", "uint64": "Q"}  # of the struct module, by Arrow type
counts = {"passed": 0, "failed": 0}


@contextlib.contextmanager
def check(title):
    """Run one check, print its line and count it; an exception of any kind is a failure."""
    try:
        yield
    except Exception as error:
        counts["failed"] += 1
        frame, text = traceback.extract_tb(error.__traceback__)[-1], " ".join(str(error).split())
        print(f"FAILED  {title}: {type(error).__name__}: {text} ({Path(frame.filename).name}:{frame.lineno})")
    else:
        counts["passed"] += 1
        print(f"passed  {title}")


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {found} found, {expected} expected")


# Hashes, as docs/datasets.md describes them.

def hash_of(data):
    return blake3.blake3(data).hexdigest()


def hash_of_fields(kind, fields):
    hasher = blake3.blake3()
    for name, value in [("kind", kind.encode()), *fields]:
        for part in (name.encode(), value):
            hasher.update(len(part).to_bytes(8, "little") + part)
    return hasher.hexdigest()


def read_sealed(path):
    text = path.read_bytes().decode()
    body, separator, seal = text.rpartition(',\n  "hash": "')
    equal(bool(separator) and seal[64:], '"\n}\n', "the end of the file")
    equal(hash_of((body + "\n}").encode()), seal[:64], "the seal")
    fields = json.loads(text)
    equal(list(fields), sorted(set(fields) - {"hash"}) + ["hash"], "the order of the fields")
    return fields


def content_of(table):
    """The hash of a table's values, column by column."""
    def value_bytes(column):
        values = column.to_pylist()
        if pyarrow.types.is_string(column.type):
            return b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in values)
        return struct.pack(f"<{len(values)}{CODES[str(column.type)]}", *(value or 0 for value in values))

    fields = []
    for field in table.schema:
        fields.append((field.name, value_bytes(table[field.name])))
        if field.nullable:
            known = bytes(value is not None for value in table[field.name].to_pylist())
            fields.append((f"{field.name} is known", known))
    return hash_of_fields("table", fields)


# Three readers. Each gives the rows and the sum of every column: texts by length, flags by count, modulo 2^64.

def sums_of_pyarrow(table):
    def total(column):
        numbers = pyarrow.compute.binary_length(column) if pyarrow.types.is_string(column.type) else column
        return (pyarrow.compute.sum(numbers).as_py() or 0) % WORD

    return table.num_rows, {name: total(table[name]) for name in table.column_names}


def sums_of_polars(path):
    frame = polars.read_parquet(path, hive_partitioning=False)

    def total(column):
        numbers = column.str.len_bytes() if column.dtype == polars.String else column
        return sum(int(value) for value in numbers.to_list() if value is not None) % WORD

    return frame.height, {column.name: total(column) for column in frame.iter_columns()}


def sums_of_duckdb(path):
    source = f"FROM read_parquet('{path}', hive_partitioning = false)"
    columns = [(name, kind) for name, kind, *_ in duckdb.execute(f"DESCRIBE {source}").fetchall()]
    sums = [f"sum(strlen({name}))" if kind == "VARCHAR" else f"sum({name}::HUGEINT)" for name, kind in columns]
    rows, *values = duckdb.execute(f"SELECT count(*), {', '.join(sums)} {source}").fetchone()
    return rows, {name: int(value or 0) % WORD for (name, _), value in zip(columns, values)}


def check_arithmetic(path, table):
    """Compare arithmetic with columns as they are, in all readers, with that of Python's integers."""
    rows = table.select(["ply", "empties", "depth", "best_move", "played_move", "result"]).to_pylist()
    expected = (
        max(row["result"] * 1000 for row in rows),
        min(row["ply"] - row["empties"] for row in rows),
        max(abs(row["result"] * 1000) for row in rows),
        max(row["depth"] * 100 for row in rows),
        min(row["best_move"] - row["played_move"] for row in rows))
    query = """
        SELECT max(result * 1000), min(ply - empties), max(abs(result * 1000)), max(depth * 100),
            min(best_move - played_move)
        FROM read_parquet(?)"""
    equal(duckdb.execute(query, [str(path)]).fetchall(), [expected], "arithmetic of DuckDB")
    result, difference = polars.col("result") * 1000, polars.col("ply") - polars.col("empties")
    depth, moves = polars.col("depth") * 100, polars.col("best_move") - polars.col("played_move")
    frame = polars.read_parquet(path, hive_partitioning=False)
    found = frame.select(
        a=result.max(), b=difference.min(), c=result.abs().max(), d=depth.max(), e=moves.min()).row(0)
    equal(found, expected, "arithmetic of Polars")
    frame = pandas.read_parquet(path, engine="pyarrow", columns=list(rows[0]))
    found = (
        (frame.result * 1000).max(), (frame.ply - frame.empties).min(), (frame.result * 1000).abs().max(),
        (frame.depth * 100).max(), (frame.best_move - frame.played_move).min())
    equal(found, expected, "arithmetic of pandas")
    result = pyarrow.compute.multiply(table["result"], 1000)
    difference = pyarrow.compute.subtract(table["ply"], table["empties"])
    depth = pyarrow.compute.multiply(table["depth"], 100)
    moves = pyarrow.compute.subtract(table["best_move"], table["played_move"])
    found = (
        pyarrow.compute.max(result), pyarrow.compute.min(difference), pyarrow.compute.max(pyarrow.compute.abs(result)),
        pyarrow.compute.max(depth), pyarrow.compute.min(moves))
    equal(tuple(value.as_py() for value in found), expected, "arithmetic of pyarrow")


def check_folder(folder, rows):
    """Open a table's folder as it is in every reader, and compute with each of its signed columns."""
    whole = pyarrow.dataset.dataset(folder, format="parquet").to_table()
    equal(whole.num_rows, rows, "rows of pyarrow")
    signed = [field.name for field in whole.schema if pyarrow.types.is_signed_integer(field.type)]
    values = {name: [value for value in whole[name].to_pylist() if value is not None] for name in signed}
    names = [name for name in signed if values[name]]
    expected = {name: (100 * min(values[name]), 100 * max(values[name])) for name in names}
    ends = {name: pyarrow.compute.min_max(pyarrow.compute.multiply(whole[name], 100)).as_py() for name in names}
    equal({name: (end["min"], end["max"]) for name, end in ends.items()}, expected, "arithmetic of pyarrow")
    frame = pandas.read_parquet(folder, engine="pyarrow")
    equal(len(frame), rows, "rows of pandas")
    found = {name: ((frame[name] * 100).min(), (frame[name] * 100).max()) for name in names}
    equal(found, expected, "arithmetic of pandas")
    frame = polars.read_parquet(folder / "*.parquet")
    equal(frame.height, rows, "rows of Polars")
    found = {name: ((frame[name] * 100).min(), (frame[name] * 100).max()) for name in names}
    equal(found, expected, "arithmetic of Polars")
    terms = ", ".join(f"min({name} * 100), max({name} * 100)" for name in names)
    count, *found = duckdb.execute(f"SELECT count(*), {terms} FROM '{folder}/*.parquet'").fetchone()
    equal(count, rows, "rows of DuckDB")
    equal(dict(zip(names, zip(found[::2], found[1::2]))), expected, "arithmetic of DuckDB")


def check_part(path, entry, complete):
    equal(len(path.read_bytes()), entry["bytes"], "bytes")
    equal(hash_of(path.read_bytes()), entry["hash"], "hash")
    file = pyarrow.parquet.ParquetFile(path)
    table = file.read()
    expected = sums_of_pyarrow(table)
    equal(expected[0], entry["rows"], "rows")
    equal(sums_of_polars(path), expected, "rows and sums of Polars")
    equal(sums_of_duckdb(path), expected, "rows and sums of DuckDB")
    equal(content_of(table), entry["content"], "content hash")
    equal(file.metadata.metadata[b"renma.content"].decode(), entry["content"], "content hash in the footer")
    for field in file.schema_arrow:
        assert b"description" in (field.metadata or {}), f"{field.name} has no description"
        assert not complete or table[field.name].null_count == 0, f"a value of {field.name} is missing"
    return table


# Othello on sets of squares.

LINES = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if (row, column) != (0, 0)]


def flips(own, other, square):
    """The discs a move turns over; none: the move is illegal."""
    turned = []
    if square in own or square in other:
        return turned
    for row_step, column_step in LINES:
        line, (row, column) = [], divmod(square, 8)
        while 0 <= (row := row + row_step) < 8 and 0 <= (column := column + column_step) < 8:
            if 8 * row + column not in other:
                turned += line if 8 * row + column in own else []
                break
            line.append(8 * row + column)
    return turned


def has_move(own, other):
    return any(flips(own, other, square) for square in range(64))


def replay(moves, finished=True):
    """Positions with a legal move as (ply, black, white, black_to_move, square played), and the result for black.

    A game that was given up has none, unless it must be finished.
    """
    discs = {True: {28, 35}, False: {27, 36}}  # by "is black"
    black_to_move, ply, positions = True, 0, []
    for start in range(0, len(moves), 2):
        square = "abcdefgh".index(moves[start]) + 8 * (int(moves[start + 1]) - 1)
        own, other = discs[black_to_move], discs[not black_to_move]
        turned = flips(own, other, square)
        if not turned and not has_move(own, other):
            black_to_move, ply = not black_to_move, ply + 1
            own, other = other, own
            turned = flips(own, other, square)
        assert turned, f"{moves[start:start + 2]} after {start // 2} moves is illegal"
        positions.append((ply, set(discs[True]), set(discs[False]), black_to_move, square))
        own.update(turned, [square])
        other.difference_update(turned)
        black_to_move, ply = not black_to_move, ply + 1
    black, white = discs[True], discs[False]
    if has_move(black, white) or has_move(white, black):
        assert not finished, "the game is not over"
        return positions, None
    lead, empties = len(black) - len(white), 64 - len(black) - len(white)
    return positions, lead + empties * ((lead > 0) - (lead < 0))


def bits(squares):
    return sum(1 << square for square in squares)


def check_game(game, rows, config):
    """Compare a self-play game with its rows, column by column."""
    positions, result = replay(game["moves"])
    equal(game["result"], result, f"result of game {game['game_id']}")
    positions = [position for position in positions if config["label_from_ply"] <= position[0]]
    equal((len(rows), game["positions"]), (len(positions), len(positions)), "positions of the game")
    for row, (ply, black, white, black_to_move, square) in zip(rows, positions):
        expected = {
            "ply": ply, "empties": 64 - len(black) - len(white), "black": bits(black), "white": bits(white),
            "black_to_move": black_to_move, "played_move": square, "result": result if black_to_move else -result}
        equal({name: row[name] for name in expected}, expected, f"game {game['game_id']}, ply {ply}")
        own, other = (black, white) if black_to_move else (white, black)
        assert flips(own, other, row["best_move"]), f"ply {ply}: best_move is illegal"
        assert -64_000 <= row["score"] <= 64_000, f"ply {ply}: score is out of range"
        assert not row["exact"] or row["depth"] == row["empties"], f"ply {ply}: exact, and depth is not empties"
        assert row["random_move"] or game["random_plies"] <= ply, f"ply {ply}: the opening is random"
        assert row["random_move"] or not row["exact"] or row["best_move"] == square, f"ply {ply}: best is not played"


def check_selfplay(tables, config):
    rows = {}
    for row in tables["positions"].to_pylist():
        rows.setdefault(row["game_id"], []).append(row)
    games = tables["games"].to_pylist()
    equal(list(rows), [game["game_id"] for game in games if game["positions"]], "games in order")
    for game in games:
        check_game(game, rows.get(game["game_id"], []), config)


def check_imported(tables):
    rows = {}
    for row in tables["positions"].to_pylist():
        rows.setdefault(row["game_id"], []).append(row)
    for game in tables["games"].to_pylist():
        positions, result = replay(game["moves"], finished=False)
        found = rows[game["game_id"]]
        if result is not None:
            equal((game["result"], len(found)), (result, len(positions)), f"result of game {game['game_id']}")
        for row, (ply, black, white, black_to_move, square) in zip(found, positions):
            expected = (ply, bits(black), bits(white), black_to_move, square)
            columns = ("ply", "black", "white", "black_to_move", "played_move")
            equal(tuple(row[name] for name in columns), expected, f"game {game['game_id']}, ply {ply}")


def check_gate(tables):
    for game in tables["games"].to_pylist():
        _, result = replay(game["moves"])
        equal(game["result"], result if game["candidate_black"] else -result, f"result of game {game['game_id']}")


def check_verdict(verdict, manifest):
    score, openings = verdict["score"], verdict["openings"]
    equal(verdict["games_content"], manifest["content"], "games of the verdict")
    equal((verdict["pairs_asked"], verdict["pairs_done"]), (manifest["asked"], manifest["done"]), "pairs")
    equal(sum(score["pairs"]), manifest["done"], "pairs of the score")
    equal(score["wins"] + score["draws"] + score["losses"], 2 * manifest["done"], "games of the score")
    turned_down = openings["repeated"] + openings["in_training"] + openings["unbalanced"]
    equal(openings["drawn"], turned_down + manifest["done"], "openings drawn")


def check_manifest(folder):
    manifest, fields = read_sealed(folder / "manifest.json"), []
    for part in manifest["parts"]:
        fields.append(("first", struct.pack("<Q", part["first"])))
        fields += [(table, entry["content"].encode()) for table, entry in sorted(part["files"].items())]
    equal(hash_of_fields("dataset", fields), manifest["content"], "content hash")
    parts = enumerate(manifest["parts"])
    listed = {f"{table}/part-{index:05}.parquet" for index, part in parts for table in part["files"]}
    equal({str(path.relative_to(folder)) for path in folder.glob("*/*.parquet")}, listed, "parts")
    if manifest["kind"] == "gate":
        check_verdict(read_sealed(folder / "verdict.json"), manifest)


def check_dataset(folder, name, brief):
    with check(f"{name}: manifest"):
        check_manifest(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    imported = manifest["kind"] == "imported"
    complete = manifest["kind"] in ("selfplay", "gate")
    for table in manifest["parts"][0]["files"] if manifest["parts"] else ():
        with check(f"{name}: the folder {table} opens as it is"):
            check_folder(folder / table, sum(part["files"][table]["rows"] for part in manifest["parts"]))
    for index, part in enumerate(manifest["parts"]):
        tables = {}
        for table, entry in part["files"].items():
            with check(f"{name}: {table} part {index}, {entry['rows']:,} rows equal in DuckDB, pyarrow and Polars"):
                tables[table] = check_part(
                    folder / table / f"part-{index:05}.parquet", entry, complete)
        if "positions" in tables and not imported:
            with check(f"{name}: positions part {index}, arithmetic"):
                check_arithmetic(folder / "positions" / f"part-{index:05}.parquet", tables["positions"])
        if brief:
            continue
        if "games" in tables and imported:
            with check(f"{name}: games part {index}, {tables['games'].num_rows:,} games replayed"):
                check_imported(tables)
        elif manifest["kind"] in ("selfplay", "gate") and len(tables) == len(part["files"]):
            with check(f"{name}: games part {index}, {tables['games'].num_rows:,} games replayed"):
                check_gate(tables) if manifest["kind"] == "gate" else check_selfplay(tables, manifest["config"])


def run_snippet(language, text, connection):
    if language == "python":
        exec(compile(text, "a snippet", "exec"), {"__name__": "__main__"})
        return
    for statement in connection.extract_statements(text):
        result = connection.sql(statement.query)
        if result is not None:
            result.show(max_width=160)


def hide_manifest(datasets, scratch):
    """Add an unfinished dataset: a copy of a finished one without its manifest."""
    finished = next(datasets.glob("*/selfplay/*/manifest.json")).parent
    unfinished = scratch / "datasets/unfinished/selfplay/generation=0001"
    shutil.copytree(finished, unfinished, ignore=shutil.ignore_patterns("manifest.json", ".*"))


def check_views(datasets, connection):
    """The views hold the rows of finished datasets, and no others."""
    for table in ("positions", "games"):
        manifests = [json.loads(path.read_text()) for path in datasets.glob("*/selfplay/*/manifest.json")]
        rows = sum(part["files"][table]["rows"] for manifest in manifests for part in manifest["parts"])
        equal(connection.execute(f"SELECT count(*) FROM {table}").fetchall(), [(rows,)], f"rows of the view {table}")
    for macro in ("score_by_empties()", "static_error()", "duplicates()", "opening_variety()", "largest_errors()", "blunders()"):
        assert connection.execute(f"FROM {macro}").fetchall(), f"{macro} has no rows"
    boards = connection.execute("SELECT board(black, white) FROM positions WHERE ply = 0").fetchall()
    assert all(board.count("\n") == 8 and board.count("X") == 2 for (board,) in boards), boards


def check_moves(connection):
    """Moves in SQL: the start position, perft, and every move that the engine played."""
    start = f"{bits({28, 35})}::UBIGINT, {bits({27, 36})}::UBIGINT, true"
    after_f5 = f"(SELECT play({start}, 37) AS place)"
    moves = connection.execute(f"""
        SELECT squares(legal_moves({start})), mobility({start}),
            mobility(place.black, place.white, place.black_to_move) FROM {after_f5}""").fetchall()
    equal(moves, [([19, 26, 37, 44], 4, 3)], "moves of the start position and after f5")
    counts = connection.execute(f"""
        WITH RECURSIVE nodes AS (
            SELECT 0 AS depth, {{'black': black, 'white': white, 'black_to_move': black_to_move}} AS place
            FROM (VALUES ({start})) AS start(black, white, black_to_move)
            UNION ALL
            SELECT depth + 1, play(place.black, place.white, place.black_to_move, square)
            FROM (
                SELECT *, unnest(squares(legal_moves(place.black, place.white, place.black_to_move))) AS square
                FROM nodes WHERE depth < 4))
        SELECT count(*) FROM nodes GROUP BY depth ORDER BY depth""").fetchall()
    equal(counts, [(1,), (4,), (12,), (56,), (244,)], "positions by ply")
    rows = connection.execute("""
        SELECT count(*), count(following), sum((after = following)::INTEGER), sum((legal AND 0 < mobility)::INTEGER)
        FROM (
            SELECT play(black, white, black_to_move, played_move) AS after,
                has_disc(legal_moves(black, white, black_to_move), played_move) AS legal,
                mobility(black, white, black_to_move) AS mobility,
                lead({'black': black, 'white': white, 'black_to_move': black_to_move}) OVER (
                    PARTITION BY run, generation, game_id ORDER BY ply) AS following
            FROM positions)""").fetchall()
    (positions, moves, equal_moves, legal_moves), = rows
    equal((legal_moves, equal_moves), (positions, moves), "legal moves, and moves that lead to the next row")
    games = {}
    for *game, score, black_to_move, loss in connection.execute("""
        SELECT run, generation, game_id, score, black_to_move, loss_discs FROM move_losses() ORDER BY run, generation, game_id, ply
        """).fetchall():
        games.setdefault(tuple(game), []).append((score, black_to_move, loss))
    for rows in games.values():
        for (score, side, loss), (following, next_side, _) in zip(rows, rows[1:]):
            assert abs(loss - (score - (following if side == next_side else -following)) / 1000) < 1e-9, rows
        equal(rows[-1][2], None, "the loss of the last move")
    worst = max(loss for rows in games.values() for *_, loss in rows[:-1])
    assert 0 < connection.execute("SELECT max(loss_discs) FROM blunders()").fetchone()[0] <= worst
    picture = connection.execute(f"FROM board({start.removesuffix(', true')})").fetchall()
    equal([text for _, text in picture][3:5], [". . . O X . . .", ". . . X O . . ."], "the board as rows")
    pictures = connection.execute("""
        SELECT game_id, ply, picture.* FROM blunders(row_count := 3), board(black, white) AS picture ORDER BY ALL""").fetchall()
    equal([row for *_, row, _ in pictures], 3 * list(range(1, 9)), "rows of three boards")


def check_snippets(root, document, compare, write):
    """Run every fenced sql and python block, in order, in a scratch folder that holds the datasets.

    A text block after a snippet is what it prints for datasets/sample.
    """
    page = document.read_text()
    snippets = list(re.finditer(r"^```(sql|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page, re.MULTILINE | re.DOTALL))
    connection, edits = duckdb.connect(config={"threads": 1}), []  # Sums of floats depend on the number of threads.
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        os.mkdir("datasets")
        for run in (root / "datasets").iterdir():
            os.symlink(run, Path("datasets") / run.name)
        hide_manifest(root / "datasets", Path(scratch))
        os.symlink(PROJECT / "docs", "docs")
        with check("renma.sql, without an unfinished dataset"):
            connection.execute(Path("docs/renma.sql").read_text())
            check_views(root / "datasets", connection)
        with check("renma.sql: moves, against the rules and the engine's moves"):
            check_moves(connection)
        for number, snippet in enumerate(snippets, 1):
            output, (language, text, expected) = io.StringIO(), snippet.groups()
            with check(f"{document.name}: snippet {number} ({language})"), contextlib.redirect_stdout(output):
                run_snippet(language, text, connection)
                found = "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())
                found = re.sub("\n+\\Z", "\n", found)
                edits += [(snippet.span(3), found)] if expected is not None else []
                assert write or not compare or expected in (None, found), f"prints {found}"
    if write:
        for (begin, end), found in reversed(edits):
            page = page[:begin] + found + page[end:]
        document.write_text(page)


def check_copies(root, document, renma):
    """Run the command lines of the page that copy a dataset into other files and import them: the rows stay the same."""
    block = re.compile(r'^(?: {4}duckdb -c "COPY .*\n)(?: {4}.*\n)*', re.MULTILINE)
    lines = [line.strip() for found in block.findall(document.read_text()) for line in found.splitlines()]
    dataset = next((root / "datasets").glob("*/selfplay/*/manifest.json")).parent
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        os.makedirs("datasets/default/selfplay")
        os.symlink(dataset, "datasets/default/selfplay/generation=0001")
        for line in lines:
            with check(f"{document.name}: {line}"):
                program, *arguments = shlex.split(line)
                if program == "duckdb":
                    duckdb.execute(arguments[1])
                else:
                    equal(program, "renma", "the program")
                    subprocess.run([renma, *arguments], check=True, capture_output=True)
        columns = [name for name in pyarrow.dataset.dataset(dataset / "positions").schema.names if name != "game_id"]
        query = f"SELECT {', '.join(columns)} FROM '{{}}' ORDER BY game_id, ply"
        expected = duckdb.execute(query.format(dataset / "positions/*.parquet")).fetchall()
        imported = "datasets/own/imported/from-csv/positions/*.parquet"
        for copy in ("positions.parquet", "from-csv.parquet", imported, "by-empties/*/*.parquet"):
            with check(f"{copy} has the {len(expected):,} rows of {dataset.relative_to(root)}"):
                assert duckdb.execute(query.format(copy)).fetchall() == expected, "other rows"


def main(arguments):
    write, brief = "--write" in arguments, "--brief" in arguments
    folders = [argument for argument in arguments if not argument.startswith("--")]
    versions = [f"{module.__name__} {module.__version__}" for module in (duckdb, pandas, polars, pyarrow)]
    print(", ".join(versions))
    root = Path(folders[0] if folders else PROJECT).resolve()
    manifests = sorted(root.glob("datasets/*/*/*/manifest.json"))
    with check(f"{len(manifests)} datasets in {root.name}/datasets"):
        assert manifests, "there is no finished dataset"
    for manifest in manifests:
        check_dataset(manifest.parent, str(manifest.parent.relative_to(root / "datasets")), brief)
    for path in sorted([*root.glob("models/*/v*/model.json"), *root.glob("models/*/champion.json")]):
        with check(str(path.relative_to(root))):
            for file, entry in read_sealed(path).get("files", {}).items():
                equal(hash_of((path.parent / file).read_bytes()), entry["hash"], file)
    is_sample = [path.name for path in (root / "datasets").iterdir() if path.is_dir()] == ["sample"]
    assert is_sample or not write, "the examples are those of datasets/sample"
    check_snippets(root, PROJECT / "docs/datasets.md", is_sample and not brief, write)
    if renma := os.environ.get("RENMA"):
        check_copies(root, PROJECT / "docs/datasets.md", renma)
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
