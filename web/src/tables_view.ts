/* Objects, sites, threads, functions and lines as tables. */
import type { Context, View } from "./context";
import { clear, h } from "./dom";
import { bytes, count, latency, percent, place, rate, seconds } from "./format";
import { directed, meanLatency, objectTitle, placeBeside, remoteShare, type Func, type MemObject, type Run, type Site, type Thread, type Totals } from "./model";
import { apply, filtered } from "./selection";
import type { State } from "./state";
import { Table, type Column } from "./table";

export type TableName = "objects" | "sites" | "threads" | "functions" | "lines";

type Row = (MemObject | Site | Thread | Func) & { index: number };

/* Columns that every table ends with. Bytes from memory only where they were recorded. */
function common<T extends Totals>(run: Run, rows: T[]): Column<T>[] {
  const unit = run.head.latency_unit ?? "ns";
  const allRemote = Math.max(1, run.totals.remote), all = Math.max(1, run.totals.samples);
  return [
    { key: "samples", title: "Accesses", value: (r) => r.samples, text: (r) => count(r.samples), bar: (r) => r.samples / all, help: "Sampled accesses; the bar is their part of all" },
    { key: "remote", title: "Remote", value: (r) => r.remote, text: (r) => count(r.remote), bar: (r) => r.remote / allRemote, colour: "remote", help: "Accesses to another node; the bar is their part of all remote ones" },
    { key: "share", title: "Remote %", value: (r) => remoteShare(r), text: (r) => (r.home_known ? percent(remoteShare(r)) : "–"), help: "Of the accesses whose page's home is known" },
    { key: "writes", title: "Writes %", minor: true, value: (r) => r.writes / Math.max(1, r.samples), text: (r) => directed(r, "writes"), help: "An atomic update reads and writes" },
    { key: "latency", title: "Latency", minor: true, value: (r) => meanLatency(r), text: (r) => latency(meanLatency(r), unit), help: "Mean latency of the accesses that carry one" },
    ...(rows.some((row) => "bytes_s" in row) ? [{ key: "bytes_s", title: run.bytesAtLeast ? "Traffic, at least" : "Traffic", term: "traffic", value: (r: T) => r.bytes_s ?? -1, text: (r: T) => rate(r.bytes_s), help: `Bytes per second between caches and memory, ${run.bytesAtLeast ? "at least: loads that memory answered, without prefetched lines and writes" : "prefetched ones too"}; – where they are not known: of one of several objects of a site, and of a selection` }] : []),
  ];
}

function columnsOf(name: TableName, run: Run): Column<any>[] {
  const life: Column<any>[] = [
    { key: "allocated", title: "Allocated", minor: true, value: (r) => r.start_s, text: (r) => seconds(r.start_s, run.duration) },
    { key: "freed", title: "Freed", minor: true, value: (r) => r.end_s ?? Infinity, text: (r) => (r.end_s === null ? "–" : seconds(r.end_s, run.duration)) },
  ];
  switch (name) {
    case "objects": return [
      { key: "name", title: "Object", wide: true, value: objectTitle, note: (r: MemObject) => placeBeside(objectTitle(r), r.file, r.line) },
      { key: "kind", title: "Kind", minor: true, value: (r: MemObject) => r.kind },
      { key: "size", title: "Size", minor: true, value: (r: MemObject) => r.size, text: (r: MemObject) => bytes(r.size) },
      ...common<MemObject>(run, run.objects), ...life];
    case "sites": return [
      { key: "name", title: "Allocation site", term: "site", wide: true, value: (r: Site) => r.label || r.function || "", note: (r: Site) => placeBeside(r.label, r.file, r.line) },
      { key: "kind", title: "Kind", minor: true, value: (r: Site) => r.kind },
      { key: "count", title: "Objects", minor: true, value: (r: Site) => r.count, text: (r: Site) => count(r.count) },
      { key: "size", title: "Peak", minor: true, value: (r: Site) => r.peak_bytes, text: (r: Site) => bytes(r.peak_bytes), help: "Most bytes alive at once" },
      ...common<Site>(run, run.sites)];
    case "threads": return [
      { key: "name", title: "Thread", wide: true, value: (r: Thread) => r.name, note: (r: Thread) => `${r.tid}` },
      { key: "node", title: "Node", value: (r: Thread) => r.node, text: (r: Thread) => (r.node < 0 ? "–" : String(r.node)) },
      ...common<Thread>(run, run.threads), ...life];
    case "functions": return [
      { key: "name", title: "Function", wide: true, value: (r: Func) => r.function, note: (r: Func) => place(r.file, r.line) },
      { key: "module", title: "Module", minor: true, value: (r: Func) => place(r.module) },
      ...common<Func>(run, run.functions)];
    case "lines": return [
      { key: "name", title: "Line", wide: true, value: (r: Func) => place(r.file, r.line) || r.function, note: (r: Func) => (r.line ? r.function : "") },
      { key: "module", title: "Module", minor: true, value: (r: Func) => place(r.module) },
      ...common<Func>(run, run.codeLines)];
  }
}

