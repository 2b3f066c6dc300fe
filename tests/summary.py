#!/usr/bin/env python3
"""Check .github/summary.py: what it says of a real run.json, and that no damage to one stops it.

    python3 tests/summary.py models/RUN/run.json

The run has ended with a promotion in each of its generations, as the smoke run does. Needs no packages.
"""

import copy, json, subprocess, sys, tempfile
from pathlib import Path

SUMMARY = Path(__file__).resolve().parent.parent / ".github/summary.py"
sys.path.insert(0, str(SUMMARY.parent))
sys.dont_write_bytecode = True
import summary

OTHER_VALUES = (None, True, -1, 2.5, 10**400, float("nan"), float("inf"), "", "a|b\n# c <script>", [], [None, 3], {}, {"parts": {}})
folder = tempfile.TemporaryDirectory()
scratch = Path(folder.name)


def check(words, expected):
    assert expected in words, f"no {expected!r} in:\n{words}"


def words_of(content):
    """What it prints for a run.json of these bytes."""
    path = scratch / "run.json"
    path.write_bytes(content)
    return "\n".join(summary.summary(path))


def places(value, path=()):
    """The path of every value in a document."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def with_value(document, path, value):
    if not path:
        return value
    changed = copy.deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def a_finished_run_is_told_with_its_champion_errors_and_verdicts(record):
    run = subprocess.run([sys.executable, SUMMARY, sys.argv[1]], capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr
    check(run.stdout, f"## Run {record['run']}: the last candidate was accepted\n")
    check(run.stdout, f"- Champion: {record['champion']}\n- Exit code: 0\n")
    for generation in record["generations"]:
        score = generation["gate"]["score"]
        elo = f"{score['elo']:+.0f} [{score['elo_low']:+.0f}, {score['elo_high']:+.0f}]"
        errors = " | ".join(f"{generation[name]:.2f}" for name in ("mae_before", "mae_after", "exact_mae"))
        games = f"| {generation['generation']} | {generation['games']:,} | {generation['positions']:,}"
        check(run.stdout, f"{games} | {errors} | {generation['candidate']} | {elo} | accepted |\n")
    for line in run.stdout.splitlines():
        assert line.count("|") in (0, 3, 6, 10), f"a row of another width: {line}"


def a_night_that_was_killed_says_what_is_begun(record):
    changed = {**record, "code": None, "outcome": "running", "champion": None, "rejected_in_a_row": 3}
    changed["bytes_on_disk"] = 1_234_567
    changed["budget"] = {"seconds": 7200, "seconds_left": 61, "spent": False}
    parts = {"done": 3, "asked": 1500}
    changed["stage_states"] = [{"generation": 4, "stage": "generate", "state": "missing", "parts": parts}]
    words = words_of(json.dumps(changed).encode())
    for expected in (
        "stopped before it could end",
        "- Champion: –\n- Exit code: –\n",
        "- Budget: 2 h 00 min, 1 min 01 s left\n",
        "- Gates in a row without a promotion: 3\n",
        "- On disk: 1,234,567 bytes\n",
        "- generate of generation 4 is begun: 3 of 1,500 parts",
    ):
        check(words, expected)


def closed_sweeping_and_begun_generations_are_told_as_far_as_they_are_known(record):
    closed = {**record["generations"][0], "gate": None, "elo": [669.2, 420.3, 2400.0]}
    begun = {"generation": 2, **dict.fromkeys(name for name in closed if name != "generation")}
    words = words_of(json.dumps({**record, "generations": [closed, begun]}).encode())
    check(words, f"| {closed['candidate']} | > +420 | accepted |\n")
    assert "\n| 2 |" not in words.split("### Stages")[0], words
    for interval, expected in (
        ([-669.0, -2400.0, -420.3], "< -420"),
        ([0.0, -2400.0, 2400.0], "unknown"),
        ([-0.4, -37.2, 36.6], "+0 [-37, +37]"),
        ([1.0, 2.0], "–"),
        (None, "–"),
    ):
        assert summary.elo(interval) == expected, (interval, summary.elo(interval))


def a_missing_or_damaged_record_is_said_to_be(record):
    missing = subprocess.run([sys.executable, SUMMARY, scratch / "none.json"], capture_output=True, text=True)
    assert missing.returncode == 0, missing.stderr
    check(missing.stdout, "none.json` is missing")
    whole = json.dumps(record).encode()
    for content in (b"", b"\xff\xfe", b"[" * 100_000, b"[1]", b"null", *(whole[:end] for end in range(1, len(whole), 97))):
        check(words_of(content), "## No readable run.json")


def any_value_in_the_place_of_any_other_still_gives_a_summary(record):
    count = 0
    for path in places(record):
        for value in OTHER_VALUES:
            words = words_of(json.dumps(with_value(record, path, value)).encode())
            assert words.startswith("## "), (path, value, words)
            assert "<script>" not in words and "\n# c" not in words, (path, value, words)
            count += 1
    assert 1000 < count, count


def long_runs_give_short_summaries(record):
    generation = {**record["generations"][0], "candidate": "v" * 5000}
    changed = {**record, "generations": [generation] * 5000, "stages": record["stages"] * 5000}
    changed["ladder"] = record["ladder"] * 5000
    words = words_of(json.dumps(changed).encode())
    check(words, "the newest 20; 4980 are older")
    assert len(words) < 50_000, len(words)


def main():
    record = json.loads(Path(sys.argv[1]).read_text())
    for test in (
        a_finished_run_is_told_with_its_champion_errors_and_verdicts,
        a_night_that_was_killed_says_what_is_begun,
        closed_sweeping_and_begun_generations_are_told_as_far_as_they_are_known,
        a_missing_or_damaged_record_is_said_to_be,
        any_value_in_the_place_of_any_other_still_gives_a_summary,
        long_runs_give_short_summaries,
    ):
        test(record)
        print(f"passed  {test.__name__}")


main()
