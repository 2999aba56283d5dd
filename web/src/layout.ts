/* Where memory is on the vertical axis. Only touched pages are there; a stretch of addresses gets height by its bytes, and every
 * stretch a little more, so that a stack beside a gigabyte can still be seen. */
import type { MemoryMap, Tree } from "./memory_map";
import { NONE } from "./model";

/* Neighbouring lanes that belong together and bear one name: an object, or nothing known. */
export interface Segment { first: number; last: number; object: number; thread: number }

/* Of the Gantt: all that one thread uses. */
export interface Row { first: number; last: number; thread: number }

export interface Layout {
  lanes: number;
  /* Lane i covers heights [top[i], bottom[i]), parts of 1, ascending. */
  top: Float64Array;
  bottom: Float64Array;
  /* Leaf of the map; thread, or NONE for all threads. */
  leaf: Uint32Array;
  thread: Uint32Array;
  segments: Segment[];
  rows: Row[];
  tree: Tree;
}

const GAP_PAGES = 16;
const EVEN_SHARE = 0.3;
const GAPS_SHARE = 0.06;

export function cartographyLayout(map: MemoryMap): Layout {
  const leaf = Uint32Array.from({ length: map.leaves }, (_, i) => i);
  const thread = new Uint32Array(map.leaves).fill(NONE);
  return finish(map, leaf, thread, map.tree, []);
}

export function ganttLayout(map: MemoryMap): Layout {
  const given = map.gantt?.lanes;
  const leaf = given ? given.leaf : new Uint32Array(0), thread = given ? Uint32Array.from(given.thread) : new Uint32Array(0);
  const lanes = given ? { leaf, thread } : lanesOfCells(map);
  const rows: Row[] = [];
  for (let i = 0; i < lanes.leaf.length; i++) {
    const row = rows[rows.length - 1];
    if (row && row.thread === lanes.thread[i]) row.last = i;
    else rows.push({ first: i, last: i, thread: lanes.thread[i]! });
  }
  const tree = map.gantt?.tree ?? rowsTree(rows, lanes.leaf.length);
  return finish(map, lanes.leaf, lanes.thread, tree, rows);
}

/* Lanes in the order thread, leaf, from the cells themselves. */
export function lanesOfCells(map: MemoryMap): { leaf: Uint32Array; thread: Uint32Array } {
  const perThread = new Map<number, number[]>();
  for (let i = 0; i < map.cells; i++) {
    const thread = map.cellThread[i]!, leaf = map.cellLeaf[i]!;
    let list = perThread.get(thread);
    if (!list) perThread.set(thread, (list = []));
    if (list[list.length - 1] !== leaf) list.push(leaf);
  }
  const threads = [...perThread.keys()].sort((a, b) => a - b);
  const leaf: number[] = [], thread: number[] = [];
  for (const t of threads) for (const l of perThread.get(t)!) { leaf.push(l); thread.push(t); }
  return { leaf: Uint32Array.from(leaf), thread: Uint32Array.from(thread) };
}

function rowsTree(rows: Row[], lanes: number): Tree {
  return {
    parent: Uint32Array.from([NONE, ...rows.map(() => 0)]),
    first: Uint32Array.from([0, ...rows.map((row) => row.first)]),
    leaves: Uint32Array.from([lanes, ...rows.map((row) => row.last - row.first + 1)]),
    kind: new Uint8Array(rows.length + 1),
    object: new Uint32Array(rows.length + 1).fill(NONE),
    thread: Uint32Array.from([NONE, ...rows.map((row) => row.thread)]),
  };
}

function finish(map: MemoryMap, leaf: Uint32Array, thread: Uint32Array, tree: Tree, rows: Row[]): Layout {
  const lanes = leaf.length;
  const top = new Float64Array(lanes), bottom = new Float64Array(lanes);
  const parts = rows.length > 0 ? rows : [{ first: 0, last: lanes - 1, thread: NONE }];
  const totalBytes = sumBytes(map, leaf, 0, lanes - 1);
  const between = rows.length > 1 ? Math.min(0.01, 0.1 / rows.length) : 0;
  let y = 0;
  for (const part of lanes > 0 ? parts : []) {
    const bytes = sumBytes(map, leaf, part.first, part.last);
    const share = 0.7 / parts.length + 0.3 * (bytes / totalBytes);
    const height = share * (1 - between * (parts.length - 1));
    placeStretches(map, leaf, part.first, part.last, y, height, top, bottom);
    y += height + between;
  }
  return { lanes, top, bottom, leaf, thread, segments: segmentsOf(map, leaf, thread), rows, tree };
}

function placeStretches(map: MemoryMap, leaf: Uint32Array, first: number, last: number, y: number, height: number, top: Float64Array, bottom: Float64Array): void {
  const stretches: [number, number][] = [];
  for (let i = first; i <= last; i++) {
    if (i > first && follows(map, leaf[i - 1]!, leaf[i]!)) stretches[stretches.length - 1]![1] = i;
    else stretches.push([i, i]);
  }
  const bytes = sumBytes(map, leaf, first, last);
  const gap = stretches.length > 1 ? (GAPS_SHARE * height) / Math.max(20, stretches.length - 1) : 0;
  const room = height - gap * (stretches.length - 1);
  for (const [from, to] of stretches) {
    const own = sumBytes(map, leaf, from, to);
    const share = EVEN_SHARE / stretches.length + (1 - EVEN_SHARE) * (own / bytes);
    let at = y;
    for (let i = from; i <= to; i++) {
      top[i] = at;
      at += (room * share * map.leafBytes[leaf[i]!]!) / own;
      bottom[i] = at;
    }
    y += room * share + gap;
  }
}

function follows(map: MemoryMap, before: number, after: number): boolean {
  return map.leafProcess[before] === map.leafProcess[after]
    && map.leafAddr[after]! - (map.leafAddr[before]! + map.leafBytes[before]!) <= GAP_PAGES * map.pageBytes;
}

function sumBytes(map: MemoryMap, leaf: Uint32Array, first: number, last: number): number {
  let sum = 0;
  for (let i = first; i <= last; i++) sum += map.leafBytes[leaf[i]!]!;
  return sum || 1;
}

function segmentsOf(map: MemoryMap, leaf: Uint32Array, thread: Uint32Array): Segment[] {
  const segments: Segment[] = [];
  for (let i = 0; i < leaf.length; i++) {
    const object = map.leafObject[leaf[i]!]!;
    const old = segments[segments.length - 1];
    if (old && old.object === object && old.thread === thread[i] && (object !== NONE || follows(map, leaf[i - 1]!, leaf[i]!))) old.last = i;
    else segments.push({ first: i, last: i, object, thread: thread[i]! });
  }
  return segments;
}

/* The first lane that ends below height `y`; `lanes` when none does. */
export function laneAt(layout: Layout, y: number): number {
  let low = 0, high = layout.lanes;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.bottom[middle]! <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}
