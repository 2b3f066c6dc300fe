// The values of a game as a line, from black's side, with its turning points.

import { discs } from "/board.js";

const WIDTH = 480, HEIGHT = 180, LEFT = 32, BOTTOM = 20;

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function drawGraph(place, moves) {
  place.replaceChildren();
  if (moves.length === 0) return;
  const most = Math.max(8, ...moves.map(move => Math.abs(move.black_value)));
  const x = index => LEFT + index * (WIDTH - LEFT - 8) / Math.max(1, moves.length - 1);
  const y = value => (HEIGHT - BOTTOM) * (1 - value / most) / 2 + 4;
  const last = moves.at(-1);
  const label = `Values for black before each of ${moves.length} moves; before the last one ${discs(last.black_value)}`;
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const value of [-most, 0, most]) {
    svg.append(element("line", { class: "axis", x1: LEFT, x2: WIDTH - 8, y1: y(value), y2: y(value) }));
    svg.append(element("text", { x: LEFT - 4, y: y(value) + 4, "text-anchor": "end" }, discs(Math.round(value))));
  }
  // Where solving begins, the values may jump: that is not a turning point.
  const solved = moves.find(move => move.exact);
  if (solved !== undefined) {
    const at = x(solved.index);
    svg.append(element("line", { class: "axis solved", x1: at, x2: at, y1: y(most), y2: y(-most) }));
    svg.append(element("text", { x: at - 4, y: y(-most) - 4, "text-anchor": "end" }, `exact from move ${solved.index + 1}`));
  }
  const points = moves.map(move => `${x(move.index)},${y(move.black_value)}`).join(" ");
  svg.append(element("polyline", { class: "value", points }));
  for (const move of moves.filter(move => move.turning_point)) {
    const dot = element("circle", { class: "turning", cx: x(move.index), cy: y(move.black_value), r: 4 });
    dot.append(element("title", {}, `${move.index + 1}. ${move.square} lost ${discs(move.loss)}; ${move.best} was best`));
    svg.append(dot);
  }
  svg.append(element("text", { x: LEFT, y: HEIGHT - 4 }, "move 1"));
  svg.append(element("text", { x: WIDTH - 8, y: HEIGHT - 4, "text-anchor": "end" }, String(moves.length)));
  place.append(svg);
}
