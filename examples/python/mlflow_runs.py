"""The generations of a run as MLflow runs in a local database, without a server: python3 mlflow_runs.py models/RUN [STORE]

Repeat it after each night: generations that are there already are skipped. `mlflow ui --backend-store-uri STORE` shows them.
"""
import json, sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from mlflow.entities import Metric, Param, RunTag
from mlflow.tracking import MlflowClient

registry = Path(sys.argv[1])
record = json.loads((registry / "run.json").read_text())
calls = []
for line in (registry / "run.log").read_text().splitlines():  # Of all nights.
    with suppress(json.JSONDecodeError):  # A loss of power may leave a torn line.
        calls.append(json.loads(line))
client = MlflowClient(sys.argv[2] if len(sys.argv) > 2 else "sqlite:///mlflow.db")
name = f"renma {record['run']}"
experiment = client.get_experiment_by_name(name)
experiment = experiment.experiment_id if experiment else client.create_experiment(name)

logged = 0
for line in record["generations"]:
    generation, verdict = line["generation"], line["verdict"]
    if not verdict or client.search_runs([experiment], f"tags.generation = '{generation}'"):
        continue
    # A stage that found its work done took no time, and one that was stopped has several calls.
    worked = [call for call in calls if call["generation"] == generation and call["outcome"] != "skipped"]
    seconds = Counter()
    for call in worked:
        seconds[f"{call['stage'].replace('-', '_')}_seconds"] += call["seconds"]
    began = min((int(1000 * call["began"]) for call in worked), default=None)
    ended = max((int(1000 * (call["began"] + call["seconds"])) for call in worked), default=None)
    # From 2,399 on, an Elo stands for more than is known.
    elo, elo_low, elo_high = (value if abs(value) < 2399 else None for value in line["elo"])
    figures = {
        "games": line["games"], "positions": line["positions"], "points": line["points"],
        "elo": elo, "elo_low": elo_low, "elo_high": elo_high,
        "held_out_mae_discs": line["mae_after"], "exact_mae_discs": line["exact_mae"],
        "cpu_seconds": sum(call["cpu_seconds"] for call in worked) if worked else None, **seconds,
    }
    tags = {"generation": str(generation), "verdict": verdict, "champion": str(line["champion"])}
    run = client.create_run(experiment, began, run_name=f"{record['run']} {generation}").info.run_id
    client.log_batch(
        run,
        metrics=[Metric(key, value, ended or 0, generation) for key, value in figures.items() if value is not None],
        params=[Param(key, str(line[key])) for key in ("baseline", "candidate")],
        tags=[RunTag(key, value) for key, value in tags.items()],
    )
    client.set_terminated(run, end_time=ended)
    logged += 1
print(f"{logged} generations written, {sum(bool(line['verdict']) for line in record['generations']) - logged} were there")
