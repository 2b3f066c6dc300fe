#!/usr/bin/env python3
"""Drive the pages of `renma serve` in headless Chromium: play a game to its end, move through it, share it, time the engine,
read the report of a run.

    python3 tests/browser.py RENMA [PICTURES]

RENMA is the program; PICTURES is a folder for screenshots. Needs selenium, and Debian's chromium and chromium-driver.
"""

import contextlib, json, os, re, subprocess, sys, tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

PROJECT = Path(__file__).resolve().parent.parent
SQUARES = [column + row for row in "12345678" for column in "abcdefgh"]
SECONDS_MAX = 120
# A game with passes, mistakes and blunders, and the blunder at which its picture is taken.
REVIEWED = "c4c3d3c5d6e3d2c2b3b4d1a3c6b5a5d7f3f2f4e2b6a7f5c1b1g5g4h4g3f6e7c7e1d8h6e6g6a4a2h3f1h5h2g2f7f8g7h7h8g8b7a8e8a6c8b8g1a1h1b2"
BLUNDER = 17
TARGET_MIN = 44  # pixels, for a finger
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
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": width < 500})
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

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def moves(self):
        return self.run("return [...document.querySelectorAll('#moves .square-name')].map(name => name.textContent)")

    def clipboard(self):
        return self.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0], error => arguments[0](String(error)))")

    def background(self):
        """The brightness of the page, 0 to 255."""
        color = self.run("return getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", color)[:3])) / 3

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


def replay(moves):
    game = Game()
    for move in moves:
        game.play(move)
    return game


def wait_for_engine(page):
    page.wait(lambda: re.search("(to move|wins|[Dd]raw)$", page.text("status")), "the engine replies")


def check_shown(page, moves, count, what):
    """The page shows the game after this number of its moves: on the board, in the list and in the graph."""
    page.wait(lambda: page.by("graph").get_attribute("aria-valuenow") == str(count), f"{what}: {count} moves")
    game = replay(moves[:count])
    colors = {"black": "X", "white": "O"}
    found = {name: colors[label.split(", ")[1]] for name, label in page.squares("").items() if label.split(", ")[1] in colors}
    equal(found, game.discs, f"{what}: the board after {count} moves")
    equal(page.moves(), moves, f"{what}: the list")
    current = page.run("return [...document.querySelectorAll('#moves [aria-current] .square-name')].map(name => name.textContent)")
    equal(current, moves[count - 1:count] if count else [], f"{what}: the current move")
    visible = page.run("""
        const item = document.querySelector('#moves [aria-current]')?.getBoundingClientRect();
        const list = document.getElementById('moves').getBoundingClientRect();
        return item === undefined || list.top <= item.top + 1 && item.bottom <= list.bottom + 1;""")
    assert visible, f"{what}: the current move is out of sight"


def play_to_the_end(page):
    """By keyboard and clicks against the engine, which plays white; the moves."""
    page.wait(lambda: page.squares(".best"), "values of the first moves")
    page.run("document.querySelector('.square[tabindex=\"0\"]').focus()")
    page.press(*[Keys.ARROW_RIGHT] * 5, *[Keys.ARROW_DOWN] * 4, Keys.ENTER)
    page.wait(lambda: page.moves() == ["f5"], "a move by keyboard")
    equal(page.run("return document.activeElement.getAttribute('aria-label')"), "f5, black, last move", "the focus stays")
    page.click("undo")
    page.wait(lambda: page.moves() == [], "a move is taken back")
    page.driver.back()
    page.wait(lambda: page.moves() == ["f5"], "the browser's history has the game before")
    Select(page.by("level")).select_by_index(2)
    page.click("black")
    page.wait(lambda: len(page.moves()) == 2, "the engine replies")
    wait_for_engine(page)
    equal(page.text("status"), f"White played {page.moves()[1]}, black to move", "the engine's move is told")
    page.click("undo")
    page.wait(lambda: page.moves() == [], "a move is taken back with its reply")
    equal(page.by("black").get_attribute("aria-pressed"), "true", "the engine plays white after that")
    level = page.by("level").get_attribute("value")
    page.driver.refresh()
    page.wait(lambda: page.squares(".best"), "values after a reload")
    equal(page.by("black").get_attribute("aria-pressed"), "true", "and after a reload")
    equal(page.by("level").get_attribute("value"), level, "at the same level")
    while True:
        wait_for_engine(page)
        if "to move" not in page.text("status"):
            return page.moves()
        moves = page.moves()
        equal(set(page.squares(".legal")), replay(moves).legal(), f"legal moves after {''.join(moves)}")
        page.wait(lambda: page.squares(".best"), "values")
        page.run("document.querySelector('.square.best').click()")
        page.wait(lambda: len(moves) < len(page.moves()), "a move by click")


