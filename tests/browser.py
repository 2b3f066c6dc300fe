#!/usr/bin/env python3
"""Drive the pages of `renma serve` in headless Chromium: play a game to its end, read its values, watch a run.

    python3 tests/browser.py RENMA [PICTURES]

RENMA is the program; PICTURES is a folder for screenshots. Needs selenium, and Debian's chromium and chromium-driver.
"""

import contextlib, json, os, subprocess, sys, tempfile, time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

PROJECT = Path(__file__).resolve().parent.parent
SQUARES = [column + row for row in "12345678" for column in "abcdefgh"]
SECONDS_MAX = 120
# A run's name, and a folder's path; "/" divides it into two.
HOSTILE = "<img src=x onerror=hacked=1><script>hacked=1<"


def equal(found, expected, what):
    assert found == expected, f"{what}: {found!r} found, {expected!r} expected"


class Page:
    """A tab of a headless Chromium, with what a person does in it."""

    def __init__(self, scratch):
        options = webdriver.ChromeOptions()
        for option in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                       "--disable-background-networking", "--disable-component-update", f"--user-data-dir={scratch}/chromium"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
            "source": "addEventListener('securitypolicyviolation', event => console.error('policy', event.blockedURI))"})

    def open(self, address, width=1280, height=1100, scheme="light"):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.get(address)

    def run(self, script):
        return self.driver.execute_script(script)

    def by(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.by(name).text

    def wait(self, condition, what):
        def reached(_):
            error = self.text("error")
            assert not error, f"{what}: {error}"
            return condition()
        WebDriverWait(self.driver, SECONDS_MAX, 0.02).until(reached, what)

    def click(self, name):
        self.by(name).click()

    def moves(self):
        return self.run("return [...document.querySelectorAll('#moves li')].map(item => item.textContent)")

    def squares(self, kind):
        return {label.split(",")[0]: label for label in self.run(
            f"return [...document.querySelectorAll('.square{kind}')].map(square => square.getAttribute('aria-label'))")}

    def check(self, what):
        """Nothing failed or was blocked, no text became a script, every control has a name, and nothing is wider than the window."""
        equal(self.driver.get_log("browser"), [], f"{what}: messages of the browser")
        equal(self.run("return window.hacked === undefined"), True, f"{what}: texts stay texts")
        width, room = self.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert width <= room, f"{what}: {width} pixels wide in a window of {room}"
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        for node in nodes:
            properties = {entry["name"]: entry["value"].get("value") for entry in node.get("properties", [])}
            if properties.get("focusable") and node["role"]["value"] not in ("RootWebArea", "generic"):
                assert node["name"]["value"].strip(), f"{what}: a {node['role']['value']} has no name"


@contextlib.contextmanager
def serving(renma, *options):
    command = [renma, "serve", "--port", "0", "--json", "--quiet", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield json.loads(server.stdout.readline())["address"]
        finally:
            server.terminate()


class Game:
    """The rules, once more: discs by square, X is black."""

    def __init__(self):
        self.discs = {"d4": "O", "e5": "O", "d5": "X", "e4": "X"}
        self.side = "X"

    def flips(self, square):
        found, at = [], SQUARES.index(square)
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                line, row, column = [], at // 8 + down, at % 8 + right
                while (down or right) and 0 <= row < 8 and 0 <= column < 8:
                    name = SQUARES[8 * row + column]
                    if self.discs.get(name, self.side) == self.side:
                        found += line if name in self.discs else []
                        break
                    line.append(name)
                    row, column = row + down, column + right
        return found

    def legal(self):
        return {square for square in SQUARES if square not in self.discs and self.flips(square)}

    def play(self, square):
        assert square in self.legal(), square
        self.discs |= dict.fromkeys([square, *self.flips(square)], self.side)
        self.side = "XO"[self.side == "X"]
        if not self.legal():
            self.side = "XO"[self.side == "X"]

    def count(self, side):
        return list(self.discs.values()).count(side)


def play_to_the_end(page):
    """By keyboard and clicks against the engine, which plays white; the moves."""
    page.wait(lambda: page.squares(".best"), "values of the first moves")
    page.run("document.querySelector('.square[tabindex=\"0\"]').focus()")
    for key in [Keys.ARROW_RIGHT] * 5 + [Keys.ARROW_DOWN] * 4 + [Keys.ENTER]:
        page.driver.switch_to.active_element.send_keys(key)
    page.wait(lambda: page.moves() == ["f5"], "a move by keyboard")
    equal(page.run("return document.activeElement.getAttribute('aria-label')"), "f5, black, last move", "the focus stays")
    page.click("undo")
    page.wait(lambda: page.moves() == [], "a move is taken back")
    page.click("redo")
    page.wait(lambda: page.moves() == ["f5"], "and played again")
    page.run("document.getElementById('level').value = 3")
    Select(page.by("side")).select_by_visible_text("white")
    page.wait(lambda: len(page.moves()) == 2, "the engine replies")
    both = page.moves()
    page.click("undo")
    page.wait(lambda: page.moves() == [], "a move is taken back with its reply")
    page.click("redo")
    page.wait(lambda: page.moves() == both, "and both are played again")
    equal(page.by("side").get_attribute("value"), "O", "the engine plays white after that")
    while True:
        page.wait(lambda: page.text("status").startswith(("Black to move", "White passes", "Black wins", "White wins", "Draw")),
                  "the engine replies")
        if "to move" not in page.text("status"):
            return page.moves()
        game, moves = Game(), page.moves()
        for move in moves:
            game.play(move)
        equal(set(page.squares(".legal")), game.legal(), f"legal moves after {''.join(moves)}")
        page.wait(lambda: page.squares(".best"), "values")
        page.run("document.querySelector('.square.best').click()")
        page.wait(lambda: len(moves) < len(page.moves()), "a move by click")


def check_values(renma, page, model):
    """The values on the board and the variation are those of the program."""
    page.click("new")
    page.wait(lambda: not page.moves() and page.squares(".best"), "values of the first moves")
    page.run("const level = document.getElementById('level'); level.value = 4; level.dispatchEvent(new Event('change'))")
    page.wait(lambda: "depth 4" in page.text("analysis"), "values at level 4")
    start = "---------------------------OX------XO--------------------------- X;\n"
    answer = subprocess.run([renma, "eval", "-", "--model", model, "--depth", "4", "--moves", "--json"],
                            input=start, capture_output=True, text=True, check=True)
    (position,) = json.loads(answer.stdout)["positions"]
    expected = {move["move"]: move["score"] / 1000 for move in position["moves"]}
    labels = page.squares(".legal")
    equal(set(labels), set(expected), "squares with values")
    for square, label in labels.items():
        found = float(label.split("value ")[1].split(",")[0].replace("−", "-"))
        assert abs(found - expected[square]) < 0.0501, f"{label}: {expected[square]} expected"


def check_board(renma, page, address, model, pictures):
    page.open(address)
    moves = play_to_the_end(page)
    game = Game()
    for move in moves:
        game.play(move)
    equal(game.legal(), set(), "moves after the last one")
    black, white = game.count("X"), game.count("O")
    winner = "Draw" if black == white else "Black wins" if white < black else "White wins"
    equal(page.text("status"), f"{winner}: black {black}, white {white}", "the result")
    page.click("review")
    script = "return (document.querySelector('#graph polyline')?.getAttribute('points') ?? '').split(' ').length"
    page.wait(lambda: page.run(script) == len(moves), "a point of the graph for each move")
    # A review solves from 14 empty squares on.
    assert "exact from move 47" in page.text("graph"), page.text("graph")
    page.wait(lambda: "urning point" in page.text("turning"), "turning points")
    page.check("board")
    if pictures:
        page.driver.save_screenshot(f"{pictures}/board.png")
    for width, scheme, name in [(390, "light", "board-phone"), (1280, "dark", "board-dark")]:
        page.open(address, width, 1500 if width < 500 else 1100, scheme)
        page.wait(lambda: page.squares(".best"), "values")
        page.check(name)
        if pictures:
            page.driver.save_screenshot(f"{pictures}/{name}.png")
    check_values(renma, page, model)
    page.by("text").send_keys("<script>hacked=1</script>")
    page.run("document.getElementById('setup').requestSubmit()")
    WebDriverWait(page.driver, SECONDS_MAX).until(lambda _: page.text("error"))
    # The refusal is a message of the browser too.
    assert "400" in page.driver.get_log("browser")[0]["message"]
    page.by("text").clear()
    page.by("text").send_keys("---------------------------XO------OX--------------------------- O;")
    page.run("document.getElementById('setup').requestSubmit()")
    page.wait(lambda: page.text("status").startswith("White to move"), "a position")
    page.check("setup")


def check_run(page, address, registry, pipeline, pictures):
    """Watches a run from before its first record to its end."""
    page.open(address + "run")
    WebDriverWait(page.driver, SECONDS_MAX).until(lambda _: page.text("error"))
    equal(page.text("error"), f"{registry}/run.json is missing; renma run writes it", "no run")
    page.driver.get_log("browser")
    process = subprocess.Popen(**pipeline)
    WebDriverWait(page.driver, SECONDS_MAX, 0.02).until(lambda _: page.text("status").startswith("Running, "))
    WebDriverWait(page.driver, SECONDS_MAX, 0.02).until(lambda _: page.text("work"))
    page.driver.get_log("browser")
    if pictures:
        page.driver.save_screenshot(f"{pictures}/run.png")
    equal(process.wait(), 0, "exit code of the run")
    page.wait(lambda: page.text("status").startswith("Finished"), "the end of the run")
    record = json.loads((registry / "run.json").read_text())
    begun = [generation for generation in record["generations"] if generation["games"] is not None]
    rows = [row.text for row in page.driver.find_elements(By.CSS_SELECTOR, "#generations tr")]
    equal(len(rows), len(begun), "generations")
    for row, generation in zip(rows, reversed(begun)):
        for value in (str(generation["generation"]), f"{generation['games']:,}", generation["candidate"], generation["verdict"]):
            assert value in row, f"{value} is not in {row}"
    page.check("run")
    page.open(address + "run", 390, 800)
    page.wait(lambda: page.text("status").startswith("Finished"), "the run on a phone")
    page.check("run on a phone")
    page.open(address + "report")
    equal(page.run("return document.querySelectorAll('svg').length > 5"), True, "pictures of the report")
    equal(page.driver.get_log("browser"), [], "messages of the report")
    (registry / "run.json").write_text(json.dumps(record).replace(f'"run": "{record["run"]}"', f'"run": {json.dumps(HOSTILE)}'))
    page.open(address + "run")
    page.wait(lambda: page.text("name") == HOSTILE, "a hostile name")
    page.check("a hostile name")


def main():
    renma, pictures = str(Path(sys.argv[1]).resolve()), sys.argv[2] if 2 < len(sys.argv) else None
    with tempfile.TemporaryDirectory(prefix="renma-browser-") as scratch:
        folder = Path(scratch, "run")
        subprocess.run([renma, "init", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        model = Path(scratch, HOSTILE, "script>")
        model.parent.mkdir()
        generations = folder / "models" / "smoke"
        page = Page(scratch)
        try:
            # Games for half a minute: what the page shows is ten seconds old.
            pipeline = {"args": ["./pipeline.sh", "--config", "configs/smoke.toml", "--generations", "1", "--set", "generate.games=60000"],
                        "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ | {"RENMA": renma}}
            with serving(renma, "--models", generations, "--model", "builtin:square-weights") as address:
                check_run(page, address, generations, pipeline, pictures)
            (generations / "v0002").rename(model)
            with serving(renma, "--model", model) as address:
                check_board(renma, page, address, model, pictures)
                equal(page.text("model"), "v0002", "the model's name")
        finally:
            page.driver.quit()
    print("board, run and report in Chromium: passed")


main()
