/* Two runs side by side: the same scales in pictures, differences in tables. */
import { histogramMost, largest, latencyDomain, latencyHistogram, nodeMatrix } from "./charts";
import { matchRows, type Pair } from "./compare_rows";
import type { Context, View } from "./context";
import { clear, h, tableHead } from "./dom";
import { count, latency, percent, place, seconds, signed } from "./format";
import { MapView } from "./map_view";
import { meanLatency, remoteShare, type Run } from "./model";
import { COLOURINGS } from "./palette";
import type { State } from "./state";
import { Table, type Column } from "./table";

type Kind = "objects" | "sites" | "functions" | "threads";

export class CompareView implements View {
  readonly element = h("section", { class: "view compare" });
  private readonly maps: MapView[] = [];
  private readonly tableHolder = h("div", { class: "compare-table" });
  private readonly kinds = h("select", { class: "select", "aria-label": "Compare", "data-choice": "kind", onchange: () => this.context.store.set({ kind: this.kinds.value }) }, ["objects", "sites", "functions", "threads"].map((kind) => h("option", { value: kind }, kind)));
  private readonly search = h("input", { type: "search", class: "search", placeholder: "Search…", "aria-label": "Search the comparison", "data-search": true, oninput: () => this.context.store.set({ query: this.search.value }) });
  private readonly colours = h("select", { class: "select", "aria-label": "Colour", "data-choice": "colour", onchange: () => this.context.store.set({ colour: this.colours.value as State["colour"] }) }, Object.entries(COLOURINGS).map(([value, { title }]) => h("option", { value }, title)));
  private table: Table<Pair> | null = null;
  private tableKind = "";
  private rows: Pair[] = [];
  private built = "";

  constructor(private readonly context: Context) {}

  update(state: State): void {
    const [a, b] = this.context.runs;
    if (!a || !b) return clear(this.element, h("p", { class: "empty" }, "There is only one run in this page. `numalens report --html out.html a.data b.data` puts two into one."));
    const key = `${state.theme}${matchMedia("(prefers-color-scheme: dark)").matches}`;
    if (this.built !== key) {
      this.built = key;
      this.build(a, b);
    }
    this.colours.value = state.colour;
    this.maps.forEach((map) => map.redraw());
    this.showTable(a, b, state);
  }

  resize(): void {
    this.maps.forEach((map) => map.resize());
  }

  private build(a: Run, b: Run): void {
    const span: [number, number] = [0, Math.max(a.duration, b.duration)];
    this.maps.length = 0;
    const most = Math.max(largest(a.matrix), largest(b.matrix));
    const heads = [a.latency, b.latency].filter((head) => head !== null);
    const domain: [number, number] = heads.length ? [Math.min(...heads.map((head) => latencyDomain(head)[0])), Math.max(...heads.map((head) => latencyDomain(head)[1]))] : [1, 2];
    const mostLatency = Math.max(1, ...heads.map(histogramMost));
    const column = (run: Run, letter: string): HTMLElement => {
      const map = run.maps[0];
      const view = map && map.cells > 0 ? new MapView(this.context, run, map, "cartography", span) : null;
      if (view) this.maps.push(view);
      return h("div", { class: "compare-column" }, h("h3", null, h("span", { class: "letter" }, letter), ` ${place(run.head.file) || (run.label === letter ? "" : run.label)} `, h("code", { class: "where" }, run.head.command)),
        view ? h("div", { class: "map-holder compare-map" }, view.element) : h("p", { class: "empty" }, "No map."),
        h("div", { class: "compare-cards" }, h("article", { class: "card" }, h("h3", null, "Accesses from node to node"), nodeMatrix(run, most)), h("article", { class: "card" }, h("h3", null, "Latency"), run.latency ? latencyHistogram(run.latency, { domain, most: mostLatency }) : h("p", { class: "empty" }, "Not measured."))));
    };
    clear(this.element, h("div", { class: "toolbar" }, h("h2", null, "Two runs, one scale"), h("label", { class: "field" }, h("span", null, "Colour"), this.colours)), this.summary(a, b), h("div", { class: "compare-columns" }, column(a, "A"), column(b, "B")),
      h("div", { class: "toolbar" }, h("h3", null, "What differs"), this.kinds, this.search), this.tableHolder);
  }

