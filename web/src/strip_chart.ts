/* Rows over time: one strip for each thread, node or object, coloured as the maps are. */
import { scaleLinear } from "d3-scale";
import { swatch } from "./charts";
import type { Context } from "./context";
import { fitCanvas, fitText, h } from "./dom";
import { count, percent, seconds } from "./format";
import type { Run } from "./model";
import { cssOf, theme } from "./palette";
import { sum, type Strip } from "./strips";

const ROW = 20;
const HEAD = 18;
const MOST = 40;

export class StripChart {
  private readonly canvas = h("canvas", { class: "strips", role: "img" });
  readonly element: HTMLElement;
  private width = 0;
  private names = 0;

  constructor(private readonly context: Context, private readonly run: Run, private readonly strips: Strip[], private readonly colour: "access" | "remote", label: string, private readonly pick?: (strip: Strip) => void) {
    this.canvas.setAttribute("aria-label", `${label}, over time: ${strips.slice(0, 8).map((strip) => `${strip.name} ${count(sum(strip.samples))} accesses, ${percent(sum(strip.remote) / Math.max(1, sum(strip.samples)))} remote`).join("; ")}.`);
    this.element = h("div", { class: "strip-frame" }, this.canvas,
      h("p", { class: "legend" }, colour === "access" ? [swatch("read"), "reads", swatch("write"), "writes"] : [swatch("local"), "local", swatch("remote"), "remote"], h("span", { class: "hint" }, " · stronger: more accesses")),
      strips.length > MOST ? h("p", { class: "hint" }, `The ${MOST} busiest of ${strips.length}.`) : null);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => context.tip.hide());
    this.canvas.addEventListener("click", (event) => {
      const strip = this.rows()[Math.floor((event.offsetY - HEAD) / ROW)];
      if (strip && this.pick) this.pick(strip);
    });
    new ResizeObserver(() => this.resize()).observe(this.element);
    if (pick) this.canvas.style.cursor = "pointer";
  }

  private rows(): Strip[] {
    return this.strips.slice(0, MOST);
  }

  resize(): void {
    const width = Math.floor(this.element.getBoundingClientRect().width);
    if (width === this.width) return;
    this.width = width;
    this.draw();
  }

  draw(): void {
    if (this.width === 0) return;
    const rows = this.rows(), colours = theme();
    const height = HEAD + rows.length * ROW + 2;
    const context = fitCanvas(this.canvas, this.width, height);
    context.clearRect(0, 0, this.width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.names = Math.min(this.width * 0.3, 12 + Math.max(...rows.map((strip) => context.measureText(strip.name).width)));
    const x = scaleLinear([0, this.run.duration], [this.names, this.width - 4]);
    context.fillStyle = colours.muted;
    context.textAlign = "center";
    for (const tick of x.ticks(Math.max(2, Math.floor((this.width - this.names) / 110)))) {
      const text = seconds(tick, this.run.duration), half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(this.width - half - 2, Math.max(this.names + half, x(tick))), HEAD / 2);
    }
    let most = 1;
    for (const strip of rows) for (const total of strip.samples) most = Math.max(most, total);
    const slices = rows[0]?.samples.length ?? 1;
    const width = (this.width - 4 - this.names) / slices;
    rows.forEach((strip, i) => {
      const y = HEAD + i * ROW;
      context.fillStyle = colours.raised;
      context.fillRect(this.names, y + 1, this.width - 4 - this.names, ROW - 2);
      context.textAlign = "right";
      context.fillStyle = colours.text;
      context.fillText(fitText(context, strip.name, this.names - 8), this.names - 6, y + ROW / 2);
      for (let s = 0; s < slices; s++) {
        const total = strip.samples[s]!;
        if (total === 0) continue;
        const share = this.colour === "access" ? strip.writes[s]! / total : strip.remote[s]! / total;
        context.fillStyle = cssOf(this.colour, share, 0.3 + 0.7 * Math.sqrt(total / most));
        context.fillRect(this.names + s * width, y + 1, Math.max(1, width - 0.3), ROW - 2);
      }
    });
    const { time } = this.context.store.state;
    if (time) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 1.5;
      context.strokeRect(x(time[0]), HEAD, Math.max(1, x(time[1]) - x(time[0])), height - HEAD - 1);
    }
  }

  private hover(event: PointerEvent): void {
    const strip = this.rows()[Math.floor((event.offsetY - HEAD) / ROW)];
    if (!strip) return this.context.tip.hide();
    const slices = strip.samples.length;
    const slice = Math.floor(((event.offsetX - this.names) / (this.width - 4 - this.names)) * slices);
    const inside = slice >= 0 && slice < slices;
    const at = (series: Float64Array): number => (inside ? series[slice]! : sum(series));
    const total = at(strip.samples);
    const step = this.run.duration / slices;
    this.context.tip.show(event.clientX, event.clientY, strip.name, [
      ["time", inside ? `${seconds(slice * step, this.run.duration)} – ${seconds((slice + 1) * step, this.run.duration)}` : "whole run"],
      ["reads / writes", `${count(at(strip.reads))} / ${count(at(strip.writes))}`], ["remote", percent(at(strip.remote) / Math.max(1, total))]]);
  }
}
