/* A thread's own page: its flow, what it uses, on which nodes that lies. */
import type { Context, View } from "./context";
import { clear, h } from "./dom";
import { count, latency, percent, seconds } from "./format";
import { meanLatency, objectTitle, remoteShare, type Run, type Thread } from "./model";
import type { State } from "./state";
import { StripChart } from "./strip_chart";
import { stripsOf, type Strip } from "./strips";

export class ThreadPage implements View {
  readonly element = h("section", { class: "view own" });
  private charts: StripChart[] = [];
  private shown = "";

  constructor(private readonly context: Context) {}

  update(state: State, changed: Set<keyof State>): void {
    const run = this.context.run();
    const thread = run.threads[state.item];
    const key = `${run.index} ${state.item}`;
    if (this.shown !== key) {
      this.shown = key;
      this.charts = [];
      clear(this.element, thread ? this.build(run, thread, state.item) : h("p", { class: "empty" }, "There is no such thread in this run."));
      this.resize();
    } else if (changed.has("time") || changed.has("theme")) this.charts.forEach((chart) => chart.draw());
  }

  private build(run: Run, thread: Thread, index: number): HTMLElement[] {
    const { store } = this.context;
    const go = (text: string, patch: Partial<State>): HTMLElement => h("button", { class: "button small", onclick: () => store.set(patch, true) }, text);
    const byObject = stripsOf(run, "thread", index, "object");
    const byNode = stripsOf(run, "thread", index, "home").sort((a, b) => a.id - b.id);
    const unit = run.head.latency_unit ?? "ns";
    const facts: [string, string][] = [["thread", String(thread.tid)], ["process", String(thread.pid)], ["node", thread.node < 0 ? "–" : String(thread.node)], ["born", seconds(thread.born_s, run.duration)], ["ended", thread.died_s === null ? "with the run" : seconds(thread.died_s, run.duration)],
      ["reads", count(thread.reads)], ["writes", count(thread.writes)], ["remote", `${count(thread.remote)} (${percent(thread.remote / Math.max(1, run.totals.remote))} of all)`], ["mean latency", latency(meanLatency(thread), unit)]];
    const made = run.objects.map((object, i) => ({ object, i })).filter(({ object }) => object.alloc_thread === index && object.kind !== "static" && object.kind !== "stack").slice(0, 12);
    return [
      h("div", { class: "own-head" }, go("← Threads", { view: "threads", item: -1 }), h("h2", null, `${thread.name} ${thread.tid}`), h("span", { class: "pattern-kind" }, thread.node < 0 ? "thread" : `on node ${thread.node}`), h("span", { class: "grow" }),
        go("Its memory over time", { view: "gantt", thread: index, x: null, y: null }), go("Filter by it", { view: "objects", thread: index })),
      h("p", { class: "own-sentence" }, `${count(thread.samples)} sampled accesses, ${percent(thread.samples / Math.max(1, run.totals.samples))} of all; `, h("b", null, percent(remoteShare(thread))), " of them remote."),
      h("div", { class: "own-grid" },
        h("div", { class: "own-main" }, this.chart("What it uses, over time", byObject, "access", run, (strip) => store.set({ view: "object", item: strip.id }, true)), this.chart("Nodes it reaches, over time", byNode, "remote", run)),
        h("div", { class: "own-side" }, h("article", { class: "card" }, h("h3", null, "Facts"), h("dl", { class: "facts" }, facts.map(([label, text]) => h("div", { class: "fact" }, h("dt", null, label), h("dd", null, text))))),
          h("article", { class: "card" }, h("h3", null, "Objects that it made"), made.length ? h("ul", { class: "side-list" }, made.map(({ object, i }) => h("li", null, h("button", { class: "side-row", title: objectTitle(object), onclick: () => store.set({ view: "object", item: i }, true) }, h("span", { class: "side-name" }, objectTitle(object)), h("span", { class: "side-share" }, `${percent(remoteShare(object))} remote`))))) : h("p", { class: "hint" }, "None that was accessed."))))];
  }

  private chart(title: string, strips: Strip[], colour: "access" | "remote", run: Run, pick?: (strip: Strip) => void): HTMLElement {
    if (strips.length === 0) return h("article", { class: "card" }, h("h3", null, title), h("p", { class: "empty" }, "No accesses of it are in this page."));
    const chart = new StripChart(this.context, run, strips, colour, title, pick);
    this.charts.push(chart);
    return h("article", { class: "card" }, h("h3", null, title), chart.element, pick ? h("p", { class: "hint" }, "Click an object to open it.") : null);
  }

  resize(): void {
    this.charts.forEach((chart) => chart.resize());
  }
}
