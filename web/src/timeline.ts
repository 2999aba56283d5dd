/* The strip on top: all accesses over time, local and remote, with the phases; a range of time is chosen here for every view. */
import { scaleLinear } from "d3-scale";
import type { Context } from "./context";
import { fitCanvas, fitText, h } from "./dom";
import { count, percent, seconds } from "./format";
import type { Run } from "./model";
import { theme } from "./palette";

const HEIGHT = 58;
const PLOT = 30;
const SIDE = 12;

interface Flow { local: Float64Array; remote: Float64Array; most: number }

export class Timeline {
  readonly canvas = h("canvas", { class: "timeline", tabindex: 0, role: "slider", "aria-label": "Range of time", "aria-valuemin": 0, "aria-orientation": "horizontal" });
  readonly element = h("section", { class: "timeline-frame", "aria-label": "Time" }, this.canvas);
  private width = 0;
  private flow: Flow | null = null;
  private flowKey = "";

  constructor(private readonly context: Context) {
    this.attach();
  }

  resize(): void {
    this.width = Math.floor(this.element.getBoundingClientRect().width);
    this.draw();
  }

  draw(): void {
    if (this.width === 0) return;
    const run = this.context.run(), { state } = this.context.store;
    const colours = theme();
    const context = fitCanvas(this.canvas, this.width, HEIGHT);
    const x = scaleLinear([0, run.duration], [SIDE, this.width - SIDE]);
    context.clearRect(0, 0, this.width, HEIGHT);
    const flow = this.flowOf(run);
    if (flow) this.drawFlow(context, run, flow, x);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawPhases(context, run, x);
    context.fillStyle = colours.muted;
    context.textAlign = "center";
    for (const tick of x.ticks(Math.max(2, Math.floor(this.width / 110)))) {
      const text = seconds(tick, run.duration), half = context.measureText(text).width / 2;
      context.fillText(text, Math.max(2 + half, Math.min(this.width - 2 - half, x(tick))), HEIGHT - 6);
    }
    if (state.time) this.drawSelection(context, x(state.time[0]), x(state.time[1]));
    const text = state.time ? `${seconds(state.time[0], run.duration)} to ${seconds(state.time[1], run.duration)}` : "the whole run";
    this.canvas.setAttribute("aria-valuetext", text);
    this.canvas.setAttribute("aria-valuemax", String(run.duration));
    this.canvas.setAttribute("aria-valuenow", String(state.time ? state.time[0] : 0));
  }

  private drawFlow(context: CanvasRenderingContext2D, run: Run, flow: Flow, x: (t: number) => number): void {
    const colours = theme();
    const map = run.maps[0]!;
    const bars = flow.local.length, seconds = (map.end - map.start) / bars;
    for (const [series, base, colour] of [[flow.local, flow.remote, colours.local], [flow.remote, null, colours.remote]] as const) {
      context.fillStyle = colour;
      for (let s = 0; s < bars; s++) {
        if (series[s] === 0) continue;
        const from = x(map.start + s * seconds), to = x(map.start + (s + 1) * seconds);
        const under = Math.min(1, (base?.[s] ?? 0) / flow.most) * PLOT;
        const height = Math.min(PLOT - under, Math.max(0.7, (series[s]! / flow.most) * PLOT));
        context.fillRect(from, PLOT + 2 - under - height, Math.max(0.8, to - from - 0.5), height);
      }
    }
  }

  private drawPhases(context: CanvasRenderingContext2D, run: Run, x: (t: number) => number): void {
    const colours = theme();
    context.textAlign = "left";
    run.phases.forEach((phase, i) => {
      const from = x(phase.start_s), to = x(phase.end_s);
      context.fillStyle = i % 2 ? colours.raised : colours.selected;
      context.fillRect(from, PLOT + 3, Math.max(1, to - from - 1), 13);
      context.fillStyle = colours.text;
      context.fillText(fitText(context, phase.name, to - from - 8), from + 4, PLOT + 10);
    });
  }

  private drawSelection(context: CanvasRenderingContext2D, from: number, to: number): void {
    const colours = theme();
    context.fillStyle = colours.page;
    context.globalAlpha = 0.72;
    context.fillRect(0, 0, from, PLOT + 16);
    context.fillRect(to, 0, this.width - to, PLOT + 16);
    context.globalAlpha = 1;
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect(from, 1, Math.max(1, to - from), PLOT + 15);
    context.lineWidth = 1;
  }

