/* A table of any length: sorted by any column, searched, with only the rows on screen in the document. */
import { clear, h, type Attributes } from "./dom";
import { explained } from "./glossary";

export interface Column<T> {
  key: string;
  title: string;
  /* What sorts, and what is shown; numbers are set flush right. */
  value: (row: T) => number | string;
  text?: (row: T) => string;
  /* A second, quieter line of thought beside the text. */
  note?: (row: T) => string;
  /* Part of 1 drawn as a bar behind the number. */
  bar?: (row: T) => number;
  colour?: "remote" | "local" | "write";
  wide?: boolean;
  /* Hidden where the window is narrow. */
  minor?: boolean;
  help?: string;
  /* The word of the glossary that explains it, where it is not the title. */
  term?: string;
}

export interface TableOptions<T> {
  label: string;
  columns: Column<T>[];
  /* What a search looks in. */
  haystack: (row: T) => string;
  href: (row: T) => string | null;
  onSort: (sort: string) => void;
  rowClass?: (row: T) => string;
}

const ROW = 30;
const SPARE = 8;
const PRINTED = 150;

export class Table<T> {
  readonly element: HTMLElement;
  private readonly head = h("div", { class: "thead", role: "row" });
  private readonly body = h("div", { class: "tbody" });
  private readonly scroller: HTMLElement;
  private readonly status = h("p", { class: "table-status", role: "status" });
  private all: T[] = [];
  private rows: T[] = [];
  private sort = "";
  private query = "";
  private active = 0;
  private shownFrom = -1;
  private shownTo = -1;
  private printing = false;

  constructor(private readonly options: TableOptions<T>) {
    this.scroller = h("div", { class: "tscroll", tabindex: 0, role: "grid", "aria-label": options.label, onscroll: () => this.fill(), onkeydown: (event: KeyboardEvent) => this.key(event) }, this.head, this.body);
    this.element = h("div", { class: "table" }, this.scroller, this.status);
    this.element.style.setProperty("--columns", options.columns.map((c) => (c.wide ? "minmax(180px, 3fr)" : "minmax(64px, 1fr)")).join(" "));
    this.element.style.setProperty("--columns-narrow", options.columns.filter((c) => !c.minor).map((c) => (c.wide ? "minmax(120px, 2fr)" : "minmax(58px, 1fr)")).join(" "));
    this.element.style.setProperty("--least", `${options.columns.reduce((sum, c) => sum + (c.wide ? 180 : 72), 0)}px`);
    new ResizeObserver(() => this.fill(true)).observe(this.scroller);
    window.addEventListener("beforeprint", () => this.print());
    window.addEventListener("afterprint", () => { this.printing = false; this.announce(); this.fill(true); });
  }

