/* The cells of a map sorted into the lanes of a layout, filtered, with what their colour needs: the raster reads only this. */
import type { Layout } from "./layout";
import type { MemoryMap } from "./memory_map";
import { NONE } from "./model";
import type { State } from "./state";

export interface Grid {
  /* Cells of lane i: [start[i], start[i + 1]), by slice. */
  start: Uint32Array;
  slice: Uint16Array;
  count: number;
  /* Accesses per page; and the value that colours, as a sum and what to divide it by. */
  density: Float32Array;
  value: Float32Array;
  weight: Float32Array;
  exposure: [number, number];
}

export interface GridFilter {
  thread: number;
  object: number;
  show: State["show"];
  colour: State["colour"];
}

export function buildGrid(map: MemoryMap, layout: Layout, filter: GridFilter): Grid {
  const cellStart = leafStarts(map);
  const shared = map.shared();
  const room = map.cells;
  const start = new Uint32Array(layout.lanes + 1);
  const slice = new Uint16Array(room);
  const density = new Float32Array(room), value = new Float32Array(room), weight = new Float32Array(room);
  let n = 0;
  for (let lane = 0; lane < layout.lanes; lane++) {
    start[lane] = n;
    const leaf = layout.leaf[lane]!, owner = layout.thread[lane]!;
    if (filter.object >= 0 && map.leafObject[leaf] !== filter.object) continue;
    if (owner !== NONE && filter.thread >= 0 && owner !== filter.thread) continue;
    const pages = Math.max(1, map.leafBytes[leaf]! / map.pageBytes);
    const laneStart = n;
    for (let i = cellStart[leaf]!; i < cellStart[leaf + 1]!; i++) {
      const thread = map.cellThread[i]!;
      if (owner !== NONE ? thread !== owner : filter.thread >= 0 && thread !== filter.thread) continue;
      const samples = map.cellSamples[i]!, writes = map.cellWrites[i]!, remote = map.cellRemote[i]!;
      const shown = filter.show === "reads" ? map.cellReads[i]! : filter.show === "writes" ? writes : filter.show === "remote" ? remote : samples;
      if (shown === 0) continue;
      let at = n - 1;
      if (at < laneStart || slice[at] !== map.cellSlice[i]) {
        at = n++;
        slice[at] = map.cellSlice[i]!;
      }
      density[at]! += shown / pages;
      if (filter.colour === "sharing") { value[at]! += shared[leaf]! * shown; weight[at]! += shown; }
      else if (filter.colour === "access") { value[at]! += writes; weight[at]! += samples; }
      else if (filter.colour === "remote") { value[at]! += remote; weight[at]! += samples; }
      else { value[at]! += map.cellLatency[i]!; weight[at]! += map.cellTimed[i]!; }
    }
  }
  start[layout.lanes] = n;
  return { start, slice, count: n, density, value, weight, exposure: exposureOf(density.subarray(0, n)) };
}

const starts = new WeakMap<MemoryMap, Uint32Array>();

/* Where each leaf's cells begin. */
export function leafStarts(map: MemoryMap): Uint32Array {
  const kept = starts.get(map);
  if (kept) return kept;
  const start = new Uint32Array(map.leaves + 1);
  for (let i = 0; i < map.cells; i++) start[map.cellLeaf[i]! + 1]!++;
  for (let i = 0; i < map.leaves; i++) start[i + 1]! += start[i]!;
  starts.set(map, start);
  return start;
}

/* Densities that are drawn faintest and strongest: quantiles, so that one hot page does not darken all others. */
export function exposureOf(density: Float32Array): [number, number] {
  if (density.length === 0) return [0.5, 1];
  const step = Math.max(1, Math.floor(density.length / 20000));
  const sample: number[] = [];
  for (let i = 0; i < density.length; i += step) if (density[i]! > 0) sample.push(density[i]!);
  sample.sort((a, b) => a - b);
  const at = (share: number): number => sample[Math.min(sample.length - 1, Math.floor(share * sample.length))] ?? 1;
  const low = at(0.02) / 2, high = at(0.97);
  return [low, Math.max(high, low * 4)];
}
