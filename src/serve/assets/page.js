// The page keeps the game; the server is asked about it and remembers nothing.

import { discs, makeBoard } from "/board.js";
import { drawGraph } from "/graph.js";

const by = id => document.getElementById(id);
const game = { start: "", moves: [], undone: [] };
let position = null, values = new Map(), round = 0, isBusy = false;
const show = makeBoard(by("board"), playMove);

async function ask(what, request) {
  const body = JSON.stringify(request);
  const answer = await fetch("/api/" + what, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

const request = () => ({ start: game.start, moves: game.moves.join(""), level: Number(by("level").value) });

/// Runs one thing at a time; its failure is told and leaves the game as it was.
async function attempt(work) {
  if (isBusy) return;
  isBusy = true;
  by("error").textContent = "";
  try { await work(); } catch (error) { by("error").textContent = error.message; }
  isBusy = false;
}

async function take(found) {
  position = found;
  game.start = found.start;
  game.moves = found.moves;
  values = new Map();
  round++;
  by("analysis").textContent = "";
  by("graph").replaceChildren();
  by("turning").textContent = "";
  draw();
  const side = by("side").value;
  if (side && side === position.to_move && !position.over) await engineMove();
  else analyze();
}

async function engineMove() {
  by("status").textContent = "The engine thinks …";
  try {
    const found = await ask("reply", request());
    game.undone = [];
    await take(found);
  } catch (error) { draw(); throw error; }
}

function playMove(square) {
  if (!position || !position.legal.includes(square)) return;
  attempt(async () => {
    const found = await ask("position", { start: game.start, moves: game.moves.join("") + square });
    game.undone = [];
    await take(found);
  });
}

async function analyze() {
  if (!by("values").checked || position.over) return;
  const asked = round;
  by("analysis").textContent = "Searching …";
  let found;
  try { found = await ask("analysis", request()); } catch (error) { found = error; }
  if (asked !== round) return;
  if (found instanceof Error) { by("analysis").textContent = found.message; return; }
  values = new Map(found.values.map(({ square, value }) => [square, value]));
  const best = found.values[0];
  by("analysis").textContent = best === undefined ? "The time did not suffice."
    : `${best.square} ${discs(best.value)} for ${side(position.to_move)}, ${found.exact ? "exact" : "depth " + found.depth}: ${found.line.join(" ")}`;
  show(position, values);
}

const side = letter => letter === "X" ? "black" : "white";

function draw() {
  const { black, white } = position;
  const count = `black ${black}, white ${white}`;
  const other = position.to_move === "X" ? "white" : "black";
  const turn = position.over ? (black === white ? "Draw" : black > white ? "Black wins" : "White wins")
    : (position.passed ? `${other} passes, ` : "") + `${side(position.to_move)} to move`;
  by("status").textContent = `${turn[0].toUpperCase()}${turn.slice(1)}: ${count}`;
  by("undo").disabled = game.moves.length === 0;
  by("redo").disabled = game.undone.length === 0;
  by("engine").disabled = position.over;
  by("review").disabled = game.moves.length === 0;
  by("moves").replaceChildren(...game.moves.map((move, index) => {
    const item = document.createElement("li");
    item.textContent = move;
    if (index === game.moves.length - 1) item.setAttribute("aria-current", "true");
    return item;
  }));
  show(position, values);
}

/// Moves go from one end to the other, one at least, until it is not the engine's turn.
async function goOver(from, to, isUndo) {
  let found;
  do {
    if (from.length === 0) throw new Error("There is no move of yours to take back.");
    to.push(from.pop());
    found = await ask("position", { start: game.start, moves: (isUndo ? from : to).join("") });
  } while (found.to_move === by("side").value && (isUndo || from.length !== 0));
  game.undone = isUndo ? to : from;
  await take(found);
}

async function begin(text) {
  const found = await ask("position", { start: text });
  game.undone = [];
  await take(found);
}

by("new").addEventListener("click", () => attempt(() => begin("")));
by("undo").addEventListener("click", () => attempt(() => goOver([...game.moves], [...game.undone], true)));
by("redo").addEventListener("click", () => attempt(() => goOver([...game.undone], [...game.moves], false)));
by("engine").addEventListener("click", () => attempt(engineMove));
by("side").addEventListener("change", () => attempt(() => take(position)));
by("level").addEventListener("change", () => { if (position) attempt(() => take(position)); });
by("values").addEventListener("change", () => attempt(() => take(position)));
by("setup").addEventListener("submit", event => { event.preventDefault(); attempt(() => begin(by("text").value)); });
by("review").addEventListener("click", () => attempt(async () => {
  by("turning").textContent = "Searching …";
  const found = await ask("review", request());
  drawGraph(by("graph"), found.moves);
  const lost = found.moves.filter(move => move.turning_point)
    .map(move => `${move.index + 1}. ${move.square} lost ${discs(move.loss).slice(1)} (${move.best} was best)`);
  by("turning").textContent = (found.complete ? "" : "The time sufficed for the first moves alone. ")
    + (lost.length ? "Turning points: " + lost.join(", ") + "." : "No turning points.")
    + ` Searched ${found.depth} moves ahead, exactly from ${found.exact_empties} empty squares on.`;
}));

const about = await (await fetch("/api/about")).json();
by("model").textContent = about.model;
by("level").max = about.level_max;
attempt(() => begin(""));
