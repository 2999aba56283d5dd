/* When the page is served (`numalens view`): where the zoom is deeper than the page's own cells, the server is asked for that window. */
import { fetchContainer } from "./container";
import { buildGrid, type Grid, type GridFilter } from "./grid";
import { laneAt, lanesOfCells, type Layout } from "./layout";
import type { Frame } from "./map_axes";
import { MemoryMap, type MapHead } from "./memory_map";
import { NONE, type Run } from "./model";

const WAIT_MS = 250;
const MARGIN = 0.25;
/* Above this part of the whole, the page's own cells are what was meant for it. */
const WHOLE = 0.8;
/* As many as the server gives; never fewer than the page itself has there. */
const MOST_LEAVES = 20000;

/* A window's cells, placed on the axis of the whole. */
export class Detail {
  private kept: Grid | null = null;
  private key = "";

  constructor(readonly map: MemoryMap, readonly layout: Layout, readonly t0: number, readonly t1: number, readonly y0: number, readonly y1: number) {}

  covers(frame: Frame): boolean {
    return this.t0 <= frame.t0 && this.t1 >= frame.t1 && this.y0 <= frame.y0 && this.y1 >= frame.y1;
  }

  /* Whether another window could show more of the frame. */
  isFineFor(frame: Frame): boolean {
    if (this.map.sliceSeconds > (4 * (frame.t1 - frame.t0)) / frame.width) return false;
    const first = laneAt(this.layout, frame.y0), last = Math.min(this.layout.lanes - 1, laneAt(this.layout, frame.y1));
    if (last - first >= frame.height / 4) return true;
    for (let lane = first; lane <= last; lane++) if (this.map.leafBytes[this.layout.leaf[lane]!]! > this.map.pageBytes) return false;
    return true;
  }

  grid(filter: GridFilter): Grid {
    const key = JSON.stringify(filter);
    if (!this.kept || this.key !== key) {
      this.kept = buildGrid(this.map, this.layout, filter);
      this.key = key;
    }
    return this.kept;
  }
}

export class DeepZoom {
  private detail: Detail | null = null;
  private asked = "";
  private timer = 0;
  private running: AbortController | null = null;

  constructor(private readonly run: Run, private readonly map: MemoryMap, private readonly layout: Layout, private readonly redraw: () => void) {}

  /* The detail that covers all of the frame, if it is there. */
  current(frame: Frame): Detail | null {
    return this.detail?.covers(frame) ? this.detail : null;
  }

  /* Asks for the frame's window once the reader rests on it. */
  ask(frame: Frame, aggregated: boolean): void {
    if (!this.run.head.live || aggregated || this.layout.lanes === 0) return;
    const spanT = frame.t1 - frame.t0, spanY = frame.y1 - frame.y0;
    if (spanT > WHOLE * (this.map.end - this.map.start) && spanY > WHOLE) return;
    const lanes = laneAt(this.layout, frame.y1) - laneAt(this.layout, frame.y0) + 1;
    if (spanT / this.map.sliceSeconds > frame.width / 3 && lanes > frame.height / 4) return;
    if (this.current(frame)?.isFineFor(frame)) return;
    const t0 = Math.max(0, frame.t0 - MARGIN * spanT), t1 = Math.min(this.run.duration, frame.t1 + MARGIN * spanT);
    const y0 = Math.max(0, frame.y0 - MARGIN * spanY), y1 = Math.min(1, frame.y1 + MARGIN * spanY);
    const query = new URLSearchParams({
      run: String(this.run.index), t0: t0.toPrecision(9), t1: t1.toPrecision(9),
      slices: String(Math.min(1000, Math.round(frame.width))), leaves: String(Math.min(MOST_LEAVES, Math.max(Math.round(frame.height), 2 * lanes))),
    });
    const some = this.addresses(y0, y1, query);
    const href = `window?${query}`;
    if (href === this.asked) return;
    this.asked = href;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(href, t0, t1, some ? y0 : 0, some ? y1 : 1), WAIT_MS);
  }

  /* Which memory the heights stand for. False when it is that of several processes: then all of it is asked for. */
  private addresses(y0: number, y1: number, query: URLSearchParams): boolean {
    const { map, layout } = this;
    const last = Math.min(layout.lanes - 1, laneAt(layout, y1));
    let low = NONE, high = 0;
    for (let lane = Math.min(last, laneAt(layout, y0)); lane <= last; lane++) {
      low = Math.min(low, layout.leaf[lane]!);
      high = Math.max(high, layout.leaf[lane]!);
    }
    if (map.space === "physical") query.set("physical", "1");
    if (map.leafProcess[low] !== map.leafProcess[high]) return false;
    if (map.space === "virtual") query.set("process", String(map.leafProcess[low]));
    query.set("a0", String(map.leafAddr[low]));
    query.set("a1", String(map.leafAddr[high]! + map.leafBytes[high]!));
    return true;
  }

  private async load(href: string, t0: number, t1: number, y0: number, y1: number): Promise<void> {
    this.running?.abort();
    this.running = new AbortController();
    try {
      const container = await fetchContainer(href, this.running.signal);
      const head = (container.head["maps"] as MapHead[] | undefined)?.[0];
      if (!head) return;
      const map = new MemoryMap(container, head);
      this.detail = new Detail(map, placeWindow(map, this.map, this.layout), t0, t1, y0, y1);
      this.redraw();
    } catch (problem) {
      if (!(problem instanceof DOMException && problem.name === "AbortError")) this.detail = null;
    }
  }
}

