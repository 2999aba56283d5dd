/* What the pages of one object, site or thread have in common: they are built when another one is asked for, and their charts follow. */
import type { Context, View } from "./context";
import { clear, h, term } from "./dom";
import type { Run } from "./model";
import type { State } from "./state";
import { StripChart } from "./strip_chart";
import type { Strip } from "./strips";

export abstract class OwnPage implements View {
  readonly element = h("section", { class: "view own" });
  private charts: StripChart[] = [];
  private shown = "";

  constructor(protected readonly context: Context) {}

  /* All of the page, or null when the run has no such thing. */
  protected abstract build(run: Run, index: number): HTMLElement[] | null;

  update(state: State, changed: Set<keyof State>): void {
    const run = this.context.run();
    const key = `${run.index} ${state.item}`;
    if (this.shown !== key) {
      this.shown = key;
      this.charts = [];
      clear(this.element, this.build(run, state.item) ?? h("p", { class: "empty" }, `There is no such ${state.view} in this run.`));
      this.resize();
    } else if (changed.has("time") || changed.has("theme")) this.charts.forEach((chart) => chart.draw());
    this.relink();
  }

  resize(): void {
    this.charts.forEach((chart) => chart.resize());
  }

  /* Links keep the reader's selection, which changes under them. */
  private relink(): void {
    for (const link of this.element.querySelectorAll<HTMLAnchorElement>("a[data-patch]")) link.href = this.context.store.link(JSON.parse(link.dataset["patch"]!) as Partial<State>);
  }

  protected link(text: string, patch: Partial<State>, kind: string | null = "button small"): HTMLElement {
    return h("a", { class: kind, href: "#", "data-patch": JSON.stringify(patch) }, text);
  }

  protected facts(rows: [string, string][]): HTMLElement {
    return h("article", { class: "card" }, h("h3", null, "Facts"), h("dl", { class: "facts" }, rows.map(([label, text]) => h("div", { class: "fact" }, h("dt", null, term(label === "mean latency" ? "latency" : label, label)), h("dd", null, text)))));
  }

  protected chart(run: Run, title: string, strips: Strip[], colour: "access" | "remote", pick?: (strip: Strip) => void): HTMLElement {
    if (strips.length === 0) return h("article", { class: "card" }, h("h3", null, title), h("p", { class: "empty" }, "No accesses over time are in this page for it."));
    const chart = new StripChart(this.context, run, strips, colour, title, pick);
    this.charts.push(chart);
    return h("article", { class: "card" }, h("h3", null, title), chart.element, pick ? h("p", { class: "hint" }, "Click an object to open it.") : null);
  }
}
