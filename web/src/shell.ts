/* The frame around the views: head, warnings, tabs, strip of time, selection, keys. */
import type { Context, View } from "./context";
import { clear, h, term } from "./dom";
import { FlameView } from "./flame_view";
import { CompareView } from "./compare_view";
import { count, seconds } from "./format";
import { helpDialog } from "./help";
import { LinePage } from "./line_page";
import { MapPage } from "./map_page";
import { ObjectPage } from "./object_page";
import { Overview } from "./overview";
import { SitePage } from "./site_page";
import type { State } from "./state";
import { TablesView } from "./tables_view";
import { ThreadPage } from "./thread_page";
import { Timeline } from "./timeline";

const TABS: [name: string, title: string][] = [
  ["overview", "Overview"], ["map", "Cartography"], ["gantt", "Memory-Gantt"], ["objects", "Objects"], ["sites", "Sites"],
  ["threads", "Threads"], ["functions", "Functions"], ["lines", "Lines"], ["flame", "Flame graph"],
];
/* The tab under which an own page is found. */
const PARENT: Record<string, string> = { object: "objects", site: "sites", thread: "threads", line: "lines" };

export class Shell {
  readonly element: HTMLElement;
  private readonly views = new Map<string, View>();
  private readonly makers: Record<string, () => View>;
  private readonly head = h("header", { class: "head" });
  private readonly tabs = h("nav", { class: "tabs", "aria-label": "Views" });
  private readonly notices = h("section", { class: "notices", "aria-label": "What to know about this recording" });
  private readonly chips = h("div", { class: "chips", "aria-live": "polite" });
  private readonly stage = h("main", { class: "stage", id: "view", tabindex: -1 });
  private readonly timeline: Timeline;
  private readonly help = helpDialog();
  private view: View | null = null;
  private headRun = -1;

  constructor(private readonly context: Context) {
    this.timeline = new Timeline(context);
    this.makers = {
      overview: () => new Overview(context), map: () => new MapPage(context, "map"), gantt: () => new MapPage(context, "gantt"),
      objects: () => new TablesView(context, "objects"), sites: () => new TablesView(context, "sites"), threads: () => new TablesView(context, "threads"),
      functions: () => new TablesView(context, "functions"), lines: () => new TablesView(context, "lines"), line: () => new LinePage(context), flame: () => new FlameView(context), object: () => new ObjectPage(context),
      thread: () => new ThreadPage(context), site: () => new SitePage(context), compare: () => new CompareView(context),
    };
    this.element = h("div", { class: "shell" }, h("a", { class: "skip", href: "#view", onclick: (event: Event) => { event.preventDefault(); this.stage.focus(); } }, "To the view"),
      this.head, this.notices, this.tabs, this.timeline.element, this.chips, this.stage);
  }

  start(): void {
    const { store } = this.context;
    this.applyTheme(store.state);
    store.subscribe((state, changed) => this.update(state, changed));
    this.update(store.state, new Set(["view", "run"]));
    let pending = 0;
    window.addEventListener("resize", () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(() => { this.timeline.resize(); this.view?.resize?.(); });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.update(store.state, new Set(["theme"])));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("beforeprint", () => this.paper(true));
    window.addEventListener("afterprint", () => this.paper(false));
  }

  /* Canvases are drawn again, light and as wide as a sheet, before the browser takes them. */
  private paper(printing: boolean): void {
    if (printing) document.documentElement.dataset["paper"] = "";
    else delete document.documentElement.dataset["paper"];
    this.update(this.context.store.state, new Set(["theme"]));
    this.view?.resize?.();
  }

  private update(state: State, changed: Set<keyof State>): void {
    const run = this.context.run();
    if (changed.has("theme")) this.applyTheme(state);
    if (this.headRun !== run.index || changed.has("theme")) this.drawHead();
    this.drawTabs(state);
    this.drawChips(state);
    this.timeline.resize();
    let view = this.views.get(state.view);
    if (!view) {
      const maker = Object.hasOwn(this.makers, state.view) ? this.makers[state.view]! : this.makers["overview"]!;
      this.views.set(state.view, (view = maker()));
    }
    if (this.view !== view) {
      this.context.tip.hide();
      this.view = view;
      clear(this.stage, view.element);
      this.stage.scrollTop = 0;
      this.element.dataset["view"] = state.view;
    }
    view.update(state, changed);
    if (changed.has("view") || changed.has("run")) view.resize?.();
  }

