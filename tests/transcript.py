#!/usr/bin/env python3
"""Paste what ./pipeline.sh prints into README.md: one run of the commit that is checked out, in a fresh clone.

    python3 tests/transcript.py

The figures of a transcript then come from one run of one commit on one machine, which the page names. Takes the build and five
minutes on two cores; nothing else should be at work.
"""

import json, os, re, subprocess, tempfile, textwrap
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "README.md"
WIDTH = 140


def machine():
    """The processor and the number of its cores, as Linux names them."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)[1]
    return f"{len(re.findall('^processor', text, re.M))} cores of an {model.replace('(R)', '').replace(' CPU', '')}"


def with_block(page, first, lines):
    """The page with these lines in place of the indented block whose first line begins like this."""
    old = re.search(rf"^    {re.escape(first)}.*\n(?:    .*\n)*", page, re.M)
    assert old, f"{PAGE} has no block that begins with {first!r}"
    return page.replace(old[0], "".join(f"    {line}\n" for line in lines))


def main():
    with tempfile.TemporaryDirectory() as scratch:
        clone = Path(scratch) / "renma"
        subprocess.run(["git", "clone", "--quiet", PROJECT, clone], check=True)
        # COLUMNS gives the table all its columns.
        environment = {**os.environ, "COLUMNS": str(WIDTH)}
        done = subprocess.run(["./pipeline.sh"], cwd=clone, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        record = json.loads((clone / "models/default/run.json").read_text())
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=clone, capture_output=True, text=True).stdout.strip()
    begin = done.stderr.splitlines()
    promoted = next(number for number, line in enumerate(begin) if line.lstrip().startswith("promote"))
    table = done.stdout.splitlines()
    head = next(number for number, line in enumerate(table) if line.startswith("generation "))
    rows = [line.rstrip() for line in table[head:head + 1 + len(record["generations"])]]
    page = with_block(PAGE.read_text(), "building renma", begin[:promoted + 1])
    page = with_block(page, "generation  games", rows)
    cost = (f"The five generations cost {record['efficiency']['cpu_seconds']:.0f} CPU seconds and "
            f"{record['seconds'] / 60:.0f} minutes on {machine()} (commit {commit}), and begin like this:")
    old = re.search(r"^The five generations cost [^:]*:", page, re.M)[0]
    PAGE.write_text(page.replace(old, textwrap.fill(cost, WIDTH)))


if __name__ == "__main__":
    main()
