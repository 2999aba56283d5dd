/* What a part of a map holds: who, which objects, how. For the hover, the list beside the picture, and the words for those who do not see it. */
import { leafStarts } from "./grid";
import type { Layout } from "./layout";
import type { MemoryMap } from "./memory_map";
import { NONE, type Directed } from "./model";

export interface Tally extends Directed { remote: number; latency: number; timed: number }

export interface Summary extends Tally {
  threads: Map<number, Tally>;
  objects: Map<number, Tally>;
  bytes: number;
  lowest: number;
  highest: number;
}

function emptyTally(): Tally {
  return { samples: 0, reads: 0, writes: 0, remote: 0, latency: 0, timed: 0 };
}

function tallyOf(all: Map<number, Tally>, key: number): Tally {
  let tally = all.get(key);
  if (!tally) all.set(key, (tally = emptyTally()));
  return tally;
}

/* Adds up the cells of lanes [firstLane, lastLane] in slices [first, last]; `thread` and `object` as in the grid's filter. */
export function summarise(map: MemoryMap, layout: Layout, firstLane: number, lastLane: number, first: number, last: number, thread: number, object: number): Summary {
  const summary: Summary = { ...emptyTally(), threads: new Map(), objects: new Map(), bytes: 0, lowest: Infinity, highest: 0 };
  const start = leafStarts(map);
  for (let lane = Math.max(0, firstLane); lane <= Math.min(layout.lanes - 1, lastLane); lane++) {
    const leaf = layout.leaf[lane]!, owner = layout.thread[lane]!;
    summary.bytes += map.leafBytes[leaf]!;
    summary.lowest = Math.min(summary.lowest, map.leafAddr[leaf]!);
    summary.highest = Math.max(summary.highest, map.leafAddr[leaf]! + map.leafBytes[leaf]!);
    if (object >= 0 && map.leafObject[leaf] !== object) continue;
    for (let i = start[leaf]!; i < start[leaf + 1]!; i++) {
      const slice = map.cellSlice[i]!;
      if (slice < first) continue;
      if (slice > last) break;
      const who = map.cellThread[i]!;
      if (owner !== NONE && who !== owner) continue;
      if (thread >= 0 && who !== thread) continue;
      for (const tally of [summary, tallyOf(summary.threads, who), tallyOf(summary.objects, map.leafObject[leaf]!)]) {
        tally.samples += map.cellSamples[i]!;
        tally.reads += map.cellReads[i]!;
        tally.writes += map.cellWrites[i]!;
        tally.remote += map.cellRemote[i]!;
        tally.latency += map.cellLatency[i]!;
        tally.timed += map.cellTimed[i]!;
      }
    }
  }
  return summary;
}

export function byAccesses(all: Map<number, Tally>): [number, Tally][] {
  return [...all].sort((a, b) => b[1].samples - a[1].samples);
}
