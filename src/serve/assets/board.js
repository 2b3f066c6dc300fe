// The board: 64 buttons, one of which the Tab key reaches; arrow keys move between them.

import { LINE_LEN, discs, element, mark, sideName } from "/text.js";

const names = [];
for (let row = 1; row <= 8; row++) for (const column of "abcdefgh") names.push(column + row);

export function makeBoard(grid, play) {
  const squares = new Map();
  for (let row = 0; row < 8; row++) {
    const line = element("div", { className: "rank", role: "row" });
    for (const name of names.slice(8 * row, 8 * row + 8)) {
      const square = element("button", { role: "gridcell", tabIndex: name === "a1" ? 0 : -1 });
      square.addEventListener("click", () => play(name));
      square.addEventListener("focus", () => reach(name));
      // Arrow keys move on the board for those who came to it by keyboard; after a click they move through the game.
      square.addEventListener("mousedown", event => event.preventDefault());
      squares.set(name, square);
      line.append(square);
    }
    grid.append(line);
  }

  function reach(name) {
    for (const [other, square] of squares) square.tabIndex = other === name ? 0 : -1;
  }

  grid.addEventListener("keydown", event => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    const at = names.findIndex(name => squares.get(name) === document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const column = Math.min(7, Math.max(0, at % 8 + step[0]));
    const row = Math.min(7, Math.max(0, Math.floor(at / 8) + step[1]));
    squares.get(names[8 * row + column]).focus();
  });

  /// Values are those of legal moves; the line is best play from here on; the last move may have a review.
  return function show(position, { values = [], line = [] } = {}, last, reviewed) {
    const valued = new Map(values.map(({ square, value }) => [square, value]));
    const steps = new Map(line.slice(0, LINE_LEN).map(({ square, side }, index) => [square, { number: index + 1, side }]));
    const sign = mark(reviewed);
    names.forEach((name, index) => {
      const square = squares.get(name), disc = position.board[index], step = steps.get(name);
      const isLegal = position.legal.includes(name), isLast = name === last, value = valued.get(name);
      const label = [name, disc === "-" ? "empty" : sideName(disc)];
      if (isLegal) label.push("legal");
      if (value !== undefined) label.push("value " + discs(value));
      if (step) label.push(`move ${step.number} of the best line`);
      if (isLast) label.push("last move");
      if (isLast && sign) label.push(`lost ${discs(reviewed.loss).slice(1)}`);
      square.className = "square " + (disc === "-" ? "" : disc);
      square.classList.toggle("last", isLast);
      square.classList.toggle("legal", isLegal);
      square.classList.toggle("best", isLegal && value !== undefined && value === values[0].value);
      square.replaceChildren(!isLegal ? "" : value === undefined ? "·" : discs(value));
      if (step) square.append(element("span", { className: `step ${step.side}` }, step.number));
      if (isLast && sign) square.append(element("span", { className: "sign" }, sign));
      square.setAttribute("aria-label", label.join(", "));
      square.setAttribute("aria-disabled", String(!isLegal));
    });
  };
}
