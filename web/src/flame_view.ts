/* Flame graph by call chain: outermost on top, as wide as what is weighed (stall time of remote accesses, their number, samples). */
import type { Context, View } from "./context";
import { clear, fitCanvas, fitText, h } from "./dom";
import { count, percent, place } from "./format";
import { layoutFlame, type FlameNode } from "./flame_layout";
import type { FlameWeights, Run } from "./model";
import { cssOf, theme } from "./palette";
import { filtered } from "./selection";
import type { State } from "./state";

const ROW = 20;
const LEAST_PIXELS = 0.6;

export class FlameView implements View {
  private readonly canvas = h("canvas", { class: "flame", tabindex: 0, role: "img" });
  private readonly holder = h("div", { class: "flame-holder" }, this.canvas);
  private readonly weights = h("select", { class: "select", "aria-label": "Weigh by", "data-choice": "weight", onchange: () => this.context.store.set({ weight: this.weights.value as State["weight"], focus: 0 }) },
    h("option", { value: "stall" }, "stall time"), h("option", { value: "remote" }, "remote accesses"), h("option", { value: "samples" }, "all samples"));
  private readonly search = h("input", { type: "search", class: "search", placeholder: "Mark functions…", "aria-label": "Mark functions", "data-search": true, oninput: () => this.context.store.set({ query: this.search.value }) });
  private readonly status = h("p", { class: "hint", role: "status" });
  private readonly list = h("details", { class: "as-table" });
  readonly element = h("section", { class: "view flame-page" },
    h("div", { class: "toolbar" }, h("h2", null, "Flame graph"), h("label", { class: "field" }, h("span", null, "Width"), this.weights), this.search, h("button", { class: "button", "data-reset": true, onclick: () => this.context.store.set({ focus: 0 }) }, "All")),
    this.status, this.holder, h("p", { class: "legend" }, "Colour: part of its accesses that is remote, from none (blue) to all (orange). Callers above, callees below."), this.list);
  private nodes: FlameNode[] = [];
  private total = 1;
  private width = 0;
  private active = 0;

