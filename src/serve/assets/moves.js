// The list of moves in two columns, black's and white's, each with what it lost.

import { game } from "/game.js";
import { discs, element, mark, sideName } from "/text.js";

export function makeMoves(list, go) {
  let buttons = [];
  const side = index => game.positions[index].to_move;

  list.addEventListener("keydown", event => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    let index = game.move - 1 + step;
    while (buttons[index] && game.move && side(index) !== side(game.move - 1)) index += step;
    if (buttons[index]) go(index + 1);
  });

  function itemOf(square, index, reviewed) {
    const sign = mark(reviewed), loss = reviewed && discs(-reviewed.loss);
    const label = [`${index + 1}. ${sideName(side(index))} ${square}`];
    if (reviewed) label.push(reviewed.loss === 0 ? "best" : `lost ${loss.slice(1)}, ${reviewed.best} was best`);
    if (sign) label.push(sign === "?" ? "mistake" : "blunder");
    const button = element("button", { className: sign === "??" ? "blunder" : sign ? "mistake" : "" },
      element("span", { className: "number" }, index + 1), element("i", { className: `disc ${side(index)}` }),
      element("span", { className: "square-name" }, square), element("span", { className: "loss" }, loss ?? ""),
      element("b", { className: "mark" }, sign));
    button.setAttribute("aria-label", label.join(", "));
    button.addEventListener("click", () => go(index + 1));
    buttons.push(button);
    return element("li", { className: side(index) }, button);
  }

  /// Draws the list; the move before the position shown is the current one.
  return function show(reviewed) {
    const focused = buttons.indexOf(document.activeElement);
    buttons = [];
    list.replaceChildren();
    game.moves.forEach((square, index) => {
      const { passed, to_move } = game.positions[index];
      if (passed) list.append(element("li", { className: `pass ${to_move === "X" ? "O" : "X"}` }, "pass"));
      list.append(itemOf(square, index, reviewed[index]));
    });
    const current = buttons[game.move - 1];
    for (const button of buttons) button.tabIndex = -1;
    current?.setAttribute("aria-current", "true");
    (current ?? buttons[0])?.setAttribute("tabindex", "0");
    if (focused >= 0) (current ?? buttons[0])?.focus({ preventScroll: true });
    // Of the list, never of the page.
    list.scrollTop = current ? current.offsetTop - (list.clientHeight - current.offsetHeight) / 2 : 0;
  };
}
