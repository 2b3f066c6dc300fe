#!/usr/bin/env python3
"""Check what `renma status --format` prints for a run of the smoke config.

    python3 tests/metrics.py RENMA FOLDER

FOLDER is a project folder with a finished run. Needs prometheus_client, whose parser checks OpenMetrics. The others are checked against what
Bencher and github-action-benchmark document.
"""

import json, subprocess, sys

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

    entries = json.loads(status(renma, folder, "--format", "benchmark-action"))
    assert {entry["name"]: entry["value"] for entry in entries} == {f"smoke {name}": value for name, value in values.items()}
    for entry in entries:
        assert {"name", "unit", "value"} <= entry.keys() <= {"name", "unit", "value", "range", "extra"}, entry
        assert isinstance(entry["value"], (int, float)) and all(isinstance(entry[key], str) for key in entry if key != "value")

    families = list(text_string_to_metric_families(status(renma, folder, "--format", "openmetrics")))
    samples = {sample.name: sample.value for family in families for sample in family.samples}
    for name, value in values.items():
        assert samples["renma_" + name.replace("-", "_")] == value, name
    assert all(family.unit and family.documentation for family in families)
    print(f"{len(values)} figures in three formats agree: {', '.join(values)}")


main(*sys.argv[1:])
