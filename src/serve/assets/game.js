// The game as the server tells it: its moves, the position before each of them and the last one, and which of these is shown.
// The address holds all of it; the server remembers nothing.

export const game = { start: "", moves: [], text: "", positions: [], move: 0 };

export const shown = () => game.positions[game.move];
export const isOver = () => shown().legal.length === 0;
export const isLatest = () => game.move === game.moves.length;

/// A request about the first moves of the game, and perhaps one more.
export const upTo = (move, next = "") => ({ start: game.start, moves: game.moves.slice(0, move).join("") + next });

export async function ask(what, request, signal) {
  const body = JSON.stringify(request);
  const answer = await fetch("/api/" + what, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
  const found = await answer.json();
  signal?.throwIfAborted();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

/// Shows another game. One that does not continue the one before is a step of the browser's history.
export function adopt(found, move = found.moves.length) {
  const isContinued = found.start === game.start && game.moves.every((square, index) => square === found.moves[index]);
  Object.assign(game, found);
  game.move = Math.max(0, Math.min(move, game.moves.length));
  return isContinued;
}

export function address() {
  const fields = new URLSearchParams();
  if (game.start) fields.set("start", game.start);
  if (game.moves.length) fields.set("moves", game.moves.join(""));
  if (!isLatest()) fields.set("move", game.move);
  return `${location.origin}${location.pathname}#${fields}`;
}

export function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const move = Number.parseInt(fields.get("move"), 10);
  return { start: fields.get("start") ?? "", moves: fields.get("moves") ?? "", move: Number.isNaN(move) ? undefined : move };
}

let waiting = null, unwritten = "";

/// Browsers refuse many changes in a short time, as by an arrow key that is held down.
export function writeAddress(isStep) {
  clearTimeout(waiting);
  if (isStep) {
    // The step leads back to the latest game before it.
    if (unwritten) history.replaceState(null, "", unwritten);
    unwritten = "";
    history.pushState(null, "", address());
    return;
  }
  unwritten = address();
  waiting = setTimeout(() => { history.replaceState(null, "", unwritten); unwritten = ""; }, 100);
}

addEventListener("popstate", () => { clearTimeout(waiting); unwritten = ""; });
