#!/usr/bin/env python3
"""Read what `renma dataset export --partition empties` wrote with five readers, and count the bytes that they read.

    python3 tests/partitions.py DATASET FOLDER

FOLDER is the export of DATASET. Each reader must find the same rows with 20 empty squares in both. Needs Linux and what
tests/readers.py needs.
"""

import json, sys
from pathlib import Path

import duckdb, pandas, polars, pyarrow.compute, pyarrow.dataset

EMPTIES = 20


def bytes_read():
    """All bytes that this process has read so far."""
    return int(dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["rchar"])


def by_duckdb(source, columns):
    source = f"read_parquet('{source}', hive_partitioning = true)"
    return duckdb.connect().execute(f"SELECT {', '.join(columns)} FROM {source} WHERE empties = {EMPTIES}").fetchall()


def by_pyarrow(folder):
    table = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive")
    return table.to_table(filter=pyarrow.compute.field("empties") == EMPTIES)


def by_polars(source):
    return polars.scan_parquet(source, hive_partitioning=True).filter(polars.col("empties") == EMPTIES).collect()


def main(dataset, folder):
    plain = dataset / "positions"
    count = sum(part["files"]["positions"]["rows"] for part in json.loads((dataset / "manifest.json").read_text())["parts"])
    sizes = {path.parent.name: path.stat().st_size for path in folder.glob("empties=*/*.parquet")}
    share = sizes[f"empties={EMPTIES}"] / sum(sizes.values())
    assert len(sizes) == 60 and share < 1 / 50, f"empties={EMPTIES} is {share:.4f} of the bytes"

    columns = [name for name in pyarrow.dataset.dataset(plain).schema.names if name != "empties"]
    expected, read = by_duckdb(f"{plain}/*.parquet", columns), {}
    assert expected, f"no position has {EMPTIES} empty squares"
    rows = {
        "DuckDB": lambda: by_duckdb(f"{folder}/*/*.parquet", columns),
        "pyarrow": lambda: list(zip(*by_pyarrow(folder).select(columns).to_pydict().values())),
        "Polars": lambda: by_polars(folder / "*/*.parquet").select(columns).rows(),
        "pandas": lambda: [
            tuple(row) for row in pandas.read_parquet(folder, filters=[("empties", "==", EMPTIES)])[columns].itertuples(index=False)],
    }
    for name, rows_of in rows.items():
        rows_of()  # What a reader loads at its first use does not count.
        begin = bytes_read()
        found = rows_of()
        read[name] = bytes_read() - begin
        assert found == expected, f"{name} reads other rows"
    begin = bytes_read()
    by_duckdb(f"{plain}/*.parquet", columns)
    whole = bytes_read() - begin
    assert len(pandas.read_parquet(folder)) == pyarrow.dataset.dataset(folder, partitioning="hive").count_rows() == count
    print(f"{len(expected):,} of {count:,} rows; bytes read: DuckDB without partitions {whole:,}; "
          + ", ".join(f"{name} {size:,}" for name, size in read.items()))
    assert read["DuckDB"] * 10 < whole, "a partition is not read alone"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
