/* A call chain, innermost first, with source lines. */
import { h } from "./dom";
import { place } from "./format";
import type { Run } from "./model";

export function stackList(run: Run, stack: number): HTMLElement {
  const frames = (run.stacks[stack] ?? []).map((index) => run.frames[index]).filter((frame) => frame !== undefined);
  if (frames.length === 0) return h("p", { class: "hint" }, "The call chain is empty.");
  return h("ol", { class: "stack" }, frames.map((frame) => h("li", null,
    h("span", { class: "stack-function" }, frame.function || "?", frame.inlined ? h("span", { class: "note" }, "inlined") : null),
    h("span", { class: "stack-place mono", title: frame.file ?? "" }, place(frame.file, frame.line) || place(frame.module)))));
}
