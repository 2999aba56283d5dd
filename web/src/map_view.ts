/* A map of memory over time on a canvas: cartography (C15) or Memory-Gantt (C14), by cells or by blocks of a partition. */
import { blockAt, buildBlocks, partitionAt, type Blocks } from "./blocks";
import type { Context } from "./context";
import { DeepZoom, type Detail } from "./deep_zoom";
import { fitCanvas, h } from "./dom";
import { address, bytes, count, latency, percent, plural, seconds } from "./format";
import { Fade } from "./fade";
import { attachGestures } from "./gestures";
import { buildGrid, type Grid } from "./grid";
import { cartographyLayout, ganttLayout, laneAt, type Layout } from "./layout";
import { drawBlockEdges, drawLives, drawNames, drawTimeAxis, drawTree, drawWords, treeNodeAt, treeWidth, type Frame } from "./map_axes";
import type { Aggregation, MemoryMap } from "./memory_map";
import { NONE, type Run } from "./model";
import { isDark, palette, theme } from "./palette";
import { Rasterizer } from "./raster";
import { byAccesses, summarise, type Summary } from "./summary";
import type { TipLine } from "./tooltip";

const HEAD = 40;
const FOOT = 6;
const NARROW = 560;
const ROWS_MOST = 1400;

const layouts = new WeakMap<MemoryMap, Partial<Record<"cartography" | "gantt", Layout>>>();

function layoutOf(map: MemoryMap, kind: "cartography" | "gantt"): Layout {
  let kept = layouts.get(map);
  if (!kept) layouts.set(map, (kept = {}));
  return (kept[kind] ??= kind === "gantt" ? ganttLayout(map) : cartographyLayout(map));
}

export class MapView {
  readonly canvas = h("canvas", { class: "map", tabindex: 0, role: "img", "aria-label": "Memory over time" });
  readonly element = h("div", { class: "map-frame" }, this.canvas);
  private readonly raster = new Rasterizer();
  private readonly deep: DeepZoom;
  private readonly partitions = new Map<number, Blocks>();
  private layout: Layout;
  private grid: Grid | null = null;
  private gridKey = "";
  private frame: Frame = { left: 0, top: 0, width: 1, height: 1, t0: 0, t1: 1, y0: 0, y1: 1 };
  private latencyRange: [number, number] = [1, 2];
  private band: [number, number, number, number] | null = null;
  private readonly fade = new Fade();
  private waiting = 0;
  private width = 0;
  private height = 0;

  /* `span`: seconds that the whole picture stands for; two runs side by side share one. `finer`: detail has come. */
  constructor(private readonly context: Context, readonly run: Run, readonly map: MemoryMap, readonly kind: "cartography" | "gantt", private readonly span: [number, number], finer: () => void = () => {}) {
    this.layout = layoutOf(map, kind);
    this.latencyRange = latencyRange(run);
    this.deep = new DeepZoom(run, map, this.layout, () => { this.redraw(); finer(); });
    this.attach();
    new ResizeObserver(() => { if (this.measure()) this.draw(); }).observe(this.element);
  }

  get aggregation(): Aggregation | null {
    return this.kind === "gantt" ? this.map.gantt : this.map.cartography;
  }

  view(): { t0: number; t1: number; y0: number; y1: number } {
    const { x, y } = this.context.store.state;
    return { t0: x?.[0] ?? this.span[0], t1: x?.[1] ?? this.span[1], y0: y?.[0] ?? 0, y1: y?.[1] ?? 1 };
  }

  /* Draws at once: also before the page is printed, when the size may be the same and the colours not. */
  resize(): void {
    this.measure();
    this.draw();
  }

  private measure(): boolean {
    const box = this.element.getBoundingClientRect();
    const width = Math.floor(box.width), height = Math.max(120, Math.floor(box.height));
    if (width === 0 || (width === this.width && height === this.height)) return false;
    this.width = width;
    this.height = height;
    return true;
  }

