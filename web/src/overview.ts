/* The first look: how remote, between which nodes, how slow, what is wrong and what to do about it. */
import { bytesMatrix, latencyHistogram, ring, swatch, nodeMatrix } from "./charts";
import type { Context, View } from "./context";
import { clear, h, sentenceOf, tableHead, term } from "./dom";
import { count, latency, percent, place, seconds } from "./format";
import { directed, meanLatency, remoteShare, type Advice, type Finding, type Phase, type Run } from "./model";
import type { State } from "./state";

export class Overview implements View {
  readonly element = h("section", { class: "view overview" });
  private shown = "";

  constructor(private readonly context: Context) {}

  update(state: State): void {
    const run = this.context.run();
    const key = `${run.index}${state.theme}${matchMedia("(prefers-color-scheme: dark)").matches}`;
    if (this.shown === key) return this.relink(run);
    this.shown = key;
    clear(this.element,
      h("h2", { class: "sr" }, "Overview"),
      run.verdict ? this.verdict(run.verdict) : null,
      h("div", { class: "cards" }, this.remoteCard(run), this.nodesCard(run), this.latencyCard(run)),
      h("div", { class: "findings-head" }, h("h3", null, run.findings.length ? [`${run.findings.length} `, term("finding", run.findings.length === 1 ? "finding" : "findings")] : term("findings", "Findings")), run.findings.length ? h("p", { class: "hint" }, "Worst first.") : null),
      run.findings.length
        ? h("ol", { class: "findings" }, run.findings.map((finding, i) => this.finding(run, finding, i)))
        : h("p", { class: "empty" }, "No problem was found that is worth a change to the program."),
      this.phases(run));
  }

  /* The first sentence stands out; each of the others has a line of its own. */
  private verdict(verdict: NonNullable<Run["verdict"]>): HTMLElement {
    const [first, ...rest] = (verdict.lines ?? verdict.text).split("\n");
    const open = verdict.decided === false;
    return h("div", { class: `verdict ${open ? "open" : verdict.numa_bound ? "bad" : "good"}` },
      h("span", { class: "verdict-mark", "aria-hidden": true }, open ? "?" : verdict.numa_bound ? "▲" : "✓"),
      h("div", null, h("p", null, sentenceOf(first ?? "")), rest.map((line) => h("p", { class: "verdict-more" }, sentenceOf(line)))));
  }

  /* Links carry the whole state, which changes under them. */
  private relink(run: Run): void {
    for (const link of this.element.querySelectorAll<HTMLAnchorElement>("a[data-finding]")) {
      const finding = run.findings[Number(link.dataset["finding"])];
      if (finding) link.href = link.dataset["to"] === "object" ? this.objectLink(finding) : this.timeLink(finding);
    }
    for (const link of this.element.querySelectorAll<HTMLAnchorElement>("a[data-phase]")) {
      const phase = run.phases[Number(link.dataset["phase"])];
      if (phase) link.href = this.phaseLink(phase);
    }
  }

  private remoteCard(run: Run): HTMLElement {
    const { totals } = run;
    const share = remoteShare(totals);
    const unit = run.head.latency_unit ?? "ns";
    const fact = (label: string, text: string, word = label): HTMLElement => h("div", { class: "fact" }, h("dt", null, term(word, label)), h("dd", null, text));
    return h("article", { class: "card" }, h("h3", null, "Remote accesses"),
      h("div", { class: "remote-card" }, ring(share, `${percent(share)} of the accesses with a known home node are remote`),
        h("dl", { class: "facts" },
          fact("sampled accesses", count(totals.samples), "sample"), fact("remote", count(totals.remote)),
          run.remoteBytes === null ? null : fact("of bytes, remote", percent(run.remoteBytes), "traffic"),
          fact("reads / writes", `${directed(totals, "reads")} / ${directed(totals, "writes")}`),
          fact("mean latency", latency(meanLatency(totals), unit), "latency"),
          fact("threads, objects", `${count(run.threads.length)}, ${count(run.objects.length + run.objectsSkipped)}`),
          fact("home not known", percent(1 - totals.home_known / Math.max(1, totals.samples)), "home node"))));
  }

  private nodesCard(run: Run): HTMLElement {
    const bytes = bytesMatrix(run);
    return h("article", { class: "card" }, h("h3", null, "Accesses from ", term("node"), " to node"), nodeMatrix(run), bytes ? [h("h3", null, run.bytesAtLeast ? "GB/s from node to node, at least" : "GB/s from node to node"), bytes] : null, h("p", { class: "legend" }, swatch("local"), "own node", swatch("remote"), "another node"));
  }

  private latencyCard(run: Run): HTMLElement {
    return h("article", { class: "card" }, h("h3", null, term("latency", "Latency")),
      run.latency ? latencyHistogram(run.latency) : h("p", { class: "empty" }, "No sample carries a latency: this source does not measure it."));
  }

