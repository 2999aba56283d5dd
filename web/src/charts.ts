/* Small pictures as SVG: accesses from node to node, latencies, quality of an aggregation. Each has its numbers as a table beside it. */
import { scaleLinear, scaleLog } from "d3-scale";
import { h, svg } from "./dom";
import { count, latency, percent, rate, short } from "./format";
import type { LatencyHead, Run } from "./model";
import { cssOf } from "./palette";

/* Accesses from each node (rows) to each home (columns). `most`: what is drawn strongest, shared by two runs that are compared. */
export function nodeMatrix(run: Run, most = largest(run.matrix)): HTMLElement {
  return matrixOf(run, run.matrix, most, "Accesses from each node to each node", short, (value) => `${count(value)} accesses`);
}

/* Bytes per second likewise; null where they are not known. */
export function bytesMatrix(run: Run): HTMLElement | null {
  return run.matrixBytes ? matrixOf(run, run.matrixBytes, largest(run.matrixBytes), "Bytes per second from each node to each node", (value) => (value / 1e9).toFixed(2), rate) : null;
}

function matrixOf(run: Run, matrix: number[][], most: number, caption: string, short: (value: number) => string, long: (value: number) => string): HTMLElement {
  const name = (i: number): string => run.nodeName(i);
  const columns = Math.max(0, ...matrix.map((row) => row.length));
  if (columns === 0) return h("p", { class: "empty" }, "No access has a known home node.");
  const total = matrix.flat().reduce((a, b) => a + b, 0) || 1;
  const head = h("tr", null, h("td", { class: "corner" }, "from ↓  to →"), Array.from({ length: columns }, (_, i) => h("th", { scope: "col" }, name(i))));
  const rows = matrix.map((row, from) => h("tr", null, h("th", { scope: "row" }, name(from)), Array.from({ length: columns }, (_, to) => {
    /* No stronger: the number on it must stay readable. */
    const value = row[to] ?? 0, strength = value > 0 ? 0.14 + 0.4 * Math.sqrt(value / most) : 0;
    const distance = run.distances[from]?.[to];
    const cell = h("td", { title: `${long(value)} from ${name(from)} to ${name(to)}, ${percent(value / total)} of all${distance ? `; distance ${distance}` : ""}` }, value ? short(value) : h("span", { class: "quiet" }, "·"));
    cell.style.background = value > 0 ? cssOf("remote", from === to ? 0 : 1, strength) : "";
    return cell;
  })));
  return h("div", { class: "scroll-x" }, h("table", { class: `matrix${columns > 10 ? " tight" : ""}` }, h("caption", { class: "sr" }, caption), h("thead", null, head), h("tbody", null, rows)));
}

export function largest(matrix: number[][]): number {
  return Math.max(1, ...matrix.flat());
}

const WIDTH = 460;
const HEIGHT = 170;

