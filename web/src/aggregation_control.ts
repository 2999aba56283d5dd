/* The slider between precise and simple (C18), with the curve of what is gained and lost. */
import { partitionAt } from "./blocks";
import type { Context } from "./context";
import { clear, h, svg } from "./dom";
import { percent, plural } from "./format";
import type { Aggregation, SearchHead } from "./memory_map";

const WIDTH = 168;
const HEIGHT = 34;

export class AggregationControl {
  /* By the number of the partition, not by p: those that differ are often close together. */
  readonly slider = h("input", { type: "range", min: 0, max: 1, step: 1, "aria-label": "Aggregation, from precise to simple", "data-aggregation": true,
    oninput: () => this.choose(Number(this.slider.value)) });
  private readonly curve = h("div", { class: "curve" });
  private readonly text = h("output", { class: "aggregation-text" });
  readonly element = h("div", { class: "aggregation" }, h("div", { class: "aggregation-row" }, h("span", { class: "label" }, "precise"), h("div", { class: "aggregation-stack" }, this.curve, this.slider), h("span", { class: "label" }, "simple")), this.text);
  private aggregation: Aggregation | null = null;
  private marker: SVGElement | null = null;

  constructor(private readonly context: Context) {}

  show(aggregation: Aggregation | null): void {
    const { p } = this.context.store.state;
    this.element.hidden = !aggregation;
    if (!aggregation) return;
    if (this.aggregation !== aggregation) {
      this.aggregation = aggregation;
      this.slider.max = String(aggregation.partitions.length - 1);
      this.drawCurve(aggregation);
    }
    const index = partitionAt(aggregation, p), partition = aggregation.partitions[index]!;
    this.slider.value = String(index);
    this.marker?.setAttribute("x1", String(placeOf(aggregation, index)));
    this.marker?.setAttribute("x2", String(placeOf(aggregation, index)));
    this.text.textContent = index === 0 ? "every cell" : `${plural(partition.blocks, "block")} · ${percent(partition.gain)} simpler · ${percent(partition.loss)} lost`;
    this.text.title = limits(aggregation.search);
    if (index > 0 && this.text.title) this.text.textContent += " *";
    this.slider.setAttribute("aria-valuetext", `${this.text.textContent}${this.text.title ? `. ${this.text.title}` : ""}`);
  }

  /* To the next partition that is another picture. */
  step(way: number): void {
    if (this.aggregation) this.choose(partitionAt(this.aggregation, this.context.store.state.p) + way);
  }

  private choose(index: number): void {
    const partitions = this.aggregation?.partitions ?? [];
    const partition = partitions[Math.max(0, Math.min(partitions.length - 1, index))];
    if (partition) this.context.store.set({ p: partition.p });
  }

  private drawCurve(aggregation: Aggregation): void {
    const path = (value: (i: number) => number): string => aggregation.partitions.map((_, i) => {
      return `${i === 0 ? "M" : "L"}${placeOf(aggregation, i).toFixed(1)} ${(HEIGHT - 2 - value(i) * (HEIGHT - 4)).toFixed(1)}`;
    }).join("");
    this.marker = svg("line", { y1: 0, y2: HEIGHT, class: "curve-marker" });
    clear(this.curve, svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": "What each degree of aggregation gains in simplicity (solid) and loses in information (dashed)" },
      svg("path", { d: path((i) => aggregation.partitions[i]!.gain), class: "curve-gain" }), svg("path", { d: path((i) => aggregation.partitions[i]!.loss), class: "curve-loss" }), this.marker));
  }
}

/* Where the best of all partitions would have taken too long: what it is the best of. */
function limits(search: SearchHead): string {
  if (search.exact !== false) return "";
  const parts = [
    (search.group ?? 1) > 1 ? `blocks longer than ${search.group} slices begin and end where groups of ${search.group} do` : "",
    (search.least_leaves ?? 1) > 1 ? `groups of up to ${search.least_leaves} rows are not split but in full detail` : ""].filter(Boolean);
  return `* Not the best of all partitions, but of those in which ${parts.join(" and ")}. No other is better by more than ${percent(search.bound ?? 1)} of what can be gained and lost.`;
}

function placeOf(aggregation: Aggregation, index: number): number {
  return (index / Math.max(1, aggregation.partitions.length - 1)) * WIDTH;
}
