/* Rows of two runs that mean the same thing, found by name: addresses and thread numbers differ from run to run. */
import { objectTitle, type Run, type Totals } from "./model";

export interface Pair { name: string; a: Totals; b: Totals; indexA: number; indexB: number; allA: number; allB: number }

interface Named { name: string; row: Totals; index: number }

function namedRows(run: Run, kind: "objects" | "sites" | "functions" | "threads"): Named[] {
  switch (kind) {
    case "objects": return run.objects.map((row, index) => ({ name: objectTitle(row), row, index }));
    case "sites": return run.sites.map((row, index) => ({ name: row.label || row.function || "", row, index }));
    case "functions": return run.functions.map((row, index) => ({ name: row.function, row, index }));
    case "threads": return run.threads.map((row, index) => ({ name: row.name, row, index }));
  }
}

const nothing = (): Totals => ({ samples: 0, reads: 0, writes: 0, remote: 0, home_known: 0, latency_sum: 0, latency_count: 0 });

function add(sum: Totals, row: Totals): void {
  for (const key of Object.keys(sum) as (keyof Totals)[]) sum[key] = (sum[key] ?? 0) + (row[key] ?? 0);
}

/* Several rows of one name count as one, and lead to the one with the most accesses. */
export function matchRows(a: Run, b: Run, kind: "objects" | "sites" | "functions" | "threads"): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const [run, side] of [[a, "a"], [b, "b"]] as const) {
    for (const { name, row, index } of namedRows(run, kind)) {
      let pair = pairs.get(name);
      if (!pair) pairs.set(name, (pair = { name, a: nothing(), b: nothing(), indexA: -1, indexB: -1, allA: a.totals.samples, allB: b.totals.samples }));
      add(pair[side], row);
      if (side === "a" && pair.indexA < 0) pair.indexA = index;
      if (side === "b" && pair.indexB < 0) pair.indexB = index;
    }
  }
  return [...pairs.values()];
}
