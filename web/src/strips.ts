/* The coarse series of one object or thread, distinguished by thread, object or home: rows for a strip chart, busiest first. */
import type { Run } from "./model";

export interface Strip { id: number; name: string; samples: Float64Array; reads: Float64Array; writes: Float64Array; remote: Float64Array }

export const HOME_UNKNOWN = 255;

export function stripsOf(run: Run, of: "object" | "thread", index: number, by: "object" | "thread" | "home"): Strip[] {
  const { series } = run;
  const strips = new Map<number, Strip>();
  for (let i = 0; series && i < series.object.length; i++) {
    if (series[of][i] !== index) continue;
    const key = series[by][i]!;
    let strip = strips.get(key);
    if (!strip) {
      strip = { id: key, name: nameOf(run, by, key), samples: new Float64Array(series.slices), reads: new Float64Array(series.slices), writes: new Float64Array(series.slices), remote: new Float64Array(series.slices) };
      strips.set(key, strip);
    }
    const slice = Math.min(series.slices - 1, series.slice[i]!);
    strip.samples[slice]! += series.samples[i]!;
    strip.reads[slice]! += series.reads[i]!;
    strip.writes[slice]! += series.writes[i]!;
    strip.remote[slice]! += series.remote[i]!;
  }
  return [...strips.values()].sort((a, b) => sum(b.samples) - sum(a.samples));
}

function nameOf(run: Run, by: "object" | "thread" | "home", key: number): string {
  if (by === "object") return run.objectName(key);
  if (by === "thread") return run.threadName(key);
  return key === HOME_UNKNOWN ? "home node not known" : run.nodeName(key);
}

export function sum(series: Float64Array): number {
  let total = 0;
  for (const value of series) total += value;
  return total;
}
