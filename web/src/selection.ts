/* Totals of objects, sites, threads, functions, lines and call chains under the reader's selection (time, thread, object), from the coarse series. */
import type { FlameWeights, Func, MemObject, Run, Site, Thread, Totals } from "./model";
import type { State } from "./state";

export interface Filtered {
  /* False: nothing is selected, the run's own totals stand. */
  active: boolean;
  objects: Totals[];
  threads: Totals[];
  sites: Totals[];
  /* Null: too many call chains for the page, so these are of the whole run. */
  functions: Totals[] | null;
  lines: Totals[] | null;
  flame: FlameWeights | null;
}

const zero = (): Required<Omit<Totals, "bytes_s">> => ({ samples: 0, reads: 0, writes: 0, remote: 0, home_known: 0, latency_sum: 0, latency_count: 0 });

let keptKey = "";
let kept: Filtered | null = null;

export function filtered(run: Run, state: State): Filtered {
  const active = (state.time !== null || state.thread >= 0 || state.object >= 0) && run.series !== null;
  const key = active ? [run.index, state.time, state.thread, state.object].join() : `${run.index}`;
  if (kept && key === keptKey) return kept;
  keptKey = key;
  return (kept = active ? { active, ...ofSeries(run, state), ...ofChains(run, state) } : { active, objects: run.objects, threads: run.threads, sites: run.sites, functions: run.functions, lines: run.codeLines, flame: run.flame });
}

/* The slices that a range of time reaches into, first and last. */
function slicesOf(run: Run, state: State, slices: number): [number, number] {
  const scale = slices / run.duration;
  return state.time ? [Math.floor(state.time[0] * scale), Math.ceil(state.time[1] * scale) - 1] : [0, slices];
}

function ofSeries(run: Run, state: State): Pick<Filtered, "objects" | "threads" | "sites"> {
  const series = run.series!;
  const objects = run.objects.map(zero), threads = run.threads.map(zero), sites = run.sites.map(zero);
  const siteIndex = new Map(run.sites.map((site, i) => [site.id, i]));
  const [first, last] = slicesOf(run, state, series.slices);
  for (let i = 0; i < series.object.length; i++) {
    if (series.slice[i]! < first || series.slice[i]! > last) continue;
    /* A chosen thread filters objects, but threads stay to be compared with it; and vice versa. */
    const byThread = state.thread < 0 || series.thread[i] === state.thread;
    const byObject = state.object < 0 || series.object[i] === state.object;
    const site = siteIndex.get(run.objects[series.object[i]!]?.site ?? -1) ?? -1;
    for (const row of [byThread && objects[series.object[i]!], byObject && threads[series.thread[i]!], byThread && byObject && sites[site]]) {
      if (!row) continue;
      row.reads += series.reads[i]!;
      row.writes += series.writes[i]!;
      row.samples += series.samples[i]!;
      row.remote += series.remote[i]!;
      row.latency_sum += series.latency[i]!;
      row.latency_count += series.timed[i]!;
      if (series.home[i] !== 255) row.home_known += series.samples[i]!;
    }
  }
  return { objects, threads, sites };
}

function ofChains(run: Run, state: State): Pick<Filtered, "functions" | "lines" | "flame"> {
  const { chains, flame } = run;
  if (!chains || !flame) return { functions: null, lines: null, flame: null };
  const functions = run.functions.map(zero), lines = run.codeLines.map(zero);
  const weights = { samples: new Float64Array(flame.parent.length), remote: new Float64Array(flame.parent.length), stall: new Float64Array(flame.parent.length) };
  const [first, last] = slicesOf(run, state, chains.slices);
  for (let i = 0; i < chains.node.length; i++) {
    if (chains.slice[i]! < first || chains.slice[i]! > last) continue;
    if ((state.thread >= 0 && chains.thread[i] !== state.thread) || (state.object >= 0 && chains.object[i] !== state.object)) continue;
    for (const row of [functions[chains.function[i]!], lines[chains.line[i]!]]) {
      if (!row) continue;
      row.reads += chains.reads[i]!;
      row.writes += chains.writes[i]!;
      row.samples += chains.samples[i]!;
      row.remote += chains.remote[i]!;
      row.home_known += chains.known[i]!;
      row.latency_sum += chains.latency[i]!;
      row.latency_count += chains.timed[i]!;
    }
    /* A frame holds what those below it do. */
    for (let node = chains.node[i]!; node < flame.parent.length; node = flame.parent[node]!) {
      weights.samples[node]! += chains.samples[i]!;
      weights.remote[node]! += chains.remote[i]!;
      weights.stall[node]! += chains.stall[i]!;
    }
  }
  return { functions, lines, flame: weights };
}

/* Rows with the selection's totals in place of the run's; bytes are known of the whole run only. */
export function apply<T extends MemObject | Site | Thread | Func>(rows: T[], totals: Totals[] | null, active: boolean): T[] {
  if (!active || !totals) return rows;
  return rows.map((row, i) => ({ ...row, ...totals[i], ...("bytes_s" in row ? { bytes_s: null } : {}) })).filter((row) => row.samples > 0);
}