const TEXTS: Record<TableName, string> = {
  objects: "Every object that was accessed: variables, heap blocks, mappings, files, stacks.",
  sites: "Lines of the program that allocate, with all that came of each.",
  threads: "Who accessed memory, and from which node.",
  functions: "Code that accessed memory.",
  lines: "Lines that accessed memory; one opens its source.",
};

export class TablesView implements View {
  readonly element = h("section", { class: "view tables" });
  private table: Table<Row> | null = null;
  private run: Run | null = null;
  private readonly search: HTMLInputElement;
  private readonly kinds = h("select", { "aria-label": "Kind", class: "select", onchange: () => this.context.store.set({ kind: this.kinds.value }) });
  private readonly note = h("p", { class: "hint" });
  private readonly holder = h("div", { class: "table-holder" });
  private rowsKey = "";
  private rows: Row[] = [];

  constructor(private readonly context: Context, private readonly name: TableName) {
    this.search = h("input", { type: "search", class: "search", placeholder: `Search ${name}…`, "aria-label": `Search ${name}`, "data-search": true,
      oninput: () => this.context.store.set({ query: this.search.value }) });
    this.element.append(h("div", { class: "toolbar" }, h("h2", null, title(name)), this.search, this.kinds), this.note, this.holder);
  }

  update(state: State): void {
    const run = this.context.run();
    if (this.run !== run) {
      this.run = run;
      this.table = new Table<Row>({
        label: title(this.name), columns: columnsOf(this.name, run),
        haystack: (row) => Object.values(row).filter((v) => typeof v === "string").join(" ") + ("tid" in row ? ` ${row.tid}` : ""),
        href: (row) => this.linkOf(row), onSort: (sort) => this.context.store.set({ sort }),
        rowClass: (row) => (this.name === "objects" && row.index === this.context.store.state.object) || (this.name === "threads" && row.index === this.context.store.state.thread) ? "chosen" : "",
      });
      clear(this.holder, this.table.element);
      this.fillKinds(run);
    }
    if (this.search.value !== state.query) this.search.value = state.query;
    this.kinds.value = state.kind;
    this.table!.show(this.rowsOf(run, state), state.sort, state.query);
    const chosen = filtered(run, state);
    this.note.textContent = TEXTS[this.name]
      + (this.name === "objects" && run.objectsSkipped ? ` The ${count(run.objectsSkipped)} with the fewest accesses are not shown.` : "")
      + (chosen.active ? ((this.name === "functions" || this.name === "lines") && !chosen.functions ? ` There are too many call chains to count by selection: ${this.name} are of the whole run.` : " Only what is selected above is counted.") : "");
  }

  private fillKinds(run: Run): void {
    const rows: { kind?: string }[] = this.name === "objects" ? run.objects : this.name === "sites" ? run.sites : [];
    const kinds = [...new Set(rows.map((row) => row.kind ?? ""))].sort();
    this.kinds.hidden = kinds.length < 2;
    clear(this.kinds, h("option", { value: "" }, "all kinds"), kinds.map((kind) => h("option", { value: kind }, kind)));
  }

  private rowsOf(run: Run, state: State): Row[] {
    const key = [run.index, state.time, state.thread, state.object, state.kind].join("|");
    if (this.rowsKey === key) return this.rows;
    this.rowsKey = key;
    const chosen = filtered(run, state);
    const numbered = <T extends object>(rows: T[]): (T & { index: number })[] => rows.map((row, index) => ({ ...row, index }));
    const source = { objects: () => apply(numbered(run.objects), chosen.objects, chosen.active), sites: () => apply(numbered(run.sites), chosen.sites, chosen.active),
      threads: () => apply(numbered(run.threads), chosen.threads, chosen.active), functions: () => apply(numbered(run.functions), chosen.functions, chosen.active),
      lines: () => apply(numbered(run.codeLines), chosen.lines, chosen.active) };
    const rows = source[this.name]() as Row[];
    return (this.rows = state.kind && !this.kinds.hidden ? rows.filter((row) => "kind" in row && row.kind === state.kind) : rows);
  }

  private linkOf(row: Row): string | null {
    const { store } = this.context;
    if (this.name === "objects") return store.link({ view: "object", item: row.index, query: "" });
    if (this.name === "threads") return store.link({ view: "thread", item: row.index, query: "" });
    if (this.name === "sites") return store.link({ view: "site", item: row.index, query: "" });
    if (this.name === "lines") return store.link({ view: "line", item: row.index, query: "" });
    return store.link({ view: "flame", query: (row as Func).function, focus: 0 });
  }

  resize(): void {}

  key(event: KeyboardEvent): boolean {
    if (event.key === "/") {
      this.search.focus();
      return true;
    }
    return this.table?.key(event) ?? false;
  }
}

function title(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1);
}
