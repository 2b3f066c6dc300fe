#!/usr/bin/env python3
"""Check what `renma status --format` prints for a run of the smoke config.

    python3 tests/metrics.py RENMA FOLDER

FOLDER is a project folder with a finished run. Needs prometheus_client, whose parser checks OpenMetrics, and MLflow with a database, which
examples/python/mlflow_runs.py writes to. The other formats are checked against what Bencher and github-action-benchmark document.
"""

import json, shutil, subprocess, sys, tempfile, time
from pathlib import Path

from mlflow.tracking import MlflowClient
from prometheus_client.openmetrics.parser import text_string_to_metric_families


def status(renma, folder, *options):
    command = [renma, "status", "--config", "configs/smoke.toml", *options]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def main(renma, folder):
    newest = [line for line in json.loads(status(renma, folder, "--json"))["generations"] if line["verdict"]][-1]
    bencher = json.loads(status(renma, folder, "--format", "bmf"))
    assert list(bencher) == ["smoke"], bencher
    for measure, found in bencher["smoke"].items():
        assert {"value"} <= found.keys() <= {"value", "lower_value", "upper_value"}, measure
        assert found.get("lower_value", found["value"]) <= found["value"] <= found.get("upper_value", found["value"]), measure
    values = {measure: found["value"] for measure, found in bencher["smoke"].items()}
    assert abs(values["exact-mae-discs"] - newest["exact_mae"]) < 1e-9, (values, newest)

    assert values["last-exit-code"] == 0 and values["rejected-in-a-row-gates"] >= 0, values
    assert abs(values["last-end-seconds"] - time.time()) < 86_400 and 0 < values["disk-used-bytes"], values
    bigger, smaller = (json.loads(status(renma, folder, "--format", f"benchmark-{way}")) for way in ("bigger", "smaller"))
    assert {entry["name"] for entry in bigger} == {f"smoke {name}" for name in ("champion-elo", "gate-elo", "games-per-second")}, bigger
    entries = bigger + smaller
    neither = {"last-end-seconds", "last-exit-code", "disk-used-bytes", "disk-free-bytes"}
    assert {entry["name"]: entry["value"] for entry in entries} == {
        f"smoke {name}": value for name, value in values.items() if name not in neither}
    for entry in entries:
        assert {"name", "unit", "value"} <= entry.keys() <= {"name", "unit", "value", "range", "extra"}, entry
        assert isinstance(entry["value"], (int, float)) and all(isinstance(entry[key], str) for key in entry if key != "value")

    families = list(text_string_to_metric_families(status(renma, folder, "--format", "openmetrics")))
    samples = {sample.name: sample.value for family in families for sample in family.samples}
    assert all(abs(value) < 2399 for name, value in samples.items() if name.startswith("renma_gate")), samples
    for name, value in values.items():
        assert samples["renma_" + name.replace("-", "_")] == value, name
    assert all(family.unit and family.documentation for family in families)
    print(f"{len(values)} figures in four formats agree: {', '.join(values)}")
    check_mlflow(Path(folder), newest)


def check_mlflow(folder, newest):
    """Each generation becomes one run of MLflow, however often the example is repeated, with the figures of run.json."""
    with tempfile.TemporaryDirectory() as scratch:
        store = f"sqlite:///{scratch}/mlflow.db"
        # A loss of power left the first line torn.
        registry = Path(scratch) / "smoke"
        registry.mkdir()
        shutil.copy(folder / "models/smoke/run.json", registry)
        registry.joinpath("run.log").write_text('{"stage": "gen\n' + (folder / "models/smoke/run.log").read_text())
        command = [sys.executable, folder / "examples/python/mlflow_runs.py", registry, store]
        said = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2)]
        client = MlflowClient(store)
        runs = client.search_runs([client.get_experiment_by_name("renma smoke").experiment_id])
    assert said == [f"{len(runs)} generations written, 0 were there\n", f"0 generations written, {len(runs)} were there\n"], said
    run = next(run for run in runs if run.data.tags["generation"] == str(newest["generation"]))
    found = [run.data.metrics.get(name) for name in ("exact_mae_discs", "elo", "elo_low", "elo_high", "games")]
    elo = [value if abs(value) < 2399 else None for value in newest["elo"]]
    assert found == [newest["exact_mae"], *elo, newest["games"]], (found, newest)
    assert run.data.params["candidate"] == newest["candidate"] and run.info.status == "FINISHED"
    assert 0 < run.data.metrics["generate_seconds"] <= (run.info.end_time - run.info.start_time) / 1000 + 1
    print(f"MLflow has {len(runs)} generations")


main(*sys.argv[1:])
