#!/usr/bin/env python3
"""Write the card of every dataset, parse its header, and compare it with the manifest and the files.

    python3 tests/cards.py RENMA ROOT

RENMA is the program; ROOT holds datasets/. Needs what tests/readers.py needs.
"""

import json, re, subprocess, sys, tempfile
from pathlib import Path

import pyarrow.parquet, yaml


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def equal(found, expected, what):
    assert found == expected, f"{what}: {found} found, {expected} expected"


def check_card(renma, folder):
    card = run(renma, "dataset", "export", folder, "--card", "--output", "-")
    _, header, body = re.split(r"^---\n", card, maxsplit=2, flags=re.MULTILINE)
    header, manifest = yaml.safe_load(header), json.loads((folder / "manifest.json").read_text())
    equal(header["license"], "unknown" if manifest["kind"] == "imported" else "cc0-1.0", "license")
    names = ("kind", "format", "rules", "seed", "generation", "asked", "done", "recipe", "content", "models")
    expected = {name: manifest[name] for name in names} | {"parents": manifest.get("parents", [])}
    equal(header["renma"], expected, "provenance")
    tables = sorted({name for part in manifest["parts"] for name in part["files"]})
    infos = {info["config_name"]: info for info in header["dataset_info"]}
    equal(sorted(infos), tables, "tables")
    equal([config["default"] for config in header["configs"]], [True, False][:len(tables)], "the default table")
    for config in header["configs"]:
        name, files = config["config_name"], sorted(folder.glob(config["data_files"]))
        info, entries = infos[name], [part["files"][name] for part in manifest["parts"] if name in part["files"]]
        equal(len(files), len(entries), f"files of {name}")
        equal(info["splits"], [{"name": "train", "num_examples": sum(entry["rows"] for entry in entries)}], f"rows of {name}")
        equal(info["download_size"], sum(file.stat().st_size for file in files), f"bytes of {name}")
        schema = pyarrow.parquet.read_schema(files[0])
        found = [(feature["name"], feature["dtype"]) for feature in info["features"]]
        equal(found, [(field.name, str(field.type)) for field in schema], f"columns of {name}")
        for field in schema:
            row = re.search(rf"^\| `{field.name}` \| \w+ \| \w.*? \| (.*) \|$", body[body.index(f"## `{name}`"):], re.MULTILINE)
            equal(row and row[1], field.metadata[b"description"].decode(), f"meaning of {field.name}")
    (settings,) = re.findall(r"^```json\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
    equal(json.loads(settings), manifest["config"], "settings")
    for value in (manifest["recipe"], manifest["content"], *manifest["models"].values()):
        assert body.count(f"`{value}`"), f"the text leaves out {value}"


def others(renma, scratch):
    """An imported dataset, and one whose settings hold a string that could end a cell or a block."""
    (scratch / "game.txt").write_text("f5d6c3d3c4f4\n")
    run(renma, "dataset", "import", scratch / "game.txt", "--format", "transcripts", "--output", scratch / "imported")
    book = scratch / 'a "b" | `c` <d> ``` --- # é: &e'
    book.write_text("f5d6\n")
    (scratch / "book.toml").write_text(
        f'[generate]\nopenings = "book"\nbook = {json.dumps(book.name)}\ngames = 2\nplay_depth = 1\nlabel_depth = 1\n')
    run(renma, "generate", "--config", scratch / "book.toml", "--model", "builtin:disc-count", "--output", scratch / "book")
    return [scratch / "imported", scratch / "book"]


def main(renma, root):
    renma = Path(renma).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folders = sorted(path.parent for path in Path(root).glob("datasets/*/*/*/manifest.json"))
        assert folders, "there is no finished dataset"
        for folder in folders + others(renma, Path(scratch)):
            check_card(renma, folder)
            print(f"{folder.relative_to(scratch if folder.is_relative_to(scratch) else root)}: the card is true")


if __name__ == "__main__":
    main(*sys.argv[1:])
