"""The same table by DuckDB, Polars and pyarrow, and the weights of a model: python3 read.py DATASET MODEL"""
import json, sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq

dataset, model = map(Path, sys.argv[1:])
manifest = json.loads((dataset / "manifest.json").read_text())  # A folder without a manifest is not finished.
print(f"{manifest['kind']}, format {manifest['format']}, seed {manifest['seed']}, {manifest['done']} games")
parts = sorted(str(part) for part in dataset.glob("positions/*.parquet"))

# The mean absolute error of the static value, in discs, against the deep search (False) and exact scores (True).
print("DuckDB ", duckdb.sql("""
    SELECT exact, count(*), round(avg(abs(score - static_score)) / 1000, 3) FROM read_parquet($parts) GROUP BY 1 ORDER BY 1
""", params={"parts": parts}).fetchall())

error = (pl.col("score") - pl.col("static_score")).abs().mean() / 1000
print("Polars ", pl.scan_parquet(parts).group_by("exact").agg(pl.len(), error.round(3)).sort("exact").collect().rows())

table = pq.ParquetDataset(parts).read(columns=["exact", "score", "static_score"])
table = table.append_column("error", pc.abs(pc.subtract(table["score"], table["static_score"])))
means = table.group_by("exact").aggregate([("error", "count"), ("error", "mean")]).sort_by("exact").to_pylist()
print("pyarrow", [(row["exact"], row["error_count"], round(row["error_mean"] / 1000, 3)) for row in means])

weights = pl.scan_parquet(model / "weights.parquet").group_by("pattern", maintain_order=True)
sizes = weights.agg(pl.len().alias("weights"), (pl.col("visits") > 0).sum().alias("visited"), pl.col("weight").abs().max())
print(sizes.collect())
