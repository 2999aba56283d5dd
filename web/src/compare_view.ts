/* Two runs side by side: the same scales in pictures, differences in tables. */
import { histogramMost, largest, latencyDomain, latencyHistogram, nodeMatrix } from "./charts";
import { changed, changedColumns, changedName, changedNote } from "./compare_rows";
import { comparisonVerdict, findingFates } from "./compare_verdict";
import type { Context, View } from "./context";
import { clear, h, tableHead, term } from "./dom";
import { count, latency, percent, place, seconds } from "./format";
import { MapView } from "./map_view";
import { meanLatency, remoteShare, type Changed, type Comparison, type Run } from "./model";
import { COLOURINGS } from "./palette";
import type { State } from "./state";
import { Table } from "./table";

type Kind = "objects" | "sites" | "functions" | "threads";

export class CompareView implements View {
  readonly element = h("section", { class: "view compare" });
  private readonly maps: MapView[] = [];
  private readonly tableHolder = h("div", { class: "compare-table" });
  private readonly kinds = h("select", { class: "select", "aria-label": "Compare", "data-choice": "kind", onchange: () => this.context.store.set({ kind: this.kinds.value }) }, ["objects", "sites", "functions", "threads"].map((kind) => h("option", { value: kind }, kind)));
  private readonly search = h("input", { type: "search", class: "search", placeholder: "Search…", "aria-label": "Search the comparison", "data-search": true, oninput: () => this.context.store.set({ query: this.search.value }) });
  private readonly colours = h("select", { class: "select", "aria-label": "Colour", "data-choice": "colour", onchange: () => this.context.store.set({ colour: this.colours.value as State["colour"] }) }, Object.entries(COLOURINGS).map(([value, { title }]) => h("option", { value }, title)));
  private table: Table<Changed> | null = null;
  private tableKind = "";
  private built = "";

  constructor(private readonly context: Context) {}

  update(state: State): void {
    const [a, b] = this.context.runs;
    const comparison = b?.comparison;
    if (!a || !b || !comparison) return clear(this.element, h("p", { class: "empty" }, "There is only one run in this page. `numalens report --html out.html -i a.data --against b.data` puts two into one."));
    const key = `${state.theme}${matchMedia("(prefers-color-scheme: dark)").matches}`;
    if (this.built !== key) {
      this.built = key;
      this.build(a, b, comparison);
    }
    this.colours.value = state.colour;
    this.maps.forEach((map) => map.redraw());
    this.showTable(comparison, b, state);
  }

  resize(): void {
    this.maps.forEach((map) => map.resize());
  }

  private build(a: Run, b: Run, comparison: Comparison): void {
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
    clear(this.element, h("div", { class: "toolbar" }, h("h2", null, "Two runs, one scale"), h("label", { class: "field" }, h("span", null, "Colour"), this.colours)), comparisonVerdict(comparison, a, b), h("div", { class: "compare-heads" }, this.summary(a, b, comparison), findingFates(this.context, comparison, a, b)), h("div", { class: "compare-columns" }, column(a, "A"), column(b, "B")),
      h("div", { class: "toolbar" }, h("h3", null, "What differs"), this.kinds, this.search), this.tableHolder);
  }

  private summary(a: Run, b: Run, comparison: Comparison): HTMLElement {
    const unit = a.head.latency_unit ?? "ns";
    const rows: [string, (run: Run) => number, (value: number) => string, boolean][] = [
      ["run time", (run) => run.duration, (v) => seconds(v), true], ["accesses sampled", (run) => run.totals.samples, count, true], ["remote", (run) => remoteShare(run.totals), percent, comparison.remote_significant],
      ["mean latency", (run) => meanLatency(run.totals), (v) => latency(v, unit), comparison.latency_significant], ["latency, 95 of 100", (run) => run.latency?.p95 ?? 0, (v) => latency(v, unit), true], ["findings", (run) => run.findings.length, count, true]];
    return h("div", { class: "card scroll-x fit" }, h("table", { class: "list compare-summary" }, tableHead("", ">A", ">B", ">B − A"),
      h("tbody", null, rows.map(([label, value, format, significant]) => h("tr", null, h("th", { scope: "row" }, label), h("td", { class: "num" }, format(value(a))), h("td", { class: "num" }, format(value(b))), h("td", { class: "num" }, changed(value(b) - value(a), significant, format)))))),
      h("p", { class: "hint" }, "~ not ", term("significant"), ". Run times and quantiles are not tested: they are from one run each."));
  }

  private showTable(comparison: Comparison, b: Run, state: State): void {
    const kind = (["objects", "sites", "functions", "threads"].includes(state.kind) ? state.kind : "objects") as Kind;
    this.kinds.value = kind;
    if (this.search.value !== state.query) this.search.value = state.query;
    if (this.tableKind !== kind) {
      this.tableKind = kind;
      this.table = new Table<Changed>({ label: `Comparison of ${kind}`, columns: changedColumns(b.head.latency_unit ?? "ns"), haystack: (row) => `${changedName(row)} ${changedNote(row)}`, onSort: (sort) => this.context.store.set({ sort }), href: (row) => this.linkOf(kind, row) });
      clear(this.tableHolder, this.table.element);
    }
    this.table!.show(comparison[kind], state.sort, state.query);
  }

  private linkOf(kind: Kind, row: Changed): string | null {
    if (kind === "functions") return null;
    const inB = (row.after?.row ?? -1) >= 0, item = inB ? row.after!.row : row.before?.row ?? -1;
    return item < 0 ? null : this.context.store.link({ view: { objects: "object", sites: "site", threads: "thread" }[kind], item, run: inB ? 1 : 0, query: "", kind: "" });
  }

  key(event: KeyboardEvent): boolean {
    if (event.key !== "/") return this.table?.key(event) ?? false;
    this.search.focus();
    return true;
  }
}