  private applyTheme(state: State): void {
    if (state.theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = state.theme;
  }

  private drawHead(): void {
    const { store, runs } = this.context;
    const run = this.context.run();
    this.headRun = run.index;
    const facts = [run.head.source ? `source ${run.head.source}` : "", `${run.nodes.length} ${run.nodes.length === 1 ? "node" : "nodes"}`, seconds(run.duration), run.head.exit_status ? `exit status ${run.head.exit_status}` : ""].filter(Boolean);
    clear(this.head,
      h("a", { class: "logo", href: store.link({ view: "overview" }), "aria-label": "numalens, to the overview" }, h("span", { class: "logo-mark", "aria-hidden": true }), "numalens"),
      h("h1", { class: "command", title: run.head.command }, run.head.command || "recording"),
      h("span", { class: "facts-line", title: run.head.source_reason ?? "" }, facts.join(" · ")),
      h("span", { class: "grow" }),
      runs.length > 1 ? h("div", { class: "switch", role: "group", "aria-label": "Run" }, runs.map((other) => h("button", { class: "button", "aria-pressed": other === run, "data-run": other.index, title: other.head.command, onclick: () => store.set({ run: other.index }) }, other.label))) : null,
      h("button", { class: "button", "data-theme-switch": true, title: "Light, dark, as the system says (t)", onclick: () => this.nextTheme() }, { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[store.state.theme]),
      h("button", { class: "button", "data-help": true, "aria-label": "Keys", title: "Keys (?)", onclick: () => this.help.showModal() }, "?"));
    document.title = `${run.head.command || "recording"} – numalens`;
    this.drawNotices();
  }

  private drawNotices(): void {
    const { head } = this.context.run();
    const notes: [string, string][] = [];
    if (head.damage) notes.push(["Damaged", head.damage]);
    if (head.simulated) notes.push(["Simulated topology", `this machine does not have these nodes; threads and pages were assigned to them${head.homes ? ` (home nodes: ${head.homes})` : ""}. Placement is that of the simulated topology, latencies are those of this machine.`]);
    for (const loss of head.losses ?? []) if (loss.count > 0) notes.push(["Lost", `${count(loss.count)} ${loss.text || loss.name}`]);
    const without = (head.unattributed ?? []).filter((entry) => entry.count > 0);
    if (without.length) notes.push(["No known object", without.map((entry) => `${count(entry.count)}: ${entry.reason}`).join("; ")]);
    clear(this.notices, notes.map(([title, text]) => h("p", { class: "notice" }, h("b", null, term(title)), " ", text)));
    this.notices.hidden = notes.length === 0;
  }

  private drawTabs(state: State): void {
    const { store, runs } = this.context;
    const tabs = runs.length > 1 ? [...TABS, ["compare", "Compare"] as [string, string]] : TABS;
    const here = PARENT[state.view] ?? state.view;
    const place = this.tabs.scrollLeft;
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.["tab"];
    clear(this.tabs, tabs.map(([name, title]) => h("a", { class: "tab", href: store.link({ view: name, query: "", kind: "", sort: "" }), "data-tab": name, "aria-current": name === here ? "page" : null }, title)));
    this.tabs.scrollLeft = place;
    if (focused) this.tabs.querySelector<HTMLElement>(`[data-tab="${CSS.escape(focused)}"]`)?.focus();
  }

  private drawChips(state: State): void {
    const { store } = this.context;
    const run = this.context.run();
    const chip = (label: string, text: string, patch: Partial<State>, href: string | null): HTMLElement => h("span", { class: "chip" }, `${label} `, href ? h("a", { href }, text) : h("b", null, text),
      h("button", { "aria-label": `Drop the selection of ${label}`, onclick: () => store.set(patch) }, "×"));
    const chips = [
      state.time ? chip("time", `${seconds(state.time[0], run.duration)} – ${seconds(state.time[1], run.duration)}`, { time: null }, null) : null,
      state.thread >= 0 && run.threads[state.thread] ? chip("thread", run.threadName(state.thread), { thread: -1 }, store.link({ view: "thread", item: state.thread })) : null,
      state.object >= 0 && run.object(state.object) ? chip("object", run.objectName(state.object), { object: -1 }, store.link({ view: "object", item: state.object })) : null,
    ].filter((entry) => entry !== null);
    this.chips.hidden = chips.length === 0;
    clear(this.chips, chips.length ? h("span", { class: "hint" }, "Only") : null, chips);
  }

  private nextTheme(): void {
    const order = ["auto", "light", "dark"] as const;
    const { store } = this.context;
    store.set({ theme: order[(order.indexOf(store.state.theme) + 1) % order.length]! });
  }

  private key(event: KeyboardEvent): void {
    const { store, runs } = this.context;
    const target = event.target as HTMLElement;
    const typing = target instanceof HTMLInputElement && target.type !== "range" || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
    if (this.help.open) return;
    if (event.key === "Escape") {
      if (typing) target.blur();
      else store.set({ time: null, thread: -1, object: -1 });
      this.context.tip.hide();
      return;
    }
    if (typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof HTMLInputElement && event.key.startsWith("Arrow")) return;
    const number = Number(event.key);
    const names = [...TABS.map(([name]) => name), ...(runs.length > 1 ? ["compare"] : [])];
    if (event.key === "?") this.help.showModal();
    else if (event.key === "t") this.nextTheme();
    else if (event.key === "r" && runs.length > 1) store.set({ run: (this.context.run().index + 1) % runs.length });
    else if (number >= 1 && number <= names.length) store.set({ view: names[number - 1]!, query: "", kind: "", sort: "" }, true);
    else if (event.key === "/" && !this.view?.key) store.set({ view: "objects" }, true);
    else if (this.view?.key?.(event)) { /* The view took it. */ }
    else if (event.key === "/") {
      store.set({ view: "objects" }, true);
      this.stage.querySelector<HTMLInputElement>("[data-search]")?.focus();
    } else return;
    event.preventDefault();
  }
}
