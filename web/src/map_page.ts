/* Cartography and Memory-Gantt with their controls, and the list of what is on screen. */
import { AggregationControl } from "./aggregation_control";
import type { Context, View } from "./context";
import { clear, h } from "./dom";
import { bytes, count, latency, percent, plural, seconds } from "./format";
import { MapView } from "./map_view";
import { directed, NONE, type Run } from "./model";
import { COLOURINGS, cssOf, type Colouring } from "./palette";
import type { State } from "./state";
import { byAccesses, type Tally } from "./summary";

const KINDS = { map: "cartography", gantt: "gantt" } as const;

export class MapPage implements View {
  readonly element: HTMLElement;
  private readonly holder = h("div", { class: "map-holder" });
  private readonly side = h("aside", { class: "side", "aria-label": "What is on screen" });
  private readonly legend = h("div", { class: "map-legend" });
  private readonly aggregation: AggregationControl;
  private readonly controls: { key: keyof State; select: HTMLSelectElement }[] = [];
  private map: MapView | null = null;
  private mapKey = "";
  private sideTimer = 0;

  constructor(private readonly context: Context, private readonly name: "map" | "gantt") {
    this.aggregation = new AggregationControl(context);
    const title = name === "map" ? "Cartography" : "Memory-Gantt";
    this.element = h("section", { class: "view map-page" },
      h("div", { class: "toolbar" }, h("h2", null, title),
        this.choice("colour", "Colour", Object.entries(COLOURINGS).map(([value, { title }]) => [value, title])),
        this.choice("show", "Show", [["all", "all accesses"], ["reads", "reads"], ["writes", "writes"], ["remote", "remote only"]]),
        this.choice("space", "Addresses", [["virtual", "virtual"], ["physical", "physical"]]),
        h("button", { class: "button", "data-reset": true, title: "Show the whole run (0)", onclick: () => context.store.set({ x: null, y: null }) }, "Whole run"),
        this.aggregation.element),
      h("div", { class: "map-body" }, h("div", { class: "map-main" }, this.holder, this.legend), this.side));
  }

  private choice(key: "colour" | "show" | "space", label: string, options: string[][]): HTMLElement {
    const select = h("select", { class: "select", "aria-label": label, "data-choice": key, onchange: () => this.context.store.set({ [key]: select.value }) },
      options.map(([value, text]) => h("option", { value: value! }, text!)));
    this.controls.push({ key, select });
    return h("label", { class: "field" }, h("span", null, label), select);
  }

  update(state: State): void {
    const run = this.context.run();
    const map = run.maps.find((m) => m.space === state.space) ?? run.maps[0];
    for (const { key, select } of this.controls) {
      if (key === "space") {
        for (const option of select.options) option.disabled = !run.maps.some((m) => m.space === option.value);
        select.title = run.maps.some((m) => m.space === "physical") ? "" : "Physical addresses were not recorded";
      }
      select.value = key === "space" ? map?.space ?? "virtual" : String(state[key]);
    }
    if (!map || map.cells === 0) {
      this.map = null;
      this.mapKey = "";
      return clear(this.holder, h("p", { class: "empty" }, "There is no map: no access was sampled, or the recording has none with an address."));
    }
    const key = `${run.index} ${map.space}`;
    if (this.mapKey !== key) {
      this.mapKey = key;
      this.map = new MapView(this.context, run, map, KINDS[this.name], [0, run.duration], () => this.drawSide(run));
      clear(this.holder, this.map.element);
      this.map.resize();
    }
    this.aggregation.show(this.map!.aggregation);
    this.drawLegend(state, run);
    this.map!.redraw();
    clearTimeout(this.sideTimer);
    this.sideTimer = window.setTimeout(() => this.drawSide(run), 120);
  }

  resize(): void {
    this.map?.resize();
  }

  private drawLegend(state: State, run: Run): void {
    const { low, high } = COLOURINGS[state.colour as Colouring];
    const bar = (from: string, to: string, aria: string): HTMLElement => {
      const element = h("span", { class: "ramp", role: "img", "aria-label": aria });
      element.style.background = `linear-gradient(90deg, ${from}, ${to})`;
      return element;
    };
    const hue = h("span", { class: "ramp", role: "img", "aria-label": `Colour from ${low} to ${high}` });
    hue.style.background = `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map((v) => cssOf(state.colour, v)).join(", ")})`;
    clear(this.legend,
      h("span", { class: "legend-item" }, low, hue, high),
      h("span", { class: "legend-item" }, "few", bar(cssOf(state.colour, 0.5, 0.2), cssOf(state.colour, 0.5), "Lightness from few to many accesses"), "many accesses per page"),
      state.colour === "latency" ? h("span", { class: "legend-item" }, h("span", { class: "swatch untimed", "aria-hidden": true }), "no latency measured") : null,
      h("span", { class: "legend-item" }, "◤ allocated  ◥ freed  ", h("span", { class: "swatch absent", "aria-hidden": true }), "not there"),
      this.map && this.map.map.outside > 0 ? h("span", { class: "legend-item warn" }, `${plural(this.map.map.outside, "access", "accesses")} not shown`) : null,
      run.head.live ? h("span", { class: "legend-item" }, "zoom in for more detail") : null);
  }