def check_navigation(page, moves):
    """By click and by arrow keys, in the list and in the graph."""
    page.run("scrollTo(0, 0)")
    middle = len(moves) // 2
    page.driver.find_elements(By.CSS_SELECTOR, "#moves button")[middle - 1].click()
    check_shown(page, moves, middle, "a click in the list")
    # The list is drawn again between the press and the release of the button.
    next_move = page.driver.find_elements(By.CSS_SELECTOR, "#moves button")[middle]
    webdriver.ActionChains(page.driver).click_and_hold(next_move).perform()
    page.run("document.getElementById('level').dispatchEvent(new Event('change'))")
    webdriver.ActionChains(page.driver).release().perform()
    check_shown(page, moves, middle + 1, "a click while the list is drawn")
    page.press(Keys.ARROW_LEFT)
    check_shown(page, moves, middle, "the left arrow key after it")
    page.press(Keys.ARROW_LEFT)
    check_shown(page, moves, middle - 1, "the left arrow key in the list")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    check_shown(page, moves, middle + 1, "the right arrow key in the list")
    sides = [replay(moves[:index]).side for index in range(len(moves))]
    page.press(Keys.ARROW_DOWN)
    below = next(index for index in range(middle + 1, len(moves)) if sides[index] == sides[middle])
    check_shown(page, moves, below + 1, "the down arrow key in the list")
    equal(page.run("return document.activeElement.getAttribute('aria-current')"), "true", "the focus follows")
    page.press(Keys.HOME)
    check_shown(page, moves, 0, "the Home key")
    page.press(Keys.END)
    check_shown(page, moves, len(moves), "the End key")
    for name, count in [("back", len(moves) - 1), ("first", 0), ("forward", 1), ("last", len(moves))]:
        page.click(name)
        check_shown(page, moves, count, f"the button {name}")
    webdriver.ActionChains(page.driver).move_to_element(page.by("graph")).click().perform()
    count = int(page.by("graph").get_attribute("aria-valuenow"))
    assert 20 < count < 40, f"a click on the middle of the graph shows move {count}"
    check_shown(page, moves, count, "a click on the graph")
    page.press(Keys.ARROW_RIGHT)
    check_shown(page, moves, count + 1, "the right arrow key in the graph")
    page.press(Keys.ARROW_DOWN, Keys.PAGE_DOWN)
    check_shown(page, moves, count - 10, "other keys in the graph")
    # After a click on the board, which plays, the arrow keys still move through the game.
    square = moves[count - 10]
    page.driver.find_element(By.CSS_SELECTOR, f".square[aria-label^='{square},']").click()
    check_shown(page, moves, count - 9, "the next move, played again")
    page.press(Keys.ARROW_LEFT)
    check_shown(page, moves, count - 10, "the left arrow key after a click on the board")
    equal(page.run("return scrollY"), 0, "the page stays where it is")


