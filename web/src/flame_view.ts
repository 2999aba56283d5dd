import type { Context, View } from "./context";
import { h } from "./dom";
export class FlameView implements View {
  readonly element = h("section", { class: "view" });
  constructor(readonly context: Context) {}
  update(): void {}
}
