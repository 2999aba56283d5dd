/* Totals of objects, sites and threads under the reader's selection (time, thread, object), from the coarse series. */
import type { MemObject, Run, Site, Thread, Totals } from "./model";
import type { State } from "./state";

export interface Filtered {
  /* False: nothing is selected, the run's own totals stand. */
  active: boolean;
  objects: Totals[];
  threads: Totals[];
  sites: Totals[];
}

const zero = (): Totals => ({ samples: 0, reads: 0, writes: 0, remote: 0, home_known: 0 });

let keptKey = "";
let kept: Filtered | null = null;

export function filtered(run: Run, state: State): Filtered {
  const active = (state.time !== null || state.thread >= 0 || state.object >= 0) && run.series !== null;
  const key = active ? [run.index, state.time, state.thread, state.object].join() : `${run.index}`;
  if (kept && key === keptKey) return kept;
  keptKey = key;
  return (kept = active ? compute(run, state) : { active, objects: run.objects, threads: run.threads, sites: run.sites });
}

function compute(run: Run, state: State): Filtered {
  const series = run.series!;
  const objects = run.objects.map(zero), threads = run.threads.map(zero), sites = run.sites.map(zero);
  const siteIndex = new Map(run.sites.map((site, i) => [site.id, i]));
  const scale = series.slices / run.duration;
  const first = state.time ? Math.floor(state.time[0] * scale) : 0;
  const last = state.time ? Math.ceil(state.time[1] * scale) - 1 : series.slices;
  for (let i = 0; i < series.object.length; i++) {
    if (series.slice[i]! < first || series.slice[i]! > last) continue;
    /* A chosen thread filters objects, but threads stay to be compared with it; and the other way round. */
    const byThread = state.thread < 0 || series.thread[i] === state.thread;
    const byObject = state.object < 0 || series.object[i] === state.object;
    const site = siteIndex.get(run.objects[series.object[i]!]?.site ?? -1) ?? -1;
    for (const row of [byThread && objects[series.object[i]!], byObject && threads[series.thread[i]!], byThread && byObject && sites[site]]) {
      if (!row) continue;
      row.reads += series.reads[i]!;
      row.writes += series.writes[i]!;
      row.samples += series.reads[i]! + series.writes[i]!;
      row.remote += series.remote[i]!;
      if (series.home[i] !== 255) row.home_known += series.reads[i]! + series.writes[i]!;
    }
  }
  return { active: true, objects, threads, sites };
}

/* Rows with the selection's totals in place of the run's. */
export function apply<T extends MemObject | Site | Thread>(rows: T[], totals: Totals[], active: boolean): T[] {
  if (!active) return rows;
  return rows.map((row, i) => ({ ...row, latency_sum: 0, latency_count: 0, ...totals[i] })).filter((row) => row.samples > 0);
}