  /* Accesses a bar, of the chosen thread and object; a bar is several slices where accesses are few. */
  private flowOf(run: Run): Flow | null {
    const map = run.maps[0];
    if (!map) return null;
    const { thread, object } = this.context.store.state;
    const key = [run.index, thread, object].join();
    if (this.flow && this.flowKey === key) return this.flow;
    const bars = Math.max(20, Math.min(map.slices, Math.round(this.width / 4), Math.round(map.cells / 12)));
    const local = new Float64Array(bars), remote = new Float64Array(bars);
    for (let i = 0; i < map.cells; i++) {
      if (thread >= 0 && map.cellThread[i] !== thread) continue;
      if (object >= 0 && map.leafObject[map.cellLeaf[i]!] !== object) continue;
      const slice = Math.floor((map.cellSlice[i]! * bars) / map.slices), far = map.cellRemote[i]!;
      remote[slice]! += far;
      local[slice]! += Math.max(0, map.cellReads[i]! + map.cellWrites[i]! - far);
    }
    /* One burst, such as the faults of a start, must not flatten all the rest: bars above the height are cut. */
    const totals = Array.from(local, (value, s) => value + remote[s]!).filter((value) => value > 0).sort((a, b) => a - b);
    const most = Math.max(1, Math.min(totals[totals.length - 1] ?? 1, 1.6 * (totals[Math.floor(totals.length * 0.96)] ?? 1)));
    this.flowKey = key;
    return (this.flow = { local, remote, most });
  }

  private attach(): void {
    const { store, tip } = this.context;
    const timeAt = (event: PointerEvent): number => {
      const left = this.canvas.getBoundingClientRect().left;
      const share = (event.clientX - left - SIDE) / (this.width - 2 * SIDE);
      return Math.max(0, Math.min(1, share)) * this.context.run().duration;
    };
    let from = -1, edge: [number, number] | null = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      from = timeAt(event);
      const grip = (8 / this.width) * this.context.run().duration;
      const { time } = store.state;
      /* Near an edge of the old range: that edge moves, the other stays. */
      edge = time && Math.abs(from - time[0]) < grip ? [time[1], 0] : time && Math.abs(from - time[1]) < grip ? [time[0], 0] : null;
      if (edge) from = edge[0];
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const now = timeAt(event);
      if (from < 0) return this.hover(event, now);
      if (Math.abs(now - from) > this.context.run().duration / 400) store.set({ time: [Math.min(from, now), Math.max(from, now)] });
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (from >= 0 && !edge && Math.abs(timeAt(event) - from) <= this.context.run().duration / 400) {
        const phase = this.context.run().phases.find((p) => from >= p.start_s && from < p.end_s);
        const onPhase = event.offsetY > PLOT && event.offsetY < PLOT + 17;
        store.set({ time: onPhase && phase ? [phase.start_s, phase.end_s] : null });
      }
      from = -1;
    });
    this.canvas.addEventListener("pointerleave", () => tip.hide());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private hover(event: PointerEvent, now: number): void {
    const run = this.context.run(), map = run.maps[0], flow = this.flow;
    if (!map || !flow) return;
    const slice = Math.max(0, Math.min(flow.local.length - 1, Math.floor(((now - map.start) / (map.end - map.start)) * flow.local.length)));
    const local = flow.local[slice]!, remote = flow.remote[slice]!;
    const phase = run.phases.find((p) => now >= p.start_s && now < p.end_s);
    this.context.tip.show(event.clientX, event.clientY, seconds(now, run.duration), [
      ["accesses", count(local + remote)], ["remote", percent(local + remote ? remote / (local + remote) : 0)],
      ...(phase ? [["phase", phase.name] as [string, string]] : []), "Drag to choose a range of time; click a phase to choose it.",
    ]);
  }

  private key(event: KeyboardEvent): void {
    const { store } = this.context, { duration } = this.context.run();
    const step = duration / 50;
    const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Escape" || event.key === "Delete") store.set({ time: null });
    else if (!way) return;
    else {
      const [from, to] = store.state.time ?? [0, duration / 5];
      const length = to - from;
      if (!store.state.time) store.set({ time: [0, duration / 5] });
      else if (event.shiftKey) store.set({ time: [from, Math.min(duration, Math.max(from + step, to + way * step))] });
      else {
        const start = Math.max(0, Math.min(duration - length, from + way * step));
        store.set({ time: [start, start + length] });
      }
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