/* Latencies of local and remote accesses on a logarithmic axis. `domain` and `most` are shared by runs that are compared. */
export function latencyHistogram(head: LatencyHead, options: { domain?: [number, number]; most?: number } = {}): HTMLElement {
  const [low, high] = options.domain ?? latencyDomain(head);
  const most = options.most ?? histogramMost(head);
  const x = scaleLog([low, high], [36, WIDTH - 8]).clamp(true);
  const y = scaleLinear([0, most], [HEIGHT - 22, 8]);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": sentence(head) });
  for (const tick of y.ticks(3)) {
    picture.append(svg("line", { x1: 36, x2: WIDTH - 8, y1: y(tick), y2: y(tick), class: "gridline" }), svg("text", { x: 32, y: y(tick) + 3.5, class: "tick end" }, short(tick)));
  }
  head.bounds.forEach((bound, i) => {
    const lower = i === 0 ? bound / 2 : head.bounds[i - 1]!;
    if (bound < low || lower > high) return;
    const left = x(Math.max(low, lower)), width = Math.max(1, x(bound) - left - 1);
    let base = 0;
    for (const kind of ["local", "remote", "unknown"] as const) {
      const value = head[kind]?.[i] ?? 0;
      if (!value) continue;
      picture.append(svg("rect", { x: left, width, y: y(base + value), height: Math.max(0.6, y(base) - y(base + value)), class: `fill-${kind}` }, svg("title", null, `${latency(lower, head.unit)} – ${latency(bound, head.unit)}: ${count(value)} ${kind}`)));
      base += value;
    }
  });
  const decades = x.ticks().filter((tick) => /^[125]/.test(tick.toExponential()));
  let lastEnd = -1;
  for (const tick of decades) {
    if (x(tick) - lastEnd < 44) continue;
    lastEnd = x(tick);
    const edge = x(tick) > WIDTH - 30;
    picture.append(svg("text", { x: edge ? WIDTH - 4 : x(tick), y: HEIGHT - 6, class: edge ? "tick end" : "tick middle" }, latency(tick, head.unit)));
  }
  for (const [mark, value] of [["median", head.p50], ["95%", head.p95], ["99%", head.p99]] as const) {
    if (!value || value < low || value > high) continue;
    picture.append(svg("line", { x1: x(value), x2: x(value), y1: 6, y2: HEIGHT - 22, class: "mark" }), svg("text", { x: x(value) + 3, y: mark === "median" ? 14 : mark === "95%" ? 26 : 38, class: "tick" }, mark));
  }
  return h("div", null, picture, h("p", { class: "legend" }, swatch("local"), "local", swatch("remote"), "remote", head.unknown?.some((v) => v > 0) ? [swatch("unknown"), "home node not known"] : null), asTable(head));
}

export function latencyDomain(head: LatencyHead): [number, number] {
  let first = head.bounds.length, last = 0;
  head.bounds.forEach((_, i) => {
    if ((head.local[i] ?? 0) + (head.remote[i] ?? 0) + (head.unknown?.[i] ?? 0) > 0) {
      first = Math.min(first, i);
      last = Math.max(last, i);
    }
  });
  const low = Math.max(0.5, first > 0 ? head.bounds[first - 1] ?? 1 : (head.bounds[0] ?? 2) / 2);
  return [low, Math.max(low * 4, head.bounds[last] ?? low * 4)];
}

export function histogramMost(head: LatencyHead): number {
  return Math.max(1, ...head.bounds.map((_, i) => (head.local[i] ?? 0) + (head.remote[i] ?? 0) + (head.unknown?.[i] ?? 0)));
}

function sentence(head: LatencyHead): string {
  return `Histogram of latencies. Median ${latency(head.p50 ?? 0, head.unit)}, 95% are below ${latency(head.p95 ?? 0, head.unit)}, 99% below ${latency(head.p99 ?? 0, head.unit)}.`;
}

function asTable(head: LatencyHead): HTMLElement {
  const rows = head.bounds.map((bound, i) => ({ bound, local: head.local[i] ?? 0, remote: head.remote[i] ?? 0 })).filter((row) => row.local + row.remote > 0);
  return h("details", { class: "as-table" }, h("summary", null, "As a table"),
    h("table", { class: "plain" }, h("thead", null, h("tr", null, ["up to", "local", "remote"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", null, rows.map((row) => h("tr", null, h("td", null, latency(row.bound, head.unit)), h("td", null, count(row.local)), h("td", null, count(row.remote)))))));
}

export function swatch(name: string): HTMLElement {
  return h("span", { class: `swatch fill-${name}`, "aria-hidden": true });
}

/* A share as a ring. */
export function ring(share: number, label: string): SVGElement {
  const r = 42, around = 2 * Math.PI * r;
  return svg("svg", { viewBox: "0 0 110 110", class: "ring", role: "img", "aria-label": label },
    svg("circle", { cx: 55, cy: 55, r, class: "ring-ground" }),
    svg("circle", { cx: 55, cy: 55, r, class: "ring-value", "stroke-dasharray": `${share * around} ${around}`, transform: "rotate(-90 55 55)" }),
    svg("text", { x: 55, y: 62, class: "ring-text" }, percent(share)));
}
