/* The keys, under `?`. */
import { h } from "./dom";

const KEYS: [string, [string, string][]][] = [
  ["Everywhere", [["1 – 9", "the views, in the order of the tabs"], ["/", "search"], ["Esc", "drop the selection, leave the search, close this"], ["t", "light, dark, as the system says"], ["r", "the other run, where there are two"], ["?", "these keys"]]],
  ["Maps", [["← → ↑ ↓", "move"], ["+  −", "zoom in time"], ["*  _", "zoom in memory"], ["0", "the whole run"], ["[  ]", "more precise, simpler"], ["c", "next colouring"], ["f", "to the chosen object"], ["z", "to the chosen time"], ["wheel", "zoom in time; with Shift in memory, with Ctrl in both"], ["drag", "move; with Shift draw a frame to zoom to"], ["click", "choose the object; on the bars at the left, zoom to them"], ["double click", "the whole run"]]],
  ["Strip of time", [["← →", "move the range"], ["Shift ← →", "longer, shorter"], ["drag", "choose a range; an edge moves it"]]],
  ["Tables", [["↓ ↑ or j k", "next, previous row"], ["Enter", "open it"], ["Home End", "first, last"]]],
  ["Flame graph", [["← → ↑ ↓", "next frame, caller, callee"], ["Enter", "zoom to it"], ["0", "all"], ["w", "weigh by stall time, remote, samples"]]],
];

export function helpDialog(): HTMLDialogElement {
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" },
    h("div", { class: "help-head" }, h("h2", null, "Keys"), h("button", { class: "button", onclick: () => dialog.close() }, "Close")),
    h("div", { class: "help-columns" }, KEYS.map(([title, keys]) => h("section", null, h("h3", null, title), h("dl", null, keys.map(([key, text]) => h("div", null, h("dt", null, h("kbd", null, key)), h("dd", null, text))))))));
  document.body.append(dialog);
  return dialog;
}
