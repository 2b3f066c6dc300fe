#!/usr/bin/env python3
"""Run examples/dataset.ipynb with nbconvert on the newest dataset of ROOT, and check its answers.

    python3 tests/notebook.py ROOT

ROOT holds what `renma init` writes, and datasets/. In git the notebook has no outputs. Needs nbconvert, ipykernel, duckdb and numpy.
"""

import json, re, subprocess, sys, tempfile
from pathlib import Path

QUESTIONS = 10


def main(root):
    path = root / "examples/dataset.ipynb"
    code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code), "the notebook in git has outputs"
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--log-level", "WARN",
                   "--output-dir", scratch, "--output", "executed.ipynb", path]
        subprocess.run(command, check=True)
        cells = json.loads((Path(scratch) / "executed.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert all(output["output_type"] == "stream" and output["name"] == "stdout" for output in outputs), outputs
    text = "".join("".join(output["text"]) for output in outputs)
    answers = re.findall(r"^answer (\d+), (.+): (\d+\.\d\d) s$", text, re.MULTILINE)
    assert [int(number) for number, *_ in answers] == list(range(1, QUESTIONS + 1)), answers
    (moves,) = re.findall(r"^│ +0 │ +\d+ │ +4\.0 │ +4 │ +4 │$", text, re.MULTILINE)
    errors = [float(error) for error in re.findall(r"held-out error ([\d.]+) discs", text)]
    zero, learned, player = errors
    assert learned < zero / 2 and player < zero, f"held-out errors {errors}"
    print(re.search(r".+ games, .+ positions\nloaded in .+", text)[0])
    for number, question, seconds in answers:
        print(f"{number:>2} {seconds:>6} s  {question}")
    print(f"held-out error {learned} discs, of the model that played {player}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