def check_sharing(page, address, moves):
    """What is copied brings the game and the position back, in a fresh tab and after a reload."""
    origin = {"origin": address.rstrip("/"), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.driver.execute_cdp_cmd("Browser.grantPermissions", origin)
    count = len(moves) - 20
    page.driver.find_elements(By.CSS_SELECTOR, "#moves button")[count - 1].click()
    check_shown(page, moves, count, "before it is shared")
    copied = {}
    for name in ("transcript", "position", "link"):
        page.click(f"copy-{name}")
        page.wait(lambda: page.text(f"copy-{name}") == "Copied", f"the {name} is copied")
        copied[name] = page.clipboard()
    game = replay(moves[:count])
    equal(copied["transcript"], "".join(moves), "the transcript")
    equal(copied["position"], "".join(game.discs.get(square, "-") for square in SQUARES) + f" {game.side};", "the position")
    page.driver.refresh()
    check_shown(page, moves, count, "after a reload")
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.open(copied["link"])
    check_shown(page, moves, count, "in a fresh tab")
    equal(page.by("black").get_attribute("aria-pressed"), "false", "a link brings no opponent")
    page.press(Keys.ARROW_RIGHT)
    check_shown(page, moves, count + 1, "and is moved through")
    page.check("a fresh tab")
    page.driver.close()
    page.driver.switch_to.window(first)
    page.click("black")
    equal(page.by("black").get_attribute("aria-pressed"), "false", "the engine plays no more")
    for text in (copied["transcript"].upper(), " ".join(f"{index + 1}. {move}" for index, move in enumerate(moves))):
        page.click("new")
        page.wait(lambda: not page.moves(), "a new game")
        set_up(page, text)
        check_shown(page, moves, len(moves), f"set up as {text}")
    set_up(page, copied["position"])
    page.wait(lambda: not page.moves(), "the position is set up")
    equal(set(page.squares(".legal")), game.legal(), "legal moves of the position")


def set_up(page, text):
    page.by("text").clear()
    page.by("text").send_keys(text)
    page.run("document.getElementById('setup').requestSubmit()")


# A whole game: one that was played here may end early, with more empty squares than are solved.
WHOLE_GAME = ("d3c3c4c5f6f5b3f4e6d7c6d6f3g6f7g3h6b2a1b5h3g2f2e2d2e7b4g5h5h4"
              "g4e3e8b6e1d8c8a4h1h2c7f8g8g7a3a2a5a7a6b8h8h7c2b1g1f1c1d1a8b7")


def check_values(renma, page, address, model):
    """The values on the board, the numbers of the best line and the losses in the list are those of the program."""
    def results(*options):
        command = [renma, "eval", "-", "--model", model, "--json", *options]
        answer = subprocess.run(command, input="".join(moves) + "\n", capture_output=True, text=True, check=True)
        return json.loads(answer.stdout)["positions"][0]

    moves = [WHOLE_GAME[index:index + 2] for index in range(0, len(WHOLE_GAME), 2)]
    sides = [replay(moves[:index]).side for index in range(len(moves))]
    # About eight squares are empty, and nobody has just passed.
    moves = moves[:next(index for index in range(len(moves) - 8, 0, -1) if sides[index] != sides[index - 1])]
    game = f"{address}#moves={''.join(moves)}"
    page.open("about:blank")
    page.open(game)
    page.wait(lambda: "exact" in page.text("depth"), "exact values")
    expected = {move["move"]: move["score"] / 1000 for move in results("--exact-empties", "14", "--moves")["moves"]}
    labels = page.squares(".legal")
    equal(set(labels), set(expected), "squares with values")
    for square, label in labels.items():
        found = float(label.split("value ")[1].split(",")[0].replace("−", "-"))
        equal(found, expected[square], label)
    line = page.text("line").split()
    numbers = {square: label for square, label in page.squares("").items() if "best line" in label}
    equal({square: int(label.split("move ")[1].split(" ")[0]) for square, label in numbers.items()},
          {square: index + 1 for index, square in enumerate(line)}, "the best line on the board")
    equal(expected[line[0]], max(expected.values()), "the first move of the best line")
    page.wait(lambda: page.text("review"), "a review")
    # On a busy machine the time may suffice for a part of the moves, as the page then says; it is asked once more.
    if "The time sufficed" in page.text("review"):
        page.open("about:blank")
        page.open(game)
        page.wait(lambda: page.text("review"), "a review")
    played = results("--review")["played"]
    losses = page.run("return [...document.querySelectorAll('#moves .loss')].map(loss => loss.textContent)")
    marks = page.run("return [...document.querySelectorAll('#moves .mark')].map(mark => mark.textContent)")
    equal(len(losses), len(played), "losses")
    for move, loss, mark in zip(played, losses, marks):
        assert abs(float(loss.replace("−", "-")) + move["loss"] / 1000) < 0.0501, f"{move}: {loss}"
        equal(mark, "" if move["loss"] < 2000 else "?" if move["loss"] < 6000 else "??", f"the mark of {move}")
    points = page.run("return document.querySelector('#graph polyline').getAttribute('points')").split(" ")
    equal(len(points), len(moves) + 1, "a point of the graph for each position")


def check_board(renma, page, address, model):
    page.open(address)
    moves = play_to_the_end(page)
    game = replay(moves)
    equal(game.legal(), set(), "moves after the last one")
    black, white = game.count("X"), game.count("O")
    winner = "Draw" if black == white else "Black wins" if white < black else "White wins"
    assert page.text("status").lower().endswith(winner.lower()), page.text("status")
    equal(page.by("count").get_attribute("aria-label"), f"black {black}, white {white}", "the result")
    # A review solves from 14 empty squares on.
    page.wait(lambda: "exact from move 47" in page.text("graph"), "a review")
    page.check("board")
    check_navigation(page, moves)
    page.check("navigation")
    check_sharing(page, address, moves)
    check_values(renma, page, address, model)
    page.driver.get_log("browser")
    set_up(page, "<script>hacked=1</script>")
    WebDriverWait(page.driver, SECONDS_MAX).until(lambda _: page.text("error"))
    # The refusal is a message of the browser too.
    assert "400" in page.driver.get_log("browser")[0]["message"]
    set_up(page, "---------------------------XO------OX--------------------------- O;")
    page.wait(lambda: page.text("status").startswith("White to move"), "a position")
    page.check("setup")


def check_looks(page, address, pictures):
    """A game under review on a desktop, on phones and in the dark."""
    brightness = {}
    for name, width, height, scheme in [("board", 1280, 900, "light"), ("board-phone", 390, 844, "light"),
                                        ("board-dark", 1280, 900, "dark"), ("board-small", 360, 640, "dark")]:
        page.open("about:blank")
        page.open(f"{address}#moves={REVIEWED}&move={BLUNDER}", width, height, scheme)
        page.wait(lambda: page.text("review") and page.by("line").get_attribute("aria-busy") == "false", "a review")
        page.check(name)
        brightness[name] = page.background()
        signs = page.run("return [...document.querySelectorAll('.square .sign')].map(sign => sign.textContent)")
        equal(signs, ["??"], f"{name}: the sign of a blunder on the board")
        if width < 500:
            small = page.run("""
                const shown = [...document.querySelectorAll('button, select, textarea, a, .switch')].filter(target => target.checkVisibility());
                const room = shown.map(target => [target.outerHTML.slice(0, 80), target.getBoundingClientRect()]);
                return room.filter(([, box]) => Math.min(box.width, box.height) < arguments[0] - 0.01).map(([text]) => text);
                """.replace("arguments[0]", str(TARGET_MIN)))
            equal(small, [], f"{name}: targets of less than {TARGET_MIN} pixels")
        if pictures:
            page.driver.save_screenshot(f"{pictures}/{name}.png")
    assert brightness["board-dark"] < 64 < 192 < brightness["board"], brightness


def measure_replies(page, address):
    """Plays a game as black and one as white against the shipped model at the default level: milliseconds of
    the engine's answer, and from a click to the engine's move on the board."""
    script = """
        const done = arguments[0], begun = performance.now(), status = document.getElementById('status');
        const look = () => /(to move|wins|draw)$/i.test(status.textContent) ? done([performance.now() - begun, status.textContent,
            ...performance.getEntriesByType('resource').filter(entry => entry.name.endsWith('/api/reply')).map(entry => entry.duration)])
          : requestAnimationFrame(look);
        performance.clearResourceTimings();
        document.querySelector('.square.best').click();
        status.textContent = '';
        look();"""
    answers, times = [], []
    for button in ("black", "white"):
        page.open("about:blank")
        page.open(address)
        page.wait(lambda: page.squares(".best"), "values")
        page.click(button)
        wait_for_engine(page)
        while "to move" in page.text("status"):
            page.wait(lambda: page.squares(".best"), "values")
            elapsed, status, *replies = page.driver.execute_async_script(script)
            # Not those where the engine had to pass.
            times += [elapsed] if " played " in status else []
            answers += replies
        page.click(button)
    level = Select(page.by("level")).first_selected_option.text
    print(f"moves of {page.text('model')} at the default level, {level}:")
    for what, found in [("the answer", answers), ("from click to board", times)]:
        found.sort()
        p50, p95 = (found[round(share * (len(found) - 1))] for share in (0.5, 0.95))
        print(f"    {what}: {len(found)} times, p50 {p50:.0f} ms, p95 {p95:.0f} ms, at most {found[-1]:.0f} ms")


def check_report(page, address, registry, pipeline, pictures):
    """Reads the report of a run from before it is there to the end of the run."""
    def wait(condition, what):
        WebDriverWait(page.driver, SECONDS_MAX, 0.02).until(lambda _: condition(), what)

    def state():
        return page.run("return document.querySelector('.badge')?.textContent")

    page.open(address + "report")
    missing = f"{registry}/report.html is missing; renma run writes it"
    equal(json.loads(page.run("return document.body.innerText"))["error"], missing, "no report")
    page.driver.get_log("browser")
    process = subprocess.Popen(**pipeline)
    wait((registry / "report.html").exists, "the first report")
    page.open(address)
    page.driver.find_element(By.LINK_TEXT, "Report").click()
    wait(lambda: state() == "running", "a run at work")
    if pictures:
        page.driver.save_screenshot(f"{pictures}/report.png")
    equal(process.wait(), 0, "exit code of the run")
    # The browser reads it again without a click.
    wait(lambda: state() == "finished", "the end of the run")
    equal(page.run("return document.querySelectorAll('svg').length > 5"), True, "pictures of the report")
    equal(page.driver.get_log("browser"), [], "messages of the report")


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
            # Games for half a minute: a browser reads the report every ten seconds.
            pipeline = {"args": ["./pipeline.sh", "--config", "configs/smoke.toml", "--generations", "1", "--set", "generate.games=60000"],
                        "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ | {"RENMA": renma}}
            with serving(renma, "--models", generations, "--model", "builtin:square-weights") as address:
                check_report(page, address, generations, pipeline, pictures)
            (generations / "v0002").rename(model)
            with serving(renma, "--model", model) as address:
                check_board(renma, page, address, model)
                equal(page.text("model"), "v0002", "the model's name")
                # Nothing is asked any more when the server ends.
                page.open("about:blank")
            with serving(renma, "--model", "builtin:champion") as address:
                check_looks(page, address, pictures)
                measure_replies(page, address)
        finally:
            page.driver.quit()
    print("board and report in Chromium: passed")


main()
