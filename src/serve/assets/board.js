// The board: 64 buttons, one of which the Tab key reaches; arrow keys move between them.

const names = [];
for (let row = 1; row <= 8; row++) for (const column of "abcdefgh") names.push(column + row);
const colors = { X: "black", O: "white", "-": "empty" };

export function makeBoard(grid, play) {
  const squares = new Map();
  for (let row = 0; row < 8; row++) {
    const line = document.createElement("div");
    line.className = "row";
    line.setAttribute("role", "row");
    for (const name of names.slice(8 * row, 8 * row + 8)) {
      const square = document.createElement("button");
      square.setAttribute("role", "gridcell");
      square.tabIndex = name === "a1" ? 0 : -1;
      square.addEventListener("click", () => { reach(name); play(name); });
      squares.set(name, square);
      line.append(square);
    }
    grid.append(line);
  }

  function reach(name) {
    for (const [other, square] of squares) square.tabIndex = other === name ? 0 : -1;
    squares.get(name).focus();
  }

  grid.addEventListener("keydown", event => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    const at = names.findIndex(name => squares.get(name) === document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const column = Math.min(7, Math.max(0, at % 8 + step[0]));
    const row = Math.min(7, Math.max(0, Math.floor(at / 8) + step[1]));
    reach(names[8 * row + column]);
  });

  return function show(position, values) {
    const last = position.moves.at(-1);
    const best = values.size ? Math.max(...values.values()) : null;
    names.forEach((name, index) => {
      const square = squares.get(name), disc = position.board[index];
      const isLegal = position.legal.includes(name), value = values.get(name);
      square.className = "square " + (disc === "-" ? "" : disc);
      square.classList.toggle("last", name === last);
      square.classList.toggle("legal", isLegal);
      square.classList.toggle("best", isLegal && value !== undefined && value === best);
      square.textContent = !isLegal ? "" : value === undefined ? "·" : discs(value);
      const parts = [name, colors[disc]];
      if (isLegal) parts.push("legal");
      if (value !== undefined) parts.push("value " + discs(value));
      if (name === last) parts.push("last move");
      square.setAttribute("aria-label", parts.join(", "));
      square.setAttribute("aria-disabled", String(!isLegal));
    });
  };
}

export function discs(value) {
  const text = Math.abs(value).toFixed(1).replace(/\.0$/, "");
  return (text === "0" ? "" : value < 0 ? "−" : "+") + text;
}
