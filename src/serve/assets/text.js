// How values, sides and marks are written.

/// The moves of a best line that are shown.
export const LINE_LEN = 10;

export const sideName = letter => letter === "X" ? "black" : "white";
export const capital = text => text[0].toUpperCase() + text.slice(1);

export function discs(value) {
  const text = Number.isInteger(value) ? String(Math.abs(value)) : Math.abs(value).toFixed(1);
  return (Number(text) === 0 ? "" : value < 0 ? "−" : "+") + text;
}

/// Whose advantage a value from black's side is.
export function advantage(value) {
  const text = discs(Math.abs(value));
  return Number(text) === 0 ? "Even" : (0 < value ? "Black " : "White ") + text;
}

/// A move that loses this many discs is a blunder; what a turning point is, the server says.
const BLUNDER = 6;

export const mark = reviewed => !reviewed?.turning_point ? "" : BLUNDER <= reviewed.loss ? "??" : "?";

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
