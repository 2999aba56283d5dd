import type { Context, View } from "./context";
import { h } from "./dom";
export class CompareView implements View {
  readonly element = h("section", { class: "view" });
  constructor(readonly context: Context) {}
  update(): void {}
}
