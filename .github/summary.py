#!/usr/bin/env python3
"""Summarize one call of pipeline.sh in Markdown, for the page of a workflow.

    python3 .github/summary.py models/RUN/run.json >>"$GITHUB_STEP_SUMMARY"

A run.json that is missing, damaged or not finished is summarized too, so the exit code is always 0: whether a night
failed is for the step that ran it to say. docs/nightly.md lists the fields. Needs Python 3.9 or later, no packages.
"""

import json, sys
from pathlib import Path

OUTCOMES = {
    "accepted": "the last candidate was accepted",
    "rejected": "the last candidate was rejected, the champion stays",
    "inconclusive": "the last gate was inconclusive, the champion stays",
    "budget": "the budget was spent, the next night resumes",
    "damaged": "something on disk is damaged",
    "interrupted": "interrupted, the next night resumes",
    "running": "stopped before it could end, the next night resumes",
    "failed": "failed",
}
GENERATIONS_MAX = 20
CALLS_MAX = 100
TEXT_MAX = 300
UNKNOWN = "–"
# Beyond this an Elo difference is not known: it stands for a share of all points.
ELO_KNOWN = 2399


def number(value, form):
    """A number in this form, or a dash for anything else, NaN and infinities included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e18:
        return UNKNOWN
    return format(round(value) if form.endswith("d") else value, form)


def text(value):
    """A text that cannot break a table or start markup, or a dash for nothing."""
    if value is None or value == "":
        return UNKNOWN
    line = " ".join(str(value).split())[:TEXT_MAX]
    return "".join("\\" + character if character in "\\`*_[]<>|#" else character for character in line)


def member(value, *names):
    """What these names lead to through nested objects, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def members(value, name):
    """The objects in a list; what is not an object is left out."""
    listed = member(value, name)
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def duration(seconds):
    if number(seconds, "d") == UNKNOWN:
        return UNKNOWN
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"


def table(header, rows):
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return [line(header), line(["---"] * len(header)), *map(line, rows), ""]


def elo(interval):
    """An Elo difference with its interval, or the bound that is known where all games were won or lost, as renma prints it."""
    if not isinstance(interval, list) or len(interval) != 3 or any(number(end, "d") == UNKNOWN for end in interval):
        return UNKNOWN
    # No minus sign before a zero.
    middle, low, high = (round(end) + 0 for end in interval)
    if ELO_KNOWN <= high:
        return "unknown" if low <= -ELO_KNOWN else f"> {low:+d}"
    if low <= -ELO_KNOWN:
        return f"< {high:+d}"
    return f"{middle:+d} [{low:+d}, {high:+d}]"


def headline(record):
    outcome = member(record, "outcome")
    words = OUTCOMES.get(outcome) if isinstance(outcome, str) else None
    lines = [f"## Run {text(member(record, 'run'))}: {words or text(outcome)}", ""]
    facts = [("Champion", text(member(record, "champion"))), ("Exit code", number(member(record, "code"), "d"))]
    facts.append(("Time", duration(member(record, "seconds"))))
    budget = member(record, "budget")
    if isinstance(budget, dict):
        facts.append(("Budget", f"{duration(budget.get('seconds'))}, {duration(budget.get('seconds_left'))} left"))
    if "rejected_in_a_row" in record:
        facts.append(("Gates in a row without a promotion", number(record["rejected_in_a_row"], "d")))
    if "bytes_on_disk" in record:
        facts.append(("On disk", number(member(record, "bytes_on_disk"), ",d") + " bytes"))
    return lines + [f"- {name}: {value}" for name, value in facts] + [""]


def generations(record):
    found = [entry for entry in members(record, "generations") if entry.get("games") is not None]
    if not found:
        return []
    rows = []
    for generation in found[-GENERATIONS_MAX:]:
        rows.append([
            number(generation.get("generation"), "d"),
            number(generation.get("games"), ",d"),
            number(generation.get("positions"), ",d"),
            number(generation.get("mae_before"), ".2f"),
            number(generation.get("mae_after"), ".2f"),
            number(generation.get("exact_mae"), ".2f"),
            text(generation.get("candidate")),
            elo(generation.get("elo")),
            text(member(generation, "gate", "verdict") or generation.get("verdict")),
        ])
    left_out = len(found) - len(rows)
    header = ["generation", "games", "positions", "MAE before", "after", "exact MAE", "candidate", "Elo", "verdict"]
    title = "### Generations" + (f" (the newest {len(rows)}; {left_out} are older)" if left_out else "")
    return [title, "", *table(header, rows)]


def stages(record):
    """The calls of this run, and what is begun and not finished."""
    calls = [
        [
            number(call.get("generation"), "d"),
            text(call.get("stage")),
            text(call.get("outcome")),
            duration(call.get("seconds")),
            text(call.get("error")),
        ]
        for call in members(record, "stages")[-CALLS_MAX:]
    ]
    lines = ["### Stages", "", *table(["generation", "stage", "outcome", "time", "error"], calls)] if calls else []
    for state in members(record, "stage_states"):
        if state.get("state") == "done" or not isinstance(state.get("parts"), dict):
            continue
        done, asked = (number(state["parts"].get(name), ",d") for name in ("done", "asked"))
        where = f"generation {number(state.get('generation'), 'd')}"
        lines.append(f"- {text(state.get('stage'))} of {where} is begun: {done} of {asked} parts")
    return lines


def ladder(record):
    rows = [
        [text(rated.get("id")), elo([rated.get(name) for name in ("elo", "elo_low", "elo_high")])]
        for rated in members(record, "ladder")[:GENERATIONS_MAX]
    ]
    return ["", "### Ladder", "", *table(["model", "Elo"], rows)] if rows else []


def summary(path):
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ["## No run.json", "", f"`{path}` is missing: the run ended before its first record. The log says why."]
    except (OSError, ValueError, RecursionError) as error:
        return ["## No readable run.json", "", f"`{path}` cannot be read: {text(error)}"]
    if not isinstance(record, dict):
        return ["## No readable run.json", "", f"`{path}` holds no object"]
    return [*headline(record), *generations(record), *stages(record), *ladder(record)]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 .github/summary.py models/RUN/run.json")
    sys.stdout.reconfigure(encoding="utf-8")
    print("\n".join(summary(sys.argv[1])).rstrip())


if __name__ == "__main__":
    main()
