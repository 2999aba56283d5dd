/* When the page is served (`numalens view`): where the zoom is deeper than the page's own cells, the server is asked for that window. */
import { fetchContainer } from "./container";
import type { Context } from "./context";
import { buildGrid, type Grid, type GridFilter } from "./grid";
import { laneAt, type Layout } from "./layout";
import type { Frame } from "./map_axes";
import { MemoryMap, type MapHead } from "./memory_map";
import type { Run } from "./model";

const WAIT_MS = 250;
const MARGIN = 0.25;
/* Above this part of the whole, the page's own cells are what was meant for it. */
const WHOLE = 0.8;

/* A window's cells, placed on the axis of the whole. */
export class Detail {
  private kept: Grid | null = null;
  private key = "";

  constructor(readonly map: MemoryMap, readonly layout: Layout, readonly t0: number, readonly t1: number, readonly y0: number, readonly y1: number) {}

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

  constructor(private readonly context: Context, private readonly run: Run, private readonly map: MemoryMap, private readonly layout: Layout, private readonly redraw: () => void) {}

  /* The detail that covers all of the frame and is finer than the page's own cells, if it is there. */
  current(frame: Frame): Detail | null {
    const { detail } = this;
    return detail && detail.t0 <= frame.t0 && detail.t1 >= frame.t1 && detail.y0 <= frame.y0 && detail.y1 >= frame.y1 ? detail : null;
  }

  /* Asks for the frame's window once the reader rests on it. Gantt rows are not addresses, so only the cartography has detail. */
  ask(frame: Frame, aggregated: boolean): void {
    if (!this.run.head.live || aggregated || this.layout.rows.length > 0 || this.map.space !== "virtual") return;
    if (frame.t1 - frame.t0 > WHOLE * (this.map.end - this.map.start) && frame.y1 - frame.y0 > WHOLE) return;
    const slices = (frame.t1 - frame.t0) / this.map.sliceSeconds;
    const lanes = laneAt(this.layout, frame.y1) - laneAt(this.layout, frame.y0) + 1;
    if (slices > frame.width / 3 && lanes > frame.height / 4) return;
    if (this.current(frame) && this.current(frame)!.map.sliceSeconds <= (2 * (frame.t1 - frame.t0)) / frame.width * 2) return;
    const spanT = frame.t1 - frame.t0, spanY = frame.y1 - frame.y0;
    const t0 = Math.max(0, frame.t0 - MARGIN * spanT), t1 = Math.min(this.run.duration, frame.t1 + MARGIN * spanT);
    const y0 = Math.max(0, frame.y0 - MARGIN * spanY), y1 = Math.min(1, frame.y1 + MARGIN * spanY);
    const first = Math.min(this.layout.lanes - 1, laneAt(this.layout, y0)), last = Math.min(this.layout.lanes - 1, laneAt(this.layout, y1));
    const low = this.map.leafAddr[this.layout.leaf[first]!]!, high = this.map.leafAddr[this.layout.leaf[last]!]! + this.map.leafBytes[this.layout.leaf[last]!]!;
    const thread = this.context.store.state.thread;
    const query = new URLSearchParams({
      run: String(this.run.index), t0: t0.toPrecision(9), t1: t1.toPrecision(9), a0: String(low), a1: String(high),
      slices: String(Math.min(1000, Math.round(frame.width))), leaves: String(Math.min(4000, Math.round(frame.height))),
    });
    if (thread >= 0) query.set("thread", String(thread));
    const href = `window?${query}`;
    if (href === this.asked) return;
    this.asked = href;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(href, t0, t1, y0, y1), WAIT_MS);
  }

  private async load(href: string, t0: number, t1: number, y0: number, y1: number): Promise<void> {
    this.running?.abort();
    this.running = new AbortController();
    try {
      const container = await fetchContainer(href, this.running.signal);
      const head = (container.head["maps"] as MapHead[] | undefined)?.[0];
      if (!head) return;
      const map = new MemoryMap(container, head);
      this.detail = new Detail(map, this.place(map), t0, t1, y0, y1);
      this.redraw();
    } catch (problem) {
      if (!(problem instanceof DOMException && problem.name === "AbortError")) this.detail = null;
    }
  }

  /* The window's leaves at the heights of the whole picture's. */
  private place(map: MemoryMap): Layout {
    const lanes = map.leaves;
    const top = new Float64Array(lanes), bottom = new Float64Array(lanes);
    const height = (addr: number): number => {
      const leaf = Math.max(0, this.map.leafAt(addr));
      const share = Math.max(0, Math.min(1, (addr - this.map.leafAddr[leaf]!) / this.map.leafBytes[leaf]!));
      return this.layout.top[leaf]! + share * (this.layout.bottom[leaf]! - this.layout.top[leaf]!);
    };
    for (let i = 0; i < lanes; i++) {
      top[i] = height(map.leafAddr[i]!);
      bottom[i] = Math.max(top[i]!, height(map.leafAddr[i]! + map.leafBytes[i]!));
    }
    return { ...this.layout, lanes, top, bottom, leaf: Uint32Array.from({ length: lanes }, (_, i) => i), thread: new Uint32Array(lanes).fill(0xffffffff), segments: [], rows: [], tree: map.tree };
  }
}