/* The lane of the whole picture, among [first, last], that holds an address, or the nearest one below it. */
function laneOf(whole: MemoryMap, layout: Layout, first: number, last: number, process: number, addr: number): number {
  let low = first, high = last, found = first;
  while (low <= high) {
    const middle = (low + high) >> 1, leaf = layout.leaf[middle]!;
    const isBelow = whole.leafProcess[leaf] === process ? whole.leafAddr[leaf]! <= addr : whole.leafProcess[leaf]! < process;
    if (isBelow) { found = middle; low = middle + 1; } else high = middle - 1;
  }
  return found;
}

/* A window's leaves at the heights that the whole picture has for their memory; of the Gantt, in each thread's row by itself. */
export function placeWindow(map: MemoryMap, whole: MemoryMap, layout: Layout): Layout {
  const lanes = layout.rows.length > 0 ? lanesOfCells(map) : { leaf: Uint32Array.from({ length: map.leaves }, (_, i) => i), thread: new Uint32Array(map.leaves).fill(NONE) };
  const rows = new Map(layout.rows.map((row) => [row.thread, row]));
  const count = lanes.leaf.length;
  const top = new Float64Array(count), bottom = new Float64Array(count), shared = new Uint8Array(map.leaves);
  for (let lane = 0; lane < count; lane++) {
    const leaf = lanes.leaf[lane]!, row = rows.get(lanes.thread[lane]!) ?? { first: 0, last: layout.lanes - 1 };
    const process = map.leafProcess[leaf]!, addr = map.leafAddr[leaf]!;
    const height = (at: number): number => {
      const own = laneOf(whole, layout, row.first, row.last, process, at), ownLeaf = layout.leaf[own]!;
      const share = whole.leafProcess[ownLeaf] === process ? Math.max(0, Math.min(1, (at - whole.leafAddr[ownLeaf]!) / whole.leafBytes[ownLeaf]!)) : 1;
      return layout.top[own]! + share * (layout.bottom[own]! - layout.top[own]!);
    };
    top[lane] = height(addr);
    bottom[lane] = Math.max(top[lane]!, height(addr + map.leafBytes[leaf]!));
    shared[leaf] = whole.shared()[layout.leaf[laneOf(whole, layout, row.first, row.last, process, addr)]!]!;
  }
  map.adoptShared(shared);
  return { ...layout, lanes: count, top, bottom, leaf: lanes.leaf, thread: lanes.thread, segments: [], rows: [], tree: map.tree };
}
