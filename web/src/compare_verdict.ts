/* What the comparison of two runs comes to: a sentence, and what became of the findings. */
import type { Context } from "./context";
import { h, sentenceOf, term } from "./dom";
import { remoteShare, type Comparison, type FindingFate, type Run } from "./model";

/* What is still there matters more than what is not. */
const FATES: [FindingFate["fate"], string][] = [["new", "new in B"], ["remains", "in both"], ["unsure", "not sure"], ["gone", "went away"]];

export function comparisonVerdict(comparison: Comparison, a: Run, b: Run): HTMLElement {
  const count = (fate: string): number => comparison.findings.filter((finding) => finding.fate === fate).length;
  const rose = comparison.remote_significant ? remoteShare(b.totals) - remoteShare(a.totals) : 0;
  const worse = count("new") > 0 || rose > 0, better = count("gone") > 0 || rose < 0;
  const open = worse === better || !comparison.comparable;
  return h("div", { class: `verdict ${open ? "open" : worse ? "bad" : "good"}` },
    h("span", { class: "verdict-mark", "aria-hidden": true }, open ? "=" : worse ? "▲" : "✓"),
    h("div", null, h("p", null, comparison.verdict),
      [comparison.more, comparison.proof, comparison.note].filter(Boolean).map((line) => h("p", { class: "verdict-more" }, sentenceOf(line!)))));
}

/* The findings of both runs, each once: new ones first. */
export function findingFates(context: Context, comparison: Comparison, a: Run, b: Run): HTMLElement | null {
  const { findings } = comparison;
  if (findings.length === 0) return null;
  const row = (fate: FindingFate, text: string): HTMLElement => {
    const run = fate.after >= 0 ? b : a;
    const object = run.findings[fate.after >= 0 ? fate.after : fate.before]?.object ?? -1;
    const name = object >= 0 ? h("a", { href: context.store.link({ view: "object", item: object, run: run.index, query: "", kind: "" }) }, fate.name) : fate.name;
    return h("tr", null, h("td", null, h("span", { class: `fate ${fate.fate}` }, text)), h("td", null, h("span", { class: "pattern" }, term(fate.pattern, fate.pattern.replaceAll("-", " ")))), h("td", null, h("strong", null, name)), h("td", null, fate.why ?? ""));
  };
  return h("article", { class: "card" }, h("h3", null, term("findings", "Findings")), h("div", { class: "scroll-x" }, h("table", { class: "list fates" },
    h("thead", { class: "sr" }, h("tr", null, ["In B", "Pattern", "What", "Why"].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", null, FATES.flatMap(([kind, text]) => findings.filter((finding) => finding.fate === kind).map((finding) => row(finding, text)))))));
}