  show(rows: T[], sort: string, query: string): void {
    const fresh = rows !== this.all || sort !== this.sort || query !== this.query;
    this.all = rows;
    this.sort = sort;
    this.query = query;
    if (!fresh) return;
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    this.rows = words.length === 0 ? rows.slice() : rows.filter((row) => {
      const text = this.options.haystack(row).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const [key, way] = this.order();
    const column = this.options.columns.find((c) => c.key === key);
    if (column) this.rows.sort((a, b) => compare(column.value(a), column.value(b)) * way);
    this.active = 0;
    this.scroller.scrollTop = 0;
    this.drawHead(key, way);
    this.announce();
    this.fill(true);
  }

  private announce(): void {
    const { all, rows, query } = this;
    this.status.textContent = query.trim() ? `${rows.length} of ${all.length} rows match “${query}”` : `${all.length} ${all.length === 1 ? "row" : "rows"}`;
  }

  /* Paper does not scroll: the first rows, and how many there are. */
  private print(): void {
    const printed = Math.min(PRINTED, this.rows.length);
    this.printing = true;
    this.render(0, printed);
    if (printed < this.rows.length) this.status.textContent += `; the first ${printed} are printed`;
  }

  private order(): [string, number] {
    const key = this.sort.replace(/^-/, "");
    if (key && this.options.columns.some((c) => c.key === key)) return [key, this.sort.startsWith("-") ? -1 : 1];
    return [this.options.columns.find((c) => c.key === "samples")?.key ?? "", -1];
  }

  private drawHead(sorted: string, way: number): void {
    const focused = this.head.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset["sort"] : undefined;
    clear(this.head, this.options.columns.map((column) => {
      const mine = column.key === sorted;
      const next = mine ? (way === -1 ? column.key : `-${column.key}`) : isText(column, this.rows) ? column.key : `-${column.key}`;
      return h("div", { class: `th${column.minor ? " minor" : ""}${isText(column, this.rows) ? "" : " num"}`, role: "columnheader", "aria-sort": mine ? (way === -1 ? "descending" : "ascending") : "none" },
        h("button", { class: "sort", ...explanationOf(column), "data-sort": column.key, onclick: () => this.options.onSort(next) },
          column.title, mine ? h("span", { "aria-hidden": true, class: "way" }, way === -1 ? "▾" : "▴") : null));
    }));
    if (focused) this.head.querySelector<HTMLElement>(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
    this.scroller.setAttribute("aria-rowcount", String(this.rows.length + 1));
  }

  private fill(force = false): void {
    if (this.printing) return;
    const from = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - SPARE);
    const to = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + SPARE);
    if (!force && from === this.shownFrom && to === this.shownTo) return;
    this.render(from, to);
  }

  private render(from: number, to: number): void {
    this.shownFrom = from;
    this.shownTo = to;
    this.body.style.height = `${this.rows.length * ROW}px`;
    /* A group of rows has some. */
    if (this.rows.length) this.body.setAttribute("role", "rowgroup");
    else this.body.removeAttribute("role");
    const made: HTMLElement[] = [];
    for (let i = from; i < to; i++) made.push(this.row(i));
    if (this.rows.length === 0) made.push(h("p", { class: "empty" }, this.all.length ? "Nothing matches." : "There is nothing here: no accesses were sampled under this selection."));
    clear(this.body, made);
  }

  private row(i: number): HTMLElement {
    const row = this.rows[i]!;
    const { columns, href, rowClass } = this.options;
    const link = href(row);
    const cells = columns.map((column, c) => {
      const value = column.value(row), text = column.text ? column.text(row) : String(value);
      const note = column.note?.(row);
      const share = column.bar?.(row);
      const cell = h("div", { class: `td${column.minor ? " minor" : ""}${typeof value === "number" ? " num" : ""}`, role: "gridcell", title: column.wide ? (note ? `${text}  ${note}` : text) : null });
      if (share !== undefined) {
        const bar = h("span", { class: `bar ${column.colour ?? ""}`, "aria-hidden": true });
        bar.style.width = `${Math.min(100, Math.max(0, share * 100)).toFixed(1)}%`;
        cell.append(bar);
      }
      const content = c === 0 && link ? h("a", { href: link, tabindex: -1 }, text) : h("span", null, text);
      cell.append(content);
      if (note) cell.append(h("span", { class: "note" }, note));
      return cell;
    });
    const element = h("div", { class: `tr ${rowClass?.(row) ?? ""}${i === this.active ? " active" : ""}`, role: "row", "aria-rowindex": i + 2, onclick: (event: MouseEvent) => {
      if (link && !(event.target instanceof HTMLAnchorElement)) location.hash = link;
    } }, cells);
    element.style.transform = `translateY(${i * ROW}px)`;
    return element;
  }

  /* Down, up, page, ends; Enter opens. */
  key(event: KeyboardEvent): boolean {
    if (event.target instanceof HTMLButtonElement) return false;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === "Enter") {
      const link = this.rows[this.active] && this.options.href(this.rows[this.active]!);
      if (link) location.hash = link;
      event.preventDefault();
      return true;
    }
    const step = steps[event.key];
    if (step === undefined || this.rows.length === 0) return false;
    this.active = Math.max(0, Math.min(this.rows.length - 1, this.active + step));
    const top = this.active * ROW, view = this.scroller.clientHeight - ROW * 1.2;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + ROW > this.scroller.scrollTop + view) this.scroller.scrollTop = top + ROW - view;
    this.fill(true);
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}

/* What explanation.ts reads. */
function explanationOf<T>(column: Column<T>): Attributes {
  const word = column.term ?? column.title;
  return column.help || explained(word) ? { "data-term": word, "data-help": column.help } : { title: `Sort by ${column.title}` };
}

function isText<T>(column: Column<T>, rows: T[]): boolean {
  return column.wide === true || (rows.length > 0 && typeof column.value(rows[0]!) === "string");
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}