  private summary(a: Run, b: Run): HTMLElement {
    const unit = a.head.latency_unit ?? "ns";
    const rows: [string, (run: Run) => number, (value: number) => string][] = [
      ["run time", (run) => run.duration, (v) => seconds(v)], ["accesses sampled", (run) => run.totals.samples, count], ["remote", (run) => remoteShare(run.totals), percent], ["mean latency", (run) => meanLatency(run.totals), (v) => latency(v, unit)],
      ["latency, 95 of 100", (run) => run.latency?.p95 ?? 0, (v) => latency(v, unit)], ["findings", (run) => run.findings.length, count]];
    return h("div", { class: "card scroll-x fit" }, h("table", { class: "list compare-summary" }, tableHead("", ">A", ">B", ">B − A"),
      h("tbody", null, rows.map(([label, value, format]) => h("tr", null, h("th", { scope: "row" }, label), h("td", { class: "num" }, format(value(a))), h("td", { class: "num" }, format(value(b))), h("td", { class: "num" }, signed(value(b) - value(a), format)))))));
  }

  private showTable(a: Run, b: Run, state: State): void {
    const kind = (["objects", "sites", "functions", "threads"].includes(state.kind) ? state.kind : "objects") as Kind;
    this.kinds.value = kind;
    if (this.search.value !== state.query) this.search.value = state.query;
    if (this.tableKind !== kind) {
      this.tableKind = kind;
      this.rows = matchRows(a, b, kind);
      this.table = new Table<Pair>({ label: `Comparison of ${kind}`, columns: columns(), haystack: (row) => row.name, onSort: (sort) => this.context.store.set({ sort }), href: (row) => this.linkOf(kind, row) });
      clear(this.tableHolder, this.table.element);
    }
    this.table!.show(this.rows, state.sort, state.query);
  }

  private linkOf(kind: Kind, row: Pair): string | null {
    if (kind === "functions") return null;
    const inB = row.indexB >= 0;
    return this.context.store.link({ view: { objects: "object", sites: "site", threads: "thread" }[kind], item: inB ? row.indexB : row.indexA, run: inB ? 1 : 0, query: "", kind: "" });
  }

  key(event: KeyboardEvent): boolean {
    if (event.key !== "/") return this.table?.key(event) ?? false;
    this.search.focus();
    return true;
  }
}

function columns(): Column<Pair>[] {
  const part = (total: number, of: number): number => (of ? total / of : 0);
  return [
    { key: "name", title: "Name", wide: true, value: (r) => r.name },
    { key: "a", title: "A: part of all", value: (r) => part(r.a.samples, r.allA), text: (r) => percent(part(r.a.samples, r.allA)) },
    { key: "b", title: "B: part of all", value: (r) => part(r.b.samples, r.allB), text: (r) => percent(part(r.b.samples, r.allB)) },
    { key: "samples", title: "Difference", value: (r) => Math.abs(part(r.b.samples, r.allB) - part(r.a.samples, r.allA)), text: (r) => signed(part(r.b.samples, r.allB) - part(r.a.samples, r.allA), percent), bar: (r) => Math.abs(part(r.b.samples, r.allB) - part(r.a.samples, r.allA)) },
    { key: "ra", title: "A: remote", minor: true, value: (r) => remoteShare(r.a), text: (r) => (r.indexA < 0 ? "–" : percent(remoteShare(r.a))) },
    { key: "rb", title: "B: remote", minor: true, value: (r) => remoteShare(r.b), text: (r) => (r.indexB < 0 ? "–" : percent(remoteShare(r.b))) },
    { key: "rd", title: "Difference", value: (r) => remoteShare(r.b) - remoteShare(r.a), text: (r) => (r.indexA < 0 ? "only in B" : r.indexB < 0 ? "only in A" : signed(remoteShare(r.b) - remoteShare(r.a), percent)), bar: (r) => Math.abs(remoteShare(r.b) - remoteShare(r.a)), colour: "remote" },
  ];
}
