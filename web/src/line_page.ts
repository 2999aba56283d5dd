/* A line's own page: the source of its file around the lines that access memory, with figures beside them, and links that editors open. */
import { h, tableHead } from "./dom";
import { count, latency, percent, place, rate } from "./format";
import { meanLatency, remoteShare, type Func, type Run, type SourceText } from "./model";
import { OwnPage } from "./own_page";
import type { State } from "./state";

const EDITORS: Record<State["editor"], (file: string, line: number) => string> = {
  vscode: (file, line) => `vscode://file${encodeURI(file)}:${line}`,
  jetbrains: (file, line) => `idea://open?file=${encodeURIComponent(file)}&line=${line}`,
  textmate: (file, line) => `txmt://open?url=${encodeURIComponent(`file://${file}`)}&line=${line}`,
};

export class LinePage extends OwnPage {
  protected build(run: Run, index: number): HTMLElement[] | null {
    const line = run.codeLines[index];
    if (!line) return null;
    const file = line.file ?? "";
    const beside = new Map(run.codeLines.filter((row) => row.file === file && row.line).map((row) => [row.line!, row]));
    const holds = (piece: SourceText): boolean => (line.line ?? 0) >= piece.first && (line.line ?? 0) < piece.first + piece.text.length;
    const pieces = run.sources.filter((piece) => piece.file === file && Array.isArray(piece.text)).sort((a, b) => Number(holds(b)) - Number(holds(a)));
    return [
      h("div", { class: "own-head" }, this.link("← Lines", { view: "lines", item: -1 }, null), h("h2", null, place(file, line.line) || line.function), h("code", { class: "where" }, file), h("span", { class: "grow" }),
        this.link("In the flame graph", { view: "flame", query: line.function, focus: 0 }), file.startsWith("/") ? this.editors() : null),
      h("p", { class: "own-sentence" }, `${line.function}: ${count(line.samples)} sampled accesses, `, h("b", null, percent(remoteShare(line))), " of them remote."),
      ...(pieces.length ? pieces.map((piece) => this.piece(run, file, piece.first, piece.text, beside, line))
        : [this.piece(run, file, 0, [], beside, line), h("p", { class: "hint" }, "The source was not at hand when this page was made: lines have their function instead.")])];
  }

  private editors(): HTMLElement {
    const { store } = this.context;
    const choice = h("select", { class: "select", "aria-label": "Editor that line numbers open", onchange: () => {
      store.set({ editor: choice.value as State["editor"] });
      this.aim();
    } }, Object.keys(EDITORS).map((name) => h("option", { value: name, selected: name === store.state.editor }, name)));
    return choice;
  }

  /* Links to the editor follow the choice. */
  private aim(): void {
    for (const link of this.element.querySelectorAll<HTMLAnchorElement>("a[data-line]")) link.href = EDITORS[this.context.store.state.editor](link.dataset["file"]!, Number(link.dataset["line"]));
  }

  private piece(run: Run, file: string, first: number, text: string[], beside: Map<number, Func>, chosen: Func): HTMLElement {
    const unit = run.head.latency_unit ?? "ns", all = Math.max(1, run.totals.samples), bytes = run.codeLines.some((row) => "bytes_s" in row);
    const numbers = text.length ? text.map((_, i) => first + i) : [...beside.keys()].sort((a, b) => a - b);
    return h("article", { class: "card" }, h("div", { class: "scroll-x" }, h("table", { class: "list source" }, tableHead(">Accesses", ">Remote %", ">Latency", ...(bytes ? [">Traffic"] : []), ">Line", "Source"),
      h("tbody", null, numbers.map((number, i) => {
        const row = beside.get(number), share = row ? row.samples / all : 0;
        const cells = row ? [percent(share), row.home_known ? percent(remoteShare(row)) : "–", latency(meanLatency(row), unit), ...(bytes ? [rate(row.bytes_s)] : [])] : Array<string>(bytes ? 4 : 3).fill("");
        return h("tr", { class: number === chosen.line ? "chosen" : share >= 0.05 ? "hot" : null }, cells.map((cell) => h("td", { class: "num" }, cell)),
          h("td", { class: "num" }, file.startsWith("/") ? h("a", { "data-line": number, "data-file": file, href: EDITORS[this.context.store.state.editor](file, number), title: "Open in the editor" }, String(number)) : String(number)),
          h("td", { class: "mono code" }, text[i] ?? row?.function ?? ""));
      })))));
  }
}