  private drawSide(run: Run): void {
    const { map } = this;
    if (!map) return;
    const summary = map.visible();
    const total = summary.samples;
    const view = map.view();
    const unit = run.head.latency_unit ?? "ns";
    const { store } = this.context;
    const rows = (entries: [number, Tally][], name: (id: number) => string, pick: (id: number) => Partial<State>, chosen: number): HTMLElement[] => entries.slice(0, 12).map(([id, tally]) => {
      const share = tally.samples / Math.max(1, total);
      const bar = h("span", { class: "bar", "aria-hidden": true });
      bar.style.width = `${share * 100}%`;
      return h("li", null, h("button", { class: `side-row${id === chosen ? " chosen" : ""}`, title: name(id), "aria-pressed": id === chosen, onclick: () => store.set(pick(id)) }, bar, h("span", { class: "side-name" }, name(id)), h("span", { class: "side-share" }, percent(share))));
    });
    const { state } = store;
    const span = `${seconds(view.t0, view.t1 - view.t0)} – ${seconds(view.t1, view.t1 - view.t0)}`;
    clear(this.side, h("h3", null, "On screen"),
      h("p", { class: "hint" }, `${span}, ${bytes(summary.bytes)}`),
      h("dl", { class: "facts" }, ([["accesses", count(total)], ["writes", directed(summary, "writes")], ["remote", percent(summary.remote / Math.max(1, total))], ["latency", latency(summary.timed ? summary.latency / summary.timed : 0, unit)]] as const)
        .map(([label, text]) => h("div", { class: "fact" }, h("dt", null, label), h("dd", null, text)))),
      h("h4", null, "Objects"), h("ul", { class: "side-list" }, rows(byAccesses(summary.objects), (id) => (id === NONE ? "no known object" : run.shortName(id)), (id) => ({ object: id === NONE || id === state.object ? -1 : id }), state.object)),
      h("h4", null, "Threads"), h("ul", { class: "side-list" }, rows(byAccesses(summary.threads), (id) => run.threadName(id), (id) => ({ thread: id === state.thread ? -1 : id }), state.thread)));
    const top = byAccesses(summary.objects).slice(0, 3).map(([id, tally]) => `${id === NONE ? "no known object" : run.objectName(id)} ${percent(tally.samples / Math.max(1, total))}`);
    map.canvas.setAttribute("aria-label", `${this.name === "map" ? "Addresses" : "Memory of each thread"} over time, ${span}: ${count(total)} accesses, ${percent(summary.remote / Math.max(1, total))} remote. Mostly ${top.join(", ")}. The list beside the picture has the numbers; arrow keys move, plus and minus zoom.`);
  }

  key(event: KeyboardEvent): boolean {
    const { map } = this;
    if (!map || event.ctrlKey || event.metaKey || event.altKey) return false;
    const { store } = this.context;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => map.move(-0.15, 0), ArrowRight: () => map.move(0.15, 0), ArrowUp: () => map.move(0, -0.15), ArrowDown: () => map.move(0, 0.15),
      "+": () => map.zoom(1.5, 0.5, 0.5, true, false), "=": () => map.zoom(1.5, 0.5, 0.5, true, false), "-": () => map.zoom(1 / 1.5, 0.5, 0.5, true, false),
      "*": () => map.zoom(1.5, 0.5, 0.5, false, true), _: () => map.zoom(1 / 1.5, 0.5, 0.5, false, true),
      "0": () => store.set({ x: null, y: null }), "[": () => this.aggregation.step(-1), "]": () => this.aggregation.step(1),
      c: () => {
        const all = Object.keys(COLOURINGS) as Colouring[];
        store.set({ colour: all[(all.indexOf(store.state.colour) + 1) % all.length]! });
      },
      f: () => { if (store.state.object >= 0) map.reveal(store.state.object); },
      z: () => { if (store.state.time) store.set({ x: store.state.time }); },
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (!action) return false;
    action();
    return true;
  }
}
