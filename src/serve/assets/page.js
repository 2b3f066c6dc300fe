// The page: what its controls do, and what it shows.

import { address, adopt, ask, game, isLatest, isOver, readAddress, shown, upTo, writeAddress } from "/game.js";
import { analysis, analyze, reviewed, reviewGame, summary } from "/analysis.js";
import { LINE_LEN, advantage, capital, element, sideName } from "/text.js";
import { makeBoard } from "/board.js";
import { makeGraph } from "/graph.js";
import { makeMoves } from "/moves.js";

/// A side that is ahead by this has 73 % of the bar.
const BAR_DISCS = 8;

/// Milliseconds before a position is searched.
const PAUSE = 50;

const by = id => document.getElementById(id);
const about = await (await fetch("/api/about")).json();
// A reload keeps the opponent; a link that is shared does not bring one.
const kept = sessionStorage;
let engine = kept.getItem("engine") ?? "", played = "", current = null;
adopt(await ask("game", {}));

const showBoard = makeBoard(by("board"), playMove);
const showMoves = makeMoves(by("moves"), go);
const showGraph = makeGraph(by("graph"), go);

/// Runs one thing, and stops what runs already; its failure is shown and leaves the game as it was.
async function attempt(work) {
  current?.abort();
  const { signal } = current = new AbortController();
  by("error").textContent = "";
  try { await work(signal); } catch (error) {
    if (signal.aborted) return;
    draw();
    by("error").textContent = error.message;
  }
}

const isEngineTurn = () => isLatest() && !isOver() && shown().to_move === engine;

/// Shows the game; then the engine moves if it is its turn, else it analyzes.
async function settle(signal) {
  draw();
  while (isEngineTurn()) await engineMove(signal);
  if (!by("analysis").checked) return;
  by("line").ariaBusy = "true";
  // Nothing is searched for positions that an arrow key passes while it is held down.
  await new Promise(resolve => setTimeout(resolve, PAUSE));
  signal.throwIfAborted();
  const isFirst = ({ level }) => level === about.level;
  if (!isOver()) await analyze(about.levels.filter(isFirst), signal, draw);
  await reviewGame(signal, draw);
  say();
  if (!isOver()) await analyze(about.levels.slice(about.levels.findIndex(isFirst) + 1), signal, draw);
  say();
  by("line").ariaBusy = "false";
}

/// Tells a screen reader the value of the position.
function say() {
  const best = isOver() ? undefined : analysis()?.values[0];
  by("said").textContent = `${by("value").textContent}, ${by("depth").textContent} ${best ? `best is ${best.square}` : ""}`;
}

async function engineMove(signal) {
  by("status").textContent = "The engine thinks …";
  const side = shown().to_move;
  const found = await ask("reply", { ...upTo(game.move), level: Number(by("level").value) }, signal);
  writeAddress(!adopt(found));
  played = `${capital(sideName(side))} played ${game.moves.at(-1)}, `;
  draw();
}

function playMove(square) {
  if (!shown().legal.includes(square) || isEngineTurn()) return;
  if (game.moves[game.move] === square) { go(game.move + 1); return; }
  attempt(signal => take(ask("game", upTo(game.move, square), signal), signal));
}

async function take(answer, signal, move) {
  const isContinued = adopt(await answer, move);
  played = "";
  writeAddress(!isContinued);
  await settle(signal);
}

/// Shows the position after this number of moves.
function go(move) {
  move = Math.max(0, Math.min(move, game.moves.length));
  if (move === game.move) return;
  game.move = move;
  played = "";
  writeAddress(false);
  attempt(settle);
}

const begin = text => attempt(signal => take(ask("game", { start: text }, signal), signal));

/// How many moves stay when one's own last move is taken back, with the replies to it; −1 if there is none.
function movesKept() {
  let move = game.move - 1;
  while (engine && 0 <= move && game.positions[move].to_move === engine) move--;
  return move;
}

function drawStatus(black, white) {
  const { to_move, passed } = shown();
  const other = sideName(to_move === "X" ? "O" : "X");
  const turn = isOver() ? (black === white ? "draw" : black > white ? "black wins" : "white wins")
    : (passed ? `${other} passes, ` : "") + `${sideName(to_move)} to move`;
  by("status").textContent = capital(played + turn);
  by("count").replaceChildren(element("i", { className: "disc X" }), black, element("i", { className: "disc O" }), white);
  by("count").setAttribute("aria-label", `black ${black}, white ${white}`);
}

