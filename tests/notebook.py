#!/usr/bin/env python3
"""Run the notebooks of examples/ with nbconvert on the newest dataset of ROOT, and check their answers.

    python3 tests/notebook.py ROOT

ROOT holds what `renma init` writes, and datasets/. In git a notebook has no outputs. Needs nbconvert, ipykernel, duckdb, numpy, pyarrow and
matplotlib.
"""

import json, re, subprocess, sys, tempfile
from pathlib import Path

QUESTIONS = 10


def run(path, charts):
    """What a notebook prints; it must draw this number of charts."""
    code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code), f"{path.name} in git has outputs"
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--log-level", "WARN",
                   "--output-dir", scratch, "--output", "executed.ipynb", path]
        subprocess.run(command, check=True)
        cells = json.loads((Path(scratch) / "executed.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = [output for output in outputs if output["output_type"] == "stream"]
    drawn = [output for output in outputs if "image/png" in output.get("data", {})]
    assert all(output["name"] == "stdout" for output in printed), printed
    assert len(printed) + len(drawn) == len(outputs) and len(drawn) == charts, f"{path.name}: {len(drawn)} charts"
    return "".join("".join(output["text"]) for output in printed)


def check_questions(path):
    text = run(path, charts=2)
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


def check_world_model(path):
    text = run(path, charts=2)
    wrong = [float(share) for share in re.findall(r"([\d.]+) % of the moves get the wrong color", text)]
    assert len(wrong) == 2 and 0.8 < wrong[1] < 1.5, f"{wrong} % of the moves get the wrong color, 1.2 % of random ones expected"
    assert re.search(r"games are held out, 0 are on both sides", text), text
    shares = re.findall(r"^(.+): ([\d.]+) of the first choices are legal, ([\d.]+) where parity is wrong", text, re.MULTILINE)
    moves, by_parity, by_side = ([float(share) for share in shares[place][1:]] for place in range(3))
    assert moves[0] < by_parity[0] and 0.85 < by_side[0], f"legal first choices: {shares}"
    assert by_parity[1] + 0.1 < by_side[1], f"legal first choices where parity is wrong: {shares}"
    print("\n".join(re.findall(r".*(?:wrong color|held out|first choices|^\d+ s$).*", text, re.MULTILINE)))


def main(root):
    check_questions(root / "examples/dataset.ipynb")
    check_world_model(root / "examples/world_model.ipynb")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