  constructor(private readonly context: Context) {
    new ResizeObserver(() => this.resize()).observe(this.holder);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => context.tip.hide());
    this.canvas.addEventListener("click", (event) => {
      const node = this.at(event.offsetX, event.offsetY);
      if (node) context.store.set({ focus: node.id === context.store.state.focus ? 0 : node.id });
    });
  }

  update(state: State, changed: Set<keyof State>): void {
    const run = this.context.run();
    this.weights.value = state.weight;
    if (this.search.value !== state.query) this.search.value = state.query;
    if (!run.flame) {
      clear(this.holder, h("p", { class: "empty" }, "No call chains are in this recording."));
      this.status.textContent = "";
      return;
    }
    if (this.canvas.parentElement !== this.holder) clear(this.holder, this.canvas);
    const weight = this.weighed(run)[state.weight];
    this.nodes = layoutFlame(run.flame.parent, weight, Math.min(state.focus, weight.length - 1), LEAST_PIXELS / Math.max(300, this.width));
    this.total = Math.max(1e-9, weight[0] ?? 0);
    if (changed.has("focus") || changed.has("weight")) this.active = 0;
    this.describe(run, state);
    this.draw();
  }

  resize(): void {
    const width = Math.floor(this.holder.getBoundingClientRect().width) - 14;
    if (width === this.width) return;
    this.width = width;
    this.draw();
  }

  /* Under the reader's selection, where the page has what that takes. */
  private weighed(run: Run): FlameWeights {
    return filtered(run, this.context.store.state).flame ?? run.flame!;
  }

  private name(run: Run, node: number): string {
    return node === 0 ? "all" : run.frames[run.flame!.frame[node]!]?.function || "?";
  }

  private draw(): void {
    const run = this.context.run();
    if (this.width === 0 || !run.flame) return;
    const { query } = this.context.store.state;
    const colours = theme(), weighed = this.weighed(run);
    const rows = Math.max(1, ...this.nodes.map((node) => node.depth + 1));
    const context = fitCanvas(this.canvas, this.width, rows * ROW + 2);
    context.clearRect(0, 0, this.width, rows * ROW + 2);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const wanted = query.toLowerCase();
    this.nodes.forEach((node, i) => {
      const x = node.start * this.width, width = node.size * this.width;
      const name = this.name(run, node.id);
      const share = weighed.remote[node.id]! / Math.max(1, weighed.samples[node.id]!);
      const marked = wanted !== "" && name.toLowerCase().includes(wanted);
      context.fillStyle = cssOf("remote", Math.min(1, share), marked ? 0.95 : wanted ? 0.18 : node.above ? 0.22 : 0.5);
      context.fillRect(x, node.depth * ROW, Math.max(0.5, width - 1), ROW - 1);
      if (i === this.active && document.activeElement === this.canvas) {
        context.strokeStyle = colours.focus;
        context.lineWidth = 2;
        context.strokeRect(x + 1, node.depth * ROW + 1, Math.max(1, width - 3), ROW - 3);
      }
      if (width < 24) return;
      context.fillStyle = colours.text;
      context.fillText(fitText(context, name, width - 8), x + 4, node.depth * ROW + ROW / 2);
    });
  }

  private amount(value: number): string {
    return this.context.store.state.weight === "stall" ? `${percent(value)} of run time` : count(value);
  }

  /* Why there is nothing to weigh. */
  private nothing(run: Run, active: boolean): string {
    const weighed = this.weighed(run), where = active ? "in what is selected" : "in this run";
    if (this.context.store.state.weight !== "stall" || !weighed.remote[0]) return `Nothing is remote ${where}: choose “all samples”.`;
    return `${run.latency ? `Remote accesses wait no longer than local ones would ${where}` : "No latency was recorded, so stall time is not known"}: choose “remote accesses” or “all samples”.`;
  }

  private describe(run: Run, state: State): void {
    const weight = this.weighed(run)[state.weight], chosen = filtered(run, state);
    const words = { stall: "stall time of remote accesses", remote: "remote accesses", samples: "sampled accesses" }[state.weight];
    this.status.textContent = this.total <= 1e-9 ? this.nothing(run, chosen.active) : `${state.weight === "stall" ? `Stall time of remote accesses: at most ${this.amount(weight[0]!)}` : `${this.amount(weight[0]!)} ${words}`} in all${state.focus ? `; shown: ${this.name(run, state.focus)}, ${percent(weight[state.focus]! / this.total)}` : ""}. Click a frame to look at it alone.${chosen.active ? (chosen.flame ? " Only what is selected above is counted." : " There are too many call chains to count by selection: this is of the whole run.") : ""}`;
    const own = new Map<string, number>();
    const self = Float64Array.from(weight);
    for (let i = 1; i < self.length; i++) self[run.flame!.parent[i]!]! -= weight[i]!;
    for (let i = 1; i < self.length; i++) own.set(this.name(run, i), (own.get(this.name(run, i)) ?? 0) + Math.max(0, self[i]!));
    const top = [...own].sort((a, b) => b[1] - a[1]).slice(0, 15);
    clear(this.list, h("summary", null, "As a table"), h("table", { class: "plain" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "function, without its callees"), h("th", { scope: "col" }, words), h("th", { scope: "col" }, "part"))),
      h("tbody", null, top.map(([name, value]) => h("tr", null, h("td", null, name), h("td", null, this.amount(value)), h("td", null, percent(value / this.total)))))));
    this.canvas.setAttribute("aria-label", `Flame graph by ${words}. Most in ${top.slice(0, 3).map(([name, value]) => `${name} ${percent(value / this.total)}`).join(", ")}.`);
  }

  private at(x: number, y: number): FlameNode | undefined {
    const depth = Math.floor(y / ROW), share = x / this.width;
    return this.nodes.find((node) => node.depth === depth && share >= node.start && share < node.start + node.size);
  }

  private hover(event: PointerEvent): void {
    const node = this.at(event.offsetX, event.offsetY);
    this.canvas.style.cursor = node ? "pointer" : "default";
    if (node) this.tip(node, event.clientX, event.clientY);
    else this.context.tip.hide();
  }

  private tip(node: FlameNode, x: number, y: number): void {
    const run = this.context.run(), flame = this.weighed(run);
    const frame = run.frames[run.flame!.frame[node.id]!];
    this.context.tip.show(x, y, this.name(run, node.id), [
      ["part of all", percent(flame[this.context.store.state.weight][node.id]! / this.total)], ["samples", count(flame.samples[node.id]!)], ["remote", `${count(flame.remote[node.id]!)} (${percent(flame.remote[node.id]! / Math.max(1, flame.samples[node.id]!))})`],
      ["stall time", `${percent(flame.stall[node.id]!)} of run time`], ...(frame && place(frame.file, frame.line) ? [["at", place(frame.file, frame.line)] as [string, string]] : []), ...(frame?.module ? [["in", place(frame.module)] as [string, string]] : [])]);
  }

  key(event: KeyboardEvent): boolean {
    const { store } = this.context;
    const now = this.nodes[this.active];
    const choose = (next: FlameNode | undefined): boolean => {
      if (!next) return true;
      this.active = this.nodes.indexOf(next);
      this.canvas.focus();
      this.draw();
      const box = this.canvas.getBoundingClientRect();
      this.tip(next, box.left + Math.min(this.width - 20, next.start * this.width), box.top + next.depth * ROW + ROW);
      return true;
    };
    const beside = (way: number): FlameNode | undefined => {
      const row = this.nodes.filter((node) => node.depth === now?.depth).sort((a, b) => a.start - b.start);
      return row[row.indexOf(now!) + way];
    };
    switch (event.key) {
      case "/": this.search.focus(); return true;
      case "0": store.set({ focus: 0 }); return true;
      case "w": store.set({ weight: { stall: "remote", remote: "samples", samples: "stall" }[store.state.weight] as State["weight"], focus: 0 }); return true;
      case "Enter": if (now) store.set({ focus: now.id }); return true;
      case "ArrowLeft": return choose(beside(-1));
      case "ArrowRight": return choose(beside(1));
      case "ArrowUp": return choose(this.nodes.find((node) => now && node.depth === now.depth - 1 && node.start <= now.start + 1e-9 && node.start + node.size > now.start));
      case "ArrowDown": return choose(this.nodes.filter((node) => now && node.depth === now.depth + 1 && node.start >= now.start - 1e-9 && node.start < now.start + now.size).sort((a, b) => b.size - a.size)[0]);
      default: return false;
    }
  }
}