  redraw(): void {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
  }

  private prepare(): Grid {
    const { thread, object, show, colour } = this.context.store.state;
    const key = [thread, object, show, colour].join();
    if (!this.grid || this.gridKey !== key) {
      this.grid = buildGrid(this.map, this.layout, { thread, object, show, colour });
      this.gridKey = key;
      this.partitions.clear();
    }
    return this.grid;
  }

  private blocks(): Blocks | null {
    const { aggregation } = this;
    if (!aggregation || this.context.store.state.p <= 0) return null;
    const index = partitionAt(aggregation, this.context.store.state.p);
    if (index === 0) return null;
    let blocks = this.partitions.get(index);
    if (!blocks) {
      const pages = Float64Array.from(this.layout.leaf, (leaf) => Math.max(1, this.map.leafBytes[leaf]! / this.map.pageBytes));
      blocks = buildBlocks(aggregation, index, this.layout, this.prepare(), pages);
      if (this.partitions.size > 12) this.partitions.clear();
      this.partitions.set(index, blocks);
    }
    return blocks;
  }

  private draw(): void {
    if (this.width === 0) return;
    const { store } = this.context;
    const narrow = this.width < NARROW;
    const names = narrow ? 84 : 170;
    const view = this.view();
    this.fade.begin(this.aggregation ? partitionAt(this.aggregation, store.state.p) : 0, this.canvas, this.frame, this.canvas.width / this.width);
    const frame = this.frame = { left: names + treeWidth(narrow), top: HEAD, width: this.width - names - treeWidth(narrow) - 8, height: this.height - HEAD - FOOT, ...view };
    const context = fitCanvas(this.canvas, this.width, this.height);
    const colours = theme();
    context.clearRect(0, 0, this.width, this.height);
    context.fillStyle = colours.surface;
    context.fillRect(frame.left, frame.top, frame.width, frame.height);
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.width, frame.height);
    context.clip();
    drawLives(context, frame, this.layout, this.run, store.state.object);
    context.restore();
    this.drawCells(context, frame);
    if (this.fade.draw(context, frame)) this.redraw();
    context.strokeStyle = colours.line;
    context.strokeRect(frame.left - 0.5, frame.top - 0.5, frame.width + 1, frame.height + 1);
    drawTimeAxis(context, frame, this.run.phases, store.state.time);
    if (!narrow) drawTree(context, frame, this.layout);
    drawNames(context, frame, this.layout, this.map, this.run, treeWidth(narrow));
    if (this.band) {
      const [x0, y0, x1, y1] = this.band;
      context.strokeStyle = colours.accent;
      context.strokeRect(frame.left + x0 * frame.width, frame.top + y0 * frame.height, (x1 - x0) * frame.width, (y1 - y0) * frame.height);
    }
    this.deep.ask(frame, store.state.p > 0 && !!this.aggregation);
  }

  /* What the picture is made of: the page's own cells, or the server's for this window. */
  private shown(): { map: MemoryMap; layout: Layout; deep: Detail | null } {
    const deep = this.context.store.state.p > 0 ? null : this.deep.current(this.frame);
    return deep ? { map: deep.map, layout: deep.layout, deep } : { map: this.map, layout: this.layout, deep };
  }

  private drawCells(context: CanvasRenderingContext2D, frame: Frame): void {
    const { store } = this.context;
    const ratio = this.canvas.width / this.width;
    const rows = Math.min(ROWS_MOST, Math.max(1, Math.round(frame.height * ratio)));
    const { map, layout, deep } = this.shown();
    const slice = (t: number): number => ((t - map.start) / (map.end - map.start)) * map.slices;
    const window = { s0: slice(frame.t0), s1: slice(frame.t1), y0: frame.y0, y1: frame.y1 };
    if (window.s1 <= 0 || window.s0 >= map.slices || layout.lanes === 0) return;
    const blocks = deep ? null : this.blocks();
    let exposure: [number, number];
    if (blocks) {
      this.raster.drawBlocks(blocks, layout, map.slices, window, frame.width * ratio, rows);
      exposure = blocks.exposure;
    } else {
      const { thread, object, show, colour } = store.state;
      const grid = deep ? deep.grid({ thread, object, show, colour }) : this.prepare();
      this.raster.drawGrid(grid, layout, map.slices, window, frame.width * ratio, rows);
      exposure = grid.exposure;
    }
    const picture = this.raster.finish(palette(store.state.colour, isDark()), exposure, store.state.colour === "latency" ? this.latencyRange : null);
    const x = (s: number): number => frame.left + ((s - window.s0) / (window.s1 - window.s0)) * frame.width;
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.width, frame.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(picture.canvas, x(picture.first), frame.top, x(picture.end) - x(picture.first), frame.height);
    if (blocks) drawBlockEdges(context, frame, layout, blocks, x);
    context.restore();
    if (picture.empty) drawWords(context, frame, "No accesses were sampled in this part.");
  }

  private attach(): void {
    const { store, tip } = this.context;
    attachGestures(this.canvas, () => this.frame, {
      pan: (dx, dy) => this.move(dx, dy),
      zoom: (factor, x, y, alongX, alongY) => this.zoom(factor, x, y, alongX, alongY),
      hover: (x, y, clientX, clientY) => this.hover(x, y, clientX, clientY),
      leave: () => tip.hide(),
      click: (x, y) => this.click(x, y),
      doubleClick: () => store.set({ x: null, y: null }),
      band: (x0, y0, x1, y1, done) => {
        const sorted = (a: number, b: number): [number, number] => [Math.max(0, Math.min(a, b)), Math.min(1, Math.max(a, b))];
        const [left, right] = sorted(x0, x1), [top, bottom] = sorted(y0, y1);
        this.band = done ? null : [left, top, right, bottom];
        if (!done || right - left < 0.005 || bottom - top < 0.005) return this.redraw();
        const { t0, t1, y0: v0, y1: v1 } = this.view();
        store.set({ x: [t0 + left * (t1 - t0), t0 + right * (t1 - t0)], y: [v0 + top * (v1 - v0), v0 + bottom * (v1 - v0)] });
      },
    });
  }

  move(dx: number, dy: number): void {
    const { t0, t1, y0, y1 } = this.view();
    this.show(t0 + dx * (t1 - t0), t1 + dx * (t1 - t0), y0 + dy * (y1 - y0), y1 + dy * (y1 - y0));
  }

  zoom(factor: number, atX: number, atY: number, alongX: boolean, alongY: boolean): void {
    const { t0, t1, y0, y1 } = this.view();
    const tAt = t0 + Math.max(0, Math.min(1, atX)) * (t1 - t0), yAt = y0 + Math.max(0, Math.min(1, atY)) * (y1 - y0);
    const fx = alongX ? 1 / factor : 1, fy = alongY ? 1 / factor : 1;
    this.show(tAt - (tAt - t0) * fx, tAt + (t1 - tAt) * fx, yAt - (yAt - y0) * fy, yAt + (y1 - yAt) * fy);
  }

  /* Puts a part on screen, kept within the whole. */
  private show(t0: number, t1: number, y0: number, y1: number): void {
    const fit = (from: number, to: number, low: number, high: number, minLength: number): [number, number] | null => {
      const length = Math.max(minLength, to - from);
      if (length >= high - low) return null;
      const start = Math.max(low, Math.min(high - length, from));
      return [start, start + length];
    };
    const minLength = (this.span[1] - this.span[0]) / (this.run.head.live ? 1e7 : this.map.slices / 3);
    this.context.store.set({ x: fit(t0, t1, this.span[0], this.span[1], minLength), y: fit(y0, y1, 0, 1, 1e-7) });
  }

  private pick(x: number, y: number): { lane: number; last: number; slice: number; block: number } | null {
    if (x < 0 || x > 1 || y < 0 || y > 1) return null;
    const { t0, t1, y0, y1 } = this.view();
    const { map, layout } = this.shown();
    const height = y0 + y * (y1 - y0);
    const lane = laneAt(layout, height);
    const slice = Math.floor(((t0 + x * (t1 - t0) - map.start) / (map.end - map.start)) * map.slices);
    if (lane >= layout.lanes || slice < 0 || slice >= map.slices) return null;
    const blocks = this.blocks();
    const block = blocks ? blockAt(blocks, lane, slice) : -1;
    const last = Math.max(lane, laneAt(layout, height + (y1 - y0) / this.frame.height) - 1);
    return { lane, last, slice, block };
  }

  private hover(x: number, y: number, clientX: number, clientY: number): void {
    const { tip } = this.context;
    if (x < 0 && y >= 0 && y <= 1) return this.hoverTree(x, y, clientX, clientY);
    this.canvas.style.cursor = x >= 0 ? "crosshair" : "default";
    const at = this.pick(x, y);
    if (!at) return tip.hide();
    const blocks = this.blocks();
    const firstLane = blocks && at.block >= 0 ? blocks.firstLane[at.block]! : at.lane;
    const lastLane = blocks && at.block >= 0 ? blocks.lastLane[at.block]! : at.last;
    const first = blocks && at.block >= 0 ? blocks.first[at.block]! : at.slice;
    const last = blocks && at.block >= 0 ? blocks.last[at.block]! : at.slice;
    const { map, layout } = this.shown();
    const summary = this.summary(map, layout, firstLane, lastLane, first, last);
    const from = map.start + first * map.sliceSeconds, to = map.start + (last + 1) * map.sliceSeconds;
    const span = this.view().t1 - this.view().t0;
    tip.show(clientX, clientY, this.titleOf(at.lane, firstLane, lastLane, blocks !== null && at.block >= 0), [
      ["time", `${seconds(from, span)} – ${seconds(to, span)}`],
      ["memory", `${address(summary.lowest)}, ${bytes(summary.bytes)}`],
      ...describe(this.run, summary),
    ]);
  }

  private titleOf(lane: number, firstLane: number, lastLane: number, block: boolean): string {
    const { map, layout } = this.shown();
    const thread = layout.thread[lane]!;
    const object = map.leafObject[layout.leaf[lane]!]!;
    const name = object === NONE ? "no known object" : this.run.objectName(object);
    const what = block ? `Block of ${plural(lastLane - firstLane + 1, "row")}` : name;
    return thread !== NONE && this.kind === "gantt" && !block ? `${this.run.threadName(thread)} · ${what}` : what;
  }

  private hoverTree(x: number, y: number, clientX: number, clientY: number): void {
    const node = treeNodeAt(this.frame, this.layout, this.frame.left + x * this.frame.width, this.frame.top + y * this.frame.height);
    this.canvas.style.cursor = node >= 0 ? "zoom-in" : "default";
    if (node < 0) return this.context.tip.hide();
    const { tree } = this.layout;
    const first = tree.first[node]!, last = first + tree.leaves[node]! - 1;
    const summary = this.summary(this.map, this.layout, first, last, 0, this.map.slices);
    const object = tree.object[node]!, thread = tree.thread?.[node] ?? NONE;
    const title = object !== NONE ? this.run.objectName(object) : thread !== NONE ? this.run.threadName(thread) : `${bytes(summary.bytes)} at ${address(summary.lowest)}`;
    this.context.tip.show(clientX, clientY, title, [["memory", bytes(summary.bytes)], ...describe(this.run, summary), "Click to look at this part only."]);
  }

  private click(x: number, y: number): void {
    const { store } = this.context;
    if (x < 0) {
      const node = treeNodeAt(this.frame, this.layout, this.frame.left + x * this.frame.width, this.frame.top + y * this.frame.height);
      if (node >= 0) {
        const first = this.layout.tree.first[node]!, last = first + this.layout.tree.leaves[node]! - 1;
        const pad = (this.layout.bottom[last]! - this.layout.top[first]!) * 0.03;
        return store.set({ y: [Math.max(0, this.layout.top[first]! - pad), Math.min(1, this.layout.bottom[last]! + pad)] });
      }
    }
    const at = x >= 0 ? this.pick(x, y) : this.pick(0.5, y);
    if (!at) return;
    const { map, layout } = this.shown();
    const object = map.leafObject[layout.leaf[at.lane]!]!;
    if (x < 0 && this.kind === "gantt") store.set({ thread: store.state.thread === layout.thread[at.lane] ? -1 : layout.thread[at.lane]! });
    else if (object !== NONE) store.set({ object: store.state.object === object ? -1 : object });
  }

  private summary(map: MemoryMap, layout: Layout, firstLane: number, lastLane: number, first: number, last: number): Summary {
    const { thread, object } = this.context.store.state;
    return summarise(map, layout, firstLane, lastLane, first, last, thread, object);
  }

  /* What is on screen. */
  visible(): Summary {
    const { t0, t1, y0, y1 } = this.view();
    const { map, layout } = this.shown();
    const slice = (t: number): number => ((t - map.start) / (map.end - map.start)) * map.slices;
    return this.summary(map, layout, laneAt(layout, y0), Math.min(layout.lanes - 1, laneAt(layout, y1)), Math.floor(slice(t0)), Math.ceil(slice(t1)) - 1);
  }

  /* Zooms to an object's rows and life. */
  reveal(object: number): void {
    const segments = this.layout.segments.filter((segment) => segment.object === object);
    if (segments.length === 0) return;
    const top = Math.min(...segments.map((s) => this.layout.top[s.first]!)), bottom = Math.max(...segments.map((s) => this.layout.bottom[s.last]!));
    const pad = (bottom - top) * 0.5;
    this.context.store.set({ y: [Math.max(0, top - pad), Math.min(1, bottom + pad)] });
  }
}

