#!/usr/bin/env python3
"""Run the command lines of the Markdown pages, and compare what they print with what the pages say.

    python3 tests/docs.py [--write] RENMA [PAGE...]

Each page (default: README.md and docs/) runs in a fresh copy of the project with two finished runs, `smoke` and `default`;
there configs/default.toml, nightly.toml and champion.toml are as small as smoke.toml. A page's blocks run in order:

- An indented or fenced block that begins with a command is a shell script, which must end with 0.
- In a block of ```console each line after `$ ` is a command, and the lines up to the next one are what it prints, on both
  outputs. A line `…` stands for lines that differ from machine to machine. --write puts the output into the page.
- `<!-- not run: REASON -->` above a block excludes it. Lines of cargo are not run: the program is built, and CI tests it.

RENMA is the program. Needs bash, git, Python 3.11, and for the examples what tests/readers.py needs.
"""

import os, re, shutil, signal, subprocess, sys, tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
COMMANDS = re.compile(
    r"renma|\./pipeline\.sh|RENMA\S+|cargo|python3|duckdb|echo|for|cd;?|openssl|systemctl|dask=\S+|~/\S+|#!/bin/bash|[0-9]+ [0-9]+ \* .*")
SMALL = ("default", "nightly", "champion")
SECONDS_MAX = 1200


class Block:
    def __init__(self, line, language, lines, reason):
        self.line, self.language, self.lines, self.reason = line, language, lines, reason

    def is_command(self):
        word, first = self.lines[0].split()[0], self.lines[0]
        is_command = COMMANDS.fullmatch(word) or COMMANDS.fullmatch(first)
        return self.language in ("console", "sh") or self.language is None and bool(is_command)

    def commands(self):
        """The logical lines of a script: joined at backslashes, loops as one, without comments."""
        text = re.sub(r"\\\n\s*", "", "\n".join(self.lines))
        text = re.sub(r"; do\n(.*?)\n\s*done", r"; do \1; done", text, flags=re.DOTALL)
        return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]

    def steps(self):
        """Of a console block: each command with the lines that it prints."""
        steps = []
        for line in self.lines:
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        return steps


def blocks(text):
    """The fenced and indented blocks of a page."""
    found, lines, number, reason, blank = [], text.splitlines(), 0, None, True
    while number < len(lines):
        line, begin = lines[number], number
        number += 1
        if match := re.fullmatch(r"\s*<!-- not run: (.+) -->", line):
            reason, blank = match[1], True
        elif match := re.fullmatch(r"```(\w*)", line):
            while lines[number] != "```":
                number += 1
            found.append(Block(begin + 1, match[1] or "text", lines[begin + 1:number], reason))
            number, reason = number + 1, None
        elif blank and re.match(r" {4,}\S", line):
            while number < len(lines) and re.match(r" {4,}|$", lines[number]):
                number += 1
            block = "\n".join(lines[begin:number]).rstrip().splitlines()
            indent = min(len(text) - len(text.lstrip()) for text in block if text)
            found.append(Block(begin, None, [text[indent:] for text in block], reason))
            reason, blank = None, True
        else:
            blank, reason = not line.strip(), reason if not line.strip() else None
    return found


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def prepare(renma, scratch):
    """The project with two finished runs, and the programs that its pages call."""
    base, programs = scratch / "base", scratch / "bin"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listed, cwd=PROJECT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (PROJECT / name).is_file():
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, base / name)
    for name in SMALL:
        shutil.copy(base / "configs/smoke.toml", base / f"configs/{name}.toml")
    programs.mkdir()
    (scratch / "target/release").mkdir(parents=True)
    (scratch / "target/release/renma").symlink_to(renma)
    (programs / "renma").symlink_to(renma)
    program(programs / "cargo", '#!/bin/sh\n')
    program(programs / "python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program(programs / "duckdb", f"#!{sys.executable}\nimport duckdb, sys\nassert sys.argv[1] == '-c'\n"
            "result = duckdb.sql(sys.argv[2])\nif result is not None: result.show(max_width=160)\n")
    for name in ("smoke", "default"):
        run(scratch, base, f"./pipeline.sh --config configs/{name}.toml")
    return base


def run(scratch, folder, script):
    """Runs a script, and returns what it prints on both outputs."""
    environment = {"HOME": str(scratch), "CARGO_TARGET_DIR": str(scratch / "target"), "LANG": "C.UTF-8", "COLUMNS": "120",
                   "PATH": f"{scratch / 'bin'}:/usr/local/bin:/usr/bin:/bin"}
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 0, f"{script}\nends with {process.returncode}\n{output}"
    return [line.rstrip() for line in output.rstrip().splitlines()]


def is_equal(found, expected):
    """Whether lines are those expected, where `…` stands for any lines."""
    if not expected or expected[0] != "…":
        return found[:1] == expected[:1] and (not expected or is_equal(found[1:], expected[1:]))
    return any(is_equal(found[skipped:], expected[1:]) for skipped in range(len(found) + 1))


def check_page(page, base, scratch, write):
    """Runs a page, and returns how many commands ran, were compared and were not run, and the faults."""
    text, counts, faults = page.read_text(), [0, 0, 0], []
    folder = scratch / "page"
    shutil.copytree(base, folder, symlinks=True)
    for block in blocks(text):
        where = f"{page.relative_to(PROJECT)}:{block.line + 1}"
        if not block.is_command():
            hidden = [line for line in block.lines if re.match(r"\s*(renma|\./pipeline\.sh) ", line)]
            faults += [f"{where}: a command in a block of something else: {line}" for line in hidden]
        elif block.reason:
            counts[2] += len(block.commands())
            print(f"  not run  {where}: {block.reason}")
        else:
            try:
                if block.language != "console":
                    of_cargo = sum(command.startswith("cargo ") for command in block.commands())
                    counts[0] += len(block.commands()) - of_cargo
                    counts[2] += of_cargo
                    run(scratch, folder, "\n".join(block.lines))
                    continue
                lines = []
                for command, expected in block.steps():
                    counts[0] += 1
                    counts[1] += 1
                    found = run(scratch, folder, command)
                    lines += [f"$ {command}", *(expected if is_equal(found, expected) else found)]
                    if not write and not is_equal(found, expected):
                        faults.append("\n".join([f"{where}: {command}", "prints", *found, "and the page says", *expected]))
                text = text.replace("\n".join(["```console", *block.lines, "```"]), "\n".join(["```console", *lines, "```"]), 1)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                faults.append(f"{where}: {error}")
    if write:
        page.write_text(text)
    shutil.rmtree(folder)
    return counts, faults


def main(arguments):
    write = "--write" in arguments
    renma, *names = [argument for argument in arguments if argument != "--write"]
    pages = [PROJECT / name for name in names] or sorted([*PROJECT.glob("README*.md"), *PROJECT.glob("docs/*.md")])
    pages = [page for page in pages if page.name != "reference.md"]  # tests/commands/command_line.rs tries its examples.
    total, faults = [0, 0, 0], []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch).resolve()
        base = prepare(Path(renma).resolve(), scratch)
        for page in pages:
            counts, new = check_page(page, base, scratch, write)
            print("{}: {} commands ran, {} of them compared, {} not run".format(page.relative_to(PROJECT), *counts))
            total, faults = [sum(pair) for pair in zip(total, counts)], faults + new
    for fault in faults:
        print(f"FAILED  {fault}")
    print("{} commands ran, {} of them compared, {} not run, {} failed".format(*total, len(faults)))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
