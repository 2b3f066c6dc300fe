// The values of a game from black's side, move by move: a slider through the game.

import { game } from "/game.js";
import { advantage, discs, mark } from "/text.js";

const HEIGHT = 132, TOP = 8, BOTTOM = 8, LEFT = 34, RIGHT = 8;

function shape(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

export function makeGraph(place, go) {
  let reviewed = [];
  const width = () => place.clientWidth;
  // The graph has room for the whole game, so that it does not move while it grows.
  const most = () => game.positions[0].board.split("-").length - 1;
  const x = move => LEFT + move * (width() - LEFT - RIGHT) / Math.max(1, most());

  function pick(event) {
    const at = event.clientX - place.getBoundingClientRect().left;
    go(Math.round((at - LEFT) * most() / (width() - LEFT - RIGHT)));
  }
  place.addEventListener("pointerdown", event => { place.setPointerCapture(event.pointerId); pick(event); });
  place.addEventListener("pointermove", event => { if (place.hasPointerCapture(event.pointerId)) pick(event); });
  place.addEventListener("keydown", event => {
    const step = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (!step) return;
    event.preventDefault();
    go(game.move + step);
  });

  /// The value of each position as far as the game is reviewed; that after the last move is from the review of this move.
  function values() {
    const last = reviewed.at(-1);
    if (last === undefined) return [];
    const lost = game.positions[last.index].to_move === "X" ? last.loss : -last.loss;
    return [...reviewed.map(move => move.black_value), last.black_value - lost];
  }

  function draw() {
    const found = values();
    const highest = Math.max(8, ...found.map(Math.abs));
    const y = value => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest) / 2;
    const svg = shape("svg", { width: width(), height: HEIGHT, "aria-hidden": "true" });
    for (const value of [highest, 0, -highest]) {
      svg.append(shape("line", { class: "axis", x1: LEFT, x2: width() - RIGHT, y1: y(value), y2: y(value) }));
      svg.append(shape("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, discs(Math.round(value))));
    }
    // Where solving begins, the values may jump: that is not a turning point.
    const solved = reviewed.find(move => move.exact);
    if (solved && solved.index) {
      const at = x(solved.index);
      svg.append(shape("line", { class: "axis solved", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }));
      svg.append(shape("text", { x: at - 4, y: HEIGHT - BOTTOM - 4, "text-anchor": "end" }, `exact from move ${solved.index + 1}`));
    }
    if (found.length) {
      const points = found.map((value, move) => `${x(move)},${y(value)}`).join(" ");
      svg.append(shape("polygon", { class: "area", points: `${x(0)},${y(0)} ${points} ${x(found.length - 1)},${y(0)}` }));
      svg.append(shape("polyline", { class: "value", points }));
    }
    for (const move of reviewed.filter(move => mark(move))) {
      // A disc of the side that lost, at the position that it left.
      const side = game.positions[move.index].to_move;
      svg.append(shape("circle", { class: `turning ${side}`, cx: x(move.index + 1), cy: y(found[move.index + 1]), r: 4 }));
    }
    const at = x(game.move);
    svg.append(shape("line", { class: "current", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }));
    if (found[game.move] !== undefined) svg.append(shape("circle", { class: "current", cx: at, cy: y(found[game.move]), r: 4.5 }));
    place.replaceChildren(svg);
    const value = found[game.move];
    place.setAttribute("aria-valuemin", 0);
    place.setAttribute("aria-valuemax", game.moves.length);
    place.setAttribute("aria-valuenow", game.move);
    const name = game.move ? `after move ${game.move}, ${game.moves[game.move - 1]}` : "start";
    place.setAttribute("aria-valuetext", value === undefined ? name : `${name}: ${advantage(value)}`);
  }

  new ResizeObserver(draw).observe(place);

  return function show(review) {
    reviewed = review;
    draw();
  };
}
