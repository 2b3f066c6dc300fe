// What the engine knows about the game: the values of positions, searched deeper and deeper, and the review of the moves.

import { ask, game, upTo } from "/game.js";

const known = new Map();
let review = { start: "", moves: [], tried: "" };

const key = ({ start, moves }) => `${start} ${moves}`;

/// The values of the position shown, as far as they are known.
export const analysis = () => known.get(key(upTo(game.move)));

/// Searches the position shown at each of the levels that promises more than is known.
export async function analyze(levels, signal, show) {
  const request = upTo(game.move);
  for (const { level } of levels) {
    const before = analysis();
    if (before && level <= before.level) continue;
    const found = await ask("analysis", { ...request, level }, signal);
    // Where the time of a request does not suffice, a higher level finds no more.
    const isMore = !before || before.depth < found.depth;
    const isDone = found.exact || !isMore;
    known.set(key(request), { ...(isMore ? found : before), level: isDone ? Infinity : level });
    show();
  }
}

/// The reviewed moves that are those of the game.
export function reviewed() {
  if (review.start !== game.start) return [];
  const end = review.moves.findIndex((move, index) => move.square !== game.moves[index]);
  return end < 0 ? review.moves : review.moves.slice(0, end);
}

export async function reviewGame(signal, show) {
  const request = upTo(game.moves.length);
  if (!game.moves.length || reviewed().length === game.moves.length || review.tried === key(request)) return;
  review = { ...await ask("review", request, signal), start: game.start, tried: key(request) };
  show();
}

/// What each side lost, in words.
export function summary() {
  const moves = reviewed();
  if (!moves.length) return "";
  const of = side => {
    const own = moves.filter(move => game.positions[move.index].to_move === side);
    const lost = own.reduce((sum, move) => sum + move.loss, 0);
    const count = own.filter(move => move.turning_point).length;
    return `lost ${lost.toFixed(1)} discs, ${count} turning point${count === 1 ? "" : "s"}`;
  };
  const part = review.complete ? "" : ` The time sufficed for the first ${review.moves.length} moves.`;
  return `Black ${of("X")}; white ${of("O")}. Searched ${review.depth} moves ahead, exactly from ${review.exact_empties} empty squares on.${part}`;
}