  private phases(run: Run): HTMLElement | null {
    if (run.phases.length === 0) return null;
    const cell = (text: string): HTMLElement => h("td", { class: "num" }, text);
    return h("article", { class: "card phases" }, h("h3", null, run.phases.length > 1 ? [`${run.phases.length} `, term("phase", "phases")] : ["One ", term("phase")]),
      h("div", { class: "scroll-x" }, h("table", { class: "list fit" }, tableHead("Time", "What happens", ">Accesses", ">Remote %"),
        h("tbody", null, run.phases.map((phase, i) => h("tr", null,
          h("td", { class: "mono" }, `${seconds(phase.start_s, run.duration)} – ${seconds(phase.end_s, run.duration)}`),
          h("td", null, h("a", { href: this.phaseLink(phase), "data-phase": i, title: "This phase in the map" }, phase.name)),
          cell(phase.samples ? count(phase.samples) : "none sampled"),
          cell(phase.samples ? percent((phase.remote ?? 0) / phase.samples) : "–")))))));
  }

  private phaseLink(phase: Phase): string {
    return this.context.store.link({ view: "map", time: [phase.start_s, phase.end_s], x: [phase.start_s, phase.end_s], y: null });
  }

  private objectLink(finding: Finding): string {
    return this.context.store.link({ view: "object", item: finding.object });
  }

  private timeLink(finding: Finding): string {
    return this.context.store.link({ view: "map", time: [finding.from_s ?? 0, finding.to_s ?? 1], object: finding.object, colour: "remote", x: null, y: null });
  }

  private finding(run: Run, finding: Finding, index: number): HTMLElement {
    const where = place(finding.file, finding.line);
    const link = (to: "object" | "time", text: string): HTMLElement => h("a", { class: "button small", href: to === "object" ? this.objectLink(finding) : this.timeLink(finding), "data-finding": index, "data-to": to }, text);
    const hasTime = finding.from_s !== null && finding.from_s !== undefined && finding.to_s !== null && finding.to_s !== undefined && finding.to_s > finding.from_s;
    return h("li", { class: "finding" },
      h("div", { class: "finding-head" },
        h("span", { class: "pattern" }, term(finding.pattern, words(finding.pattern))),
        h("strong", null, finding.name), where ? h("code", { class: "where" }, where) : null,
        h("span", { class: "grow" }),
        finding.share_of_remote !== undefined ? h("span", { class: "measure" }, h("b", null, percent(finding.share_of_remote)), " ", term("of remote")) : null,
        finding.then ? h("span", { class: "measure" }, h("b", null, finding.then)) : finding.lost_time_share !== undefined && finding.lost_time_share > 0 ? h("span", { class: "measure" }, "≤ ", h("b", null, percent(finding.lost_time_share)), " ", term("of run time")) : null,
        finding.confidence !== undefined ? h("span", { class: "measure", }, percent(finding.confidence), " ", term("confidence", "sure")) : null),
      finding.text ? h("p", null, `${sentence(finding.text)}${/[.!?]$/.test(finding.text) ? "" : "."}`) : null,
      finding.evidence && finding.evidence !== finding.text ? h("p", { class: "evidence" }, sentenceOf(finding.evidence)) : null,
      finding.instead ? h("p", { class: "advice" }, finding.instead) : null,
      finding.advice?.[0] ? adviceOf(finding.advice[0], true) : null,
      (finding.advice?.length ?? 0) > 1 ? h("details", null, h("summary", null, `Other ways: ${finding.advice!.slice(1).map((advice) => words(advice.action)).join(", ")}`), finding.advice!.slice(1).map((advice) => adviceOf(advice, false))) : null,
      finding.gain ? h("p", { class: "hint" }, finding.gain) : null,
      finding.against?.length ? h("details", null, h("summary", null, "What would not help, and why"), finding.against.map((advice) => h("p", { class: "against" }, h("b", null, term(advice.action, words(advice.action))), " – ", advice.why ?? advice.text ?? ""))) : null,
      h("div", { class: "links" },
        finding.object >= 0 && run.object(finding.object) ? link("object", "Its object") : null,
        hasTime ? link("time", `In the map, ${seconds(finding.from_s!, run.duration)} – ${seconds(finding.to_s!, run.duration)}`) : null));
  }
}

function words(action: string): string {
  return action.replaceAll("-", " ");
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function adviceOf(advice: Advice, best: boolean): HTMLElement {
  return h("div", { class: `advice${best ? " best" : ""}` },
    h("p", null, h("b", null, advice.text ? sentence(advice.text) : sentence(words(advice.action))), advice.why ? h("span", { class: "hint" }, ` ${sentence(advice.why)}.`) : null),
    advice.code ? h("pre", null, h("code", null, advice.code)) : null);
}
