/* A partition of memory and time into blocks (C18), with what each block holds, ready to be drawn and asked about. */
import { exposureOf, type Grid } from "./grid";
import type { Layout } from "./layout";
import type { Aggregation } from "./memory_map";

export interface Blocks {
  count: number;
  firstLane: Uint32Array;
  lastLane: Uint32Array;
  first: Uint16Array;
  last: Uint16Array;
  density: Float32Array;
  value: Float32Array;
  weight: Float32Array;
  /* Blocks of lane i in order of time: list[start[i]] .. list[start[i + 1] - 1]. */
  start: Uint32Array;
  list: Uint32Array;
  exposure: [number, number];
}

/* The partition that is best at `p`: the last whose own p is not above it. */
export function partitionAt(aggregation: Aggregation, p: number): number {
  let found = 0;
  aggregation.partitions.forEach((partition, i) => { if (partition.p <= p + 1e-9) found = i; });
  return found;
}

export function buildBlocks(aggregation: Aggregation, partition: number, layout: Layout, grid: Grid, lanePages: Float64Array): Blocks {
  const head = aggregation.partitions[partition]!;
  const count = head.blocks, from = head.first_block;
  const firstLane = new Uint32Array(count), lastLane = new Uint32Array(count);
  const first = aggregation.first.slice(from, from + count), last = aggregation.last.slice(from, from + count);
  const { tree } = aggregation;
  for (let b = 0; b < count; b++) {
    const node = aggregation.node[from + b]!;
    firstLane[b] = tree.first[node]!;
    lastLane[b] = tree.first[node]! + tree.leaves[node]! - 1;
  }
  const { start, list } = listByLane(layout.lanes, firstLane, lastLane, first);
  const density = new Float32Array(count), value = new Float32Array(count), weight = new Float32Array(count);
  for (let lane = 0; lane < layout.lanes; lane++) {
    let at = start[lane]!;
    const end = start[lane + 1]!;
    for (let i = grid.start[lane]!; i < grid.start[lane + 1]!; i++) {
      while (at < end && last[list[at]!]! < grid.slice[i]!) at++;
      if (at === end) break;
      const block = list[at]!;
      if (grid.slice[i]! < first[block]!) continue;
      density[block]! += grid.density[i]! * lanePages[lane]!;
      value[block]! += grid.value[i]!;
      weight[block]! += grid.weight[i]!;
    }
  }
  for (let b = 0; b < count; b++) {
    let pages = 0;
    for (let lane = firstLane[b]!; lane <= lastLane[b]!; lane++) pages += lanePages[lane]!;
    density[b]! /= Math.max(1, pages) * (last[b]! - first[b]! + 1);
  }
  return { count, firstLane, lastLane, first, last, density, value, weight, start, list, exposure: exposureOf(density) };
}

function listByLane(lanes: number, firstLane: Uint32Array, lastLane: Uint32Array, first: Uint16Array): { start: Uint32Array; list: Uint32Array } {
  const order = Array.from(first.keys()).sort((a, b) => first[a]! - first[b]!);
  const start = new Uint32Array(lanes + 1);
  for (const b of order) for (let lane = firstLane[b]!; lane <= lastLane[b]!; lane++) start[lane + 1]!++;
  for (let i = 0; i < lanes; i++) start[i + 1]! += start[i]!;
  const list = new Uint32Array(start[lanes]!);
  const fill = start.slice();
  for (const b of order) for (let lane = firstLane[b]!; lane <= lastLane[b]!; lane++) list[fill[lane]!++] = b;
  return { start, list };
}

/* The block at a lane and slice, or -1. */
export function blockAt(blocks: Blocks, lane: number, slice: number): number {
  for (let at = blocks.start[lane]!; at < blocks.start[lane + 1]!; at++) {
    const block = blocks.list[at]!;
    if (slice >= blocks.first[block]! && slice <= blocks.last[block]!) return block;
  }
  return -1;
}
