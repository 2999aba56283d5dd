/* The lines of the program that access an object, with their threads and the nodes that these run on. */
import { h, tableHead } from "./dom";
import { count, latency, percent, place } from "./format";
import { directed, meanLatency, remoteShare, type Run, type Totals } from "./model";

const SHOWN = 24;

interface Use extends Totals { line: number; latency_sum: number; latency_count: number; threads: Set<number> }

function usesOf(run: Run, object: number): Use[] {
  const { chains } = run;
  const uses = new Map<number, Use>();
  for (let i = 0; chains && i < chains.object.length; i++) {
    const line = chains.line[i]!;
    if (chains.object[i] !== object || !run.codeLines[line]) continue;
    const use = uses.get(line) ?? { line, samples: 0, reads: 0, writes: 0, remote: 0, home_known: 0, latency_sum: 0, latency_count: 0, threads: new Set<number>() };
    use.reads += chains.reads[i]!;
    use.writes += chains.writes[i]!;
    use.samples += chains.samples[i]!;
    use.remote += chains.remote[i]!;
    use.home_known += chains.known[i]!;
    use.latency_sum += chains.latency[i]!;
    use.latency_count += chains.timed[i]!;
    use.threads.add(chains.thread[i]!);
    uses.set(line, use);
  }
  return [...uses.values()].sort((a, b) => b.samples - a.samples);
}

export function accessedAt(run: Run, object: number, link: (text: string, line: number) => HTMLElement): HTMLElement {
  const uses = usesOf(run, object), all = uses.reduce((sum, use) => sum + use.samples, 0);
  const nodes = (use: Use): string => [...new Set([...use.threads].map((thread) => run.threads[thread]?.node ?? -1))].filter((node) => node >= 0).sort((a, b) => a - b).map((node) => run.nodes[node]?.os_index ?? node).join(", ");
  const card = h("article", { class: "card" }, h("h3", null, "Accessed at"));
  if (uses.length === 0) {
    card.append(h("p", { class: "hint" }, run.chains ? "No line is known that accesses it." : "There are too many call chains for this page: numalens report object has them."));
    return card;
  }
  card.append(h("div", { class: "scroll-x" }, h("table", { class: "list" }, tableHead("Line", ">Share", ">Writes %", ">Remote %", ">Latency", ">Threads", "From nodes"),
    h("tbody", null, uses.slice(0, SHOWN).map((use) => {
      const row = run.codeLines[use.line]!, where = place(row.file, row.line);
      return h("tr", null, h("td", null, link(where || row.function, use.line), where ? h("span", { class: "note" }, ` ${row.function}`) : null), h("td", { class: "num" }, percent(use.samples / all)),
        h("td", { class: "num" }, directed(use, "writes")), h("td", { class: "num" }, use.home_known ? percent(remoteShare(use)) : "–"), h("td", { class: "num" }, latency(meanLatency(use), run.head.latency_unit ?? "ns")),
        h("td", { class: "num" }, count(use.threads.size)), h("td", null, nodes(use)));
    })))));
  if (uses.length > SHOWN) card.append(h("p", { class: "hint" }, `The ${SHOWN} hottest of ${uses.length}.`));
  return card;
}