export function describe(run: Run, summary: Summary): TipLine[] {
  const total = summary.samples;
  if (total === 0) return ["No accesses were sampled here."];
  const unit = run.head.latency_unit ?? "ns";
  const lines: TipLine[] = [["reads / writes", `${count(summary.reads)} / ${count(summary.writes)}`], ["remote", `${percent(summary.remote / total)} (${count(summary.remote)})`]];
  if (summary.timed > 0) lines.push(["mean latency", latency(summary.latency / summary.timed, unit)]);
  const threads = byAccesses(summary.threads), objects = byAccesses(summary.objects);
  for (const [id, tally] of threads.slice(0, 4)) lines.push([run.threadName(id), percent(tally.samples / total)]);
  if (threads.length > 4) lines.push(`and ${plural(threads.length - 4, "thread")} more`);
  if (objects.length > 1) {
    for (const [id, tally] of objects.slice(0, 4)) lines.push([id === NONE ? "no known object" : run.objectName(id), percent(tally.samples / total)]);
    if (objects.length > 4) lines.push(`and ${plural(objects.length - 4, "object")} more`);
  }
  return lines;
}

/* Quickest and slowest worth distinguishing: the 2nd and 98th of 100 in the run's histogram. */
function latencyRange(run: Run): [number, number] {
  const head = run.latency;
  if (!head) return [1, 1000];
  const all = head.bounds.map((_, i) => (head.local[i] ?? 0) + (head.remote[i] ?? 0) + (head.unknown?.[i] ?? 0));
  const total = all.reduce((a, b) => a + b, 0);
  const at = (share: number): number => {
    let sum = 0;
    for (let i = 0; i < all.length; i++) {
      sum += all[i]!;
      if (sum >= share * total) return Math.max(1, head.bounds[i]!);
    }
    return Math.max(1, head.bounds[head.bounds.length - 1]!);
  };
  const low = Math.max(1, at(0.02) / 1.5);
  return [low, Math.max(at(0.98), low * 2)];
}