/// The value for black, of the end or as far as it was searched, and the best line.
function drawValue(result, found) {
  const best = found?.values[0];
  const value = result ?? (best === undefined ? null : shown().to_move === "X" ? best.value : -best.value);
  const text = value === null ? "" : advantage(value);
  by("value").textContent = text;
  by("depth").textContent = result !== null ? "final," : !best ? "" : `${found.exact ? "exact" : `depth ${found.depth}`},`;
  by("line").textContent = result !== null || !by("analysis").checked ? "" : !found ? "Searching …"
    : best ? found.line.slice(0, LINE_LEN).map(({ square }) => square).join(" ") : "The time did not suffice.";
  const share = value === null ? 0.5 : 1 / (1 + Math.exp(-value / BAR_DISCS));
  by("bar").style.setProperty("--share", share);
  by("bar").setAttribute("aria-valuenow", value ?? 0);
  by("bar").setAttribute("aria-valuetext", text || "unknown");
}

function draw() {
  const isOn = by("analysis").checked;
  const found = isOn && !isOver() ? analysis() : undefined, moves = isOn ? reviewed() : [];
  const [black, white] = ["X", "O"].map(side => shown().board.split(side).length - 1);
  drawStatus(black, white);
  // Empty squares count for the winner.
  drawValue(isOver() ? Math.sign(black - white) * (64 - 2 * Math.min(black, white)) : null, found);
  // First what takes room from the list, which scrolls to the current move.
  by("course").hidden = !isOn || game.moves.length === 0;
  by("review").textContent = isOn ? summary() : "";
  showBoard(shown(), found, game.moves[game.move - 1], moves[game.move - 1]);
  showMoves(moves);
  showGraph(moves);
  by("black").setAttribute("aria-pressed", engine === "O");
  by("white").setAttribute("aria-pressed", engine === "X");
  by("first").disabled = by("back").disabled = game.move === 0;
  by("last").disabled = by("forward").disabled = isLatest();
  by("undo").disabled = movesKept() < 0;
  by("engine").disabled = isOver();
}

for (const [id, move] of [["first", () => 0], ["back", () => game.move - 1], ["forward", () => game.move + 1], ["last", () => Infinity]])
  by(id).addEventListener("click", () => go(move()));

addEventListener("keydown", event => {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.target.matches?.("textarea, select")) return;
  const move = { ArrowLeft: game.move - 1, ArrowRight: game.move + 1, Home: 0, End: Infinity }[event.key];
  if (move === undefined) return;
  event.preventDefault();
  go(move);
});

/// Against the engine from the position shown; the same button again ends that. After a game it begins the next one.
function playAgainst(side) {
  engine = engine === side ? "" : side;
  kept.setItem("engine", engine);
  if (engine && isOver()) { begin(""); return; }
  attempt(async signal => {
    if (engine === shown().to_move && !isOver()) await engineMove(signal);
    await settle(signal);
  });
}

by("black").addEventListener("click", () => playAgainst("O"));
by("white").addEventListener("click", () => playAgainst("X"));
by("new").addEventListener("click", () => begin(""));
by("undo").addEventListener("click", () => attempt(signal => take(ask("game", upTo(movesKept()), signal), signal)));
by("engine").addEventListener("click", () => attempt(async signal => { await engineMove(signal); await settle(signal); }));
by("level").addEventListener("change", () => { kept.setItem("level", by("level").value); attempt(settle); });
by("analysis").addEventListener("change", () => attempt(settle));
by("setup").addEventListener("submit", event => { event.preventDefault(); begin(by("text").value); });

/// A button that copies a text, and says so.
function copies(id, text) {
  const button = by(id), label = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = by("said").textContent = "Copied";
    } catch { by("error").textContent = `This browser lets no page copy. ${text()}`; }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}

copies("copy-transcript", () => game.text);
copies("copy-position", () => `${shown().board} ${shown().to_move};`);
copies("copy-link", address);

function load() {
  const { start, moves, move } = readAddress();
  attempt(async signal => {
    adopt(await ask("game", { start, moves }, signal), move);
    played = "";
    await settle(signal);
  });
}

by("model").textContent = about.model;
by("level").append(...about.levels.map(({ level, name }) => element("option", { value: level }, capital(name))));
by("level").value = kept.getItem("level") ?? about.level;
if (by("level").selectedIndex < 0) by("level").value = about.level;
addEventListener("popstate", load);
load();
