// The list of moves in two columns, black's and white's, each with what it lost.

import { game } from "/game.js";
import { discs, element, mark, sideName } from "/text.js";

export function makeMoves(list, go) {
  let buttons = [], place = "";
  const side = index => game.positions[index].to_move;

  list.addEventListener("keydown", event => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    let index = game.move - 1 + step;
    while (buttons[index] && game.move && side(index) !== side(game.move - 1)) index += step;
    if (buttons[index]) go(index + 1);
  });

  list.addEventListener("click", event => {
    const index = buttons.indexOf(event.target.closest("button"));
    if (0 <= index) go(index + 1);
  });

  function fill(button, square, index, reviewed) {
    const sign = mark(reviewed), loss = reviewed && discs(-reviewed.loss);
    const label = [`${index + 1}. ${sideName(side(index))} ${square}`];
    if (reviewed) label.push(reviewed.loss === 0 ? "best" : `lost ${loss.slice(1)}, ${reviewed.best} was best`);
    if (sign) label.push(sign === "?" ? "mistake" : "blunder");
    button.className = sign === "??" ? "blunder" : sign ? "mistake" : "";
    button.tabIndex = -1;
    button.removeAttribute("aria-current");
    button.setAttribute("aria-label", label.join(", "));
    button.replaceChildren(
      element("span", { className: "number" }, index + 1), element("i", { className: `disc ${side(index)}` }),
      element("span", { className: "square-name" }, square), element("span", { className: "loss" }, loss ?? ""),
      element("b", { className: "mark" }, sign));
  }

  /// Draws the list; the move before the position shown is the current one. A button stays while its text changes, or a click
  /// during a review would be lost.
  return function show(reviewed) {
    const isFocused = list.contains(document.activeElement);
    let count = 0;
    const itemOf = className => {
      const item = list.children[count++] ?? list.appendChild(element("li"));
      item.className = className;
      return item;
    };
    buttons = game.moves.map((square, index) => {
      if (game.positions[index].passed) itemOf(`pass ${side(index) === "X" ? "O" : "X"}`).replaceChildren("pass");
      const item = itemOf(side(index));
      if (!item.querySelector("button")) item.replaceChildren(element("button"));
      fill(item.firstChild, square, index, reviewed[index]);
      return item.firstChild;
    });
    while (count < list.children.length) list.lastChild.remove();
    const current = buttons[game.move - 1];
    current?.setAttribute("aria-current", "true");
    (current ?? buttons[0])?.setAttribute("tabindex", "0");
    if (isFocused) (current ?? buttons[0])?.focus({ preventScroll: true });
    // Of the list, never of the page; and only where something has moved, or nobody could scroll during a search.
    const before = place;
    place = [game.move, game.moves.length, list.clientHeight].join();
    if (place !== before) list.scrollTop = current ? current.offsetTop - (list.clientHeight - current.offsetHeight) / 2 : 0;
  };
}
