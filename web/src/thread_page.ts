/* A thread's own page: its flow, what it uses, and the home nodes of that. */
import { h } from "./dom";
import { count, latency, percent, seconds } from "./format";
import { meanLatency, objectTitle, remoteShare, type Run } from "./model";
import { OwnPage } from "./own_page";
import { stripsOf } from "./strips";

export class ThreadPage extends OwnPage {
  protected build(run: Run, index: number): HTMLElement[] | null {
    const thread = run.threads[index];
    if (!thread) return null;
    const { store } = this.context;
    const byObject = stripsOf(run, "thread", index, "object");
    const byNode = stripsOf(run, "thread", index, "home").sort((a, b) => a.id - b.id);
    const unit = run.head.latency_unit ?? "ns";
    const facts: [string, string][] = [["thread", String(thread.tid)], ["process", String(thread.pid)], ["node", thread.node < 0 ? "–" : String(thread.node)], ["started", seconds(thread.start_s, run.duration)], ["ended", thread.end_s === null ? "with the run" : seconds(thread.end_s, run.duration)],
      ["reads", count(thread.reads)], ["writes", count(thread.writes)], ["remote", `${count(thread.remote)} (${percent(thread.remote / Math.max(1, run.totals.remote))} of all)`], ["mean latency", latency(meanLatency(thread), unit)]];
    const made = run.objects.map((object, i) => ({ object, i })).filter(({ object }) => object.alloc_thread === index && object.kind !== "static" && object.kind !== "stack").slice(0, 12);
    return [
      h("div", { class: "own-head" }, this.link("← Threads", { view: "threads", item: -1 }, null), h("h2", null, `${thread.name} ${thread.tid}`), h("span", { class: "pattern-kind" }, thread.node < 0 ? "thread" : `on node ${thread.node}`), h("span", { class: "grow" }),
        this.link("Its memory over time", { view: "gantt", thread: index, x: null, y: null }), this.link("Filter by it", { view: "objects", thread: index })),
      h("p", { class: "own-sentence" }, `${count(thread.samples)} sampled accesses, ${percent(thread.samples / Math.max(1, run.totals.samples))} of all; `, h("b", null, percent(remoteShare(thread))), " of them remote."),
      h("div", { class: "own-grid" },
        h("div", { class: "own-main" }, this.chart(run, "What it uses, over time", byObject, "access", (strip) => store.set({ view: "object", item: strip.id }, true)), this.chart(run, "Nodes it reaches, over time", byNode, "remote")),
        h("div", { class: "own-side" }, this.facts(facts),
          h("article", { class: "card" }, h("h3", null, "Objects that it allocated"), made.length ? h("ul", { class: "side-list" }, made.map(({ object, i }) => h("li", null, h("button", { class: "side-row", title: objectTitle(object), onclick: () => store.set({ view: "object", item: i }, true) }, h("span", { class: "side-name" }, objectTitle(object)), h("span", { class: "side-share" }, `${percent(remoteShare(object))} remote`))))) : h("p", { class: "hint" }, "None that was accessed."))))];
  }
}
