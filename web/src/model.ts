/* One run as the page sees it: the tables of the container's head, typed, with safe defaults for what is absent. */
import type { Container } from "./container";
import { percent, place } from "./format";
import { MemoryMap, type MapHead } from "./memory_map";

export const NONE = 0xffffffff;

/* An atomic update is one sample that reads and writes; some sources record neither. */
export interface Directed {
  samples: number;
  reads: number;
  writes: number;
}

export interface Totals extends Directed {
  remote: number;
  home_known: number;
  latency_sum?: number;
  latency_count?: number;
  /* Bytes per second between caches and memory; null: not known; absent: not recorded. */
  bytes_s?: number | null;
}

export interface Advice { action: string; text?: string; why?: string; code?: string | null }

export interface Finding {
  pattern: string; text?: string; name: string; function?: string | null; file?: string | null; line?: number | null;
  object: number; site?: number | string | null; node?: number | null;
  remote_samples?: number; share_of_remote?: number; lost_time_share?: number; confidence?: number;
  evidence?: string; gain?: string; then?: string | null; instead?: string | null; advice?: Advice[]; against?: Advice[]; from_s?: number | null; to_s?: number | null;
}

export interface Thread extends Totals {
  tid: number; pid: number; process: number; name: string; node: number; start_s: number; end_s: number | null;
}

export interface MemObject extends Totals {
  id: number; kind: string; name: string; label?: string; site: number; process: number; alloc_thread: number; alloc_fn?: string | null;
  addr: number; size: number; start_s: number; end_s: number | null; file?: string | null; line?: number | null; module?: string | null;
  stack: number; type?: number; leaf_first: number; leaf_count: number; homes?: number[];
}

export interface Site extends Totals {
  id: number; label: string; function?: string | null; file?: string | null; line?: number | null; kind: string; count: number;
  bytes: number; peak_bytes: number; start_s: number; end_s: number | null; stack: number;
}

export interface Func extends Totals { id: number; function: string; file?: string | null; line?: number | null; module?: string | null }
export interface Field extends Totals { text: string; depth: number; inside: number; offset: number; size: number; threads: number; writers: number; falsely: boolean }
export interface ItemType extends Totals { id: number; name: string; file?: string | null; line?: number | null; size: number; objects: number; fields: Field[]; advice: { text: string; code: string }[] }
export interface SourceText { file: string; first: number; text: string[] }
export interface Frame { function: string; file?: string | null; line?: number | null; module?: string | null; inlined?: boolean }
export interface Phase { start_s: number; end_s: number; name: string; samples?: number; remote?: number }
export interface NumaNode { id: number; os_index: number; cpus: string | number; memory: number }

/* One thing in run A, in run B, or in both. */
export interface ChangedSide { row: number; name: string; file: string | null; line: number | null; samples: number; share: number | null; remote_share: number | null; latency_mean: number | null }
export interface Changed { renamed: boolean; share_significant: boolean; remote_significant: boolean; latency_significant: boolean; before: ChangedSide | null; after: ChangedSide | null }
/* before, after: the finding's place in its run, or -1. */
export interface FindingFate { pattern: string; name: string; fate: "gone" | "remains" | "new" | "unsure"; why: string | null; before: number; after: number }
export interface Comparison {
  verdict: string; more: string | null; proof: string; note: string | null; comparable: boolean; remote_significant: boolean; latency_significant: boolean;
  findings: FindingFate[]; objects: Changed[]; sites: Changed[]; functions: Changed[]; threads: Changed[];
}

export interface LatencyHead {
  unit: string; bounds: number[]; local: number[]; remote: number[]; unknown?: number[];
  unloaded?: number[][] | null; p50?: number | null; p95?: number | null; p99?: number | null;
}

export interface RunHead {
  command: string; host?: string; start_time?: string | number | null; source: string; source_reason?: string | null; latency_unit?: string;
  duration_s: number; exit_status?: number | null; simulated: boolean; homes?: string | null; label?: string; file?: string | null; live?: boolean;
  damage?: string | null; losses?: { name: string; text: string; count: number }[]; unattributed?: { reason: string; count: number }[];
}

/* Accesses to objects over coarse slices of time: for an object's own page and for filtering tables by time. */
export interface Series {
  slices: number;
  object: Uint32Array; slice: Uint16Array; thread: Uint16Array; home: Uint8Array;
  samples: Uint32Array; reads: Uint32Array; writes: Uint32Array; remote: Uint32Array; timed: Uint32Array; latency: Float32Array;
}

/* What call chains did when, by which thread, to which object: for functions, lines and flame graph under a selection. */
export interface Chains {
  slices: number;
  node: Uint32Array; object: Uint32Array; function: Uint32Array; line: Uint32Array; slice: Uint16Array; thread: Uint16Array;
  samples: Uint32Array; reads: Uint32Array; writes: Uint32Array; remote: Uint32Array; known: Uint32Array; timed: Uint32Array; latency: Float32Array; stall: Float32Array;
}

export interface Lines { object: Uint32Array; line: Float64Array; thread: Uint16Array; reads: Uint32Array; writes: Uint32Array }
/* stall: what remote accesses wait longer than local ones would, as a share of run time. */
export interface FlameWeights { samples: ArrayLike<number>; remote: ArrayLike<number>; stall: ArrayLike<number> }
export interface FlameColumns extends FlameWeights { parent: Uint32Array; frame: Uint32Array }

export class Run {
  readonly head: RunHead;
  readonly totals: Totals;
  readonly nodes: NumaNode[];
  readonly distances: number[][];
  readonly matrix: number[][];
  /* Bytes per second from node to node; null: not recorded, or not known. */
  readonly matrixBytes: number[][] | null;
  /* Bytes per second are lower bounds: of hardware samples. */
  readonly bytesAtLeast: boolean;
  readonly latency: LatencyHead | null;
  readonly verdict: { numa_bound: boolean; decided?: boolean; text: string; lines?: string } | null;
  readonly findings: Finding[];
  /* Of the page's second run with the first. */
  readonly comparison: Comparison | null;
  readonly processes: (Totals & { pid: number; exe?: string; command?: string })[];
  readonly threads: Thread[];
  readonly objects: MemObject[];
  readonly objectsSkipped: number;
  readonly sites: Site[];
  readonly functions: Func[];
  readonly codeLines: Func[];
  readonly sources: SourceText[];
  readonly types: ItemType[];
  readonly stacks: number[][];
  readonly frames: Frame[];
  readonly phases: Phase[];
  readonly maps: MemoryMap[];
  readonly series: Series | null;
  readonly chains: Chains | null;
  readonly lines: Lines | null;
  readonly flame: FlameColumns | null;
  private readonly objectById: Map<number, MemObject>;

  constructor(container: Container, readonly index: number) {
    const head = container.head as Record<string, any>;
    const list = <T>(name: string): T[] => (Array.isArray(head[name]) ? head[name] : []);
    this.head = { command: "", source: "", duration_s: 0, simulated: false, ...head["run"] };
    this.totals = { samples: 0, reads: 0, writes: 0, remote: 0, home_known: 0, ...head["totals"] };
    this.nodes = list("nodes");
    this.distances = list("distances");
    this.matrix = list("matrix");
    this.matrixBytes = Array.isArray(head["matrix_bytes_s"]) ? head["matrix_bytes_s"] : null;
    this.bytesAtLeast = head["bytes_at_least"] === true;
    this.latency = head["latency"]?.bounds?.length ? head["latency"] : null;
    this.verdict = head["verdict"] ?? null;
    this.findings = list("findings");
    this.comparison = head["comparison"] ?? null;
    this.processes = list("processes");
    this.threads = list("threads");
    this.objects = list("objects");
    this.objectsSkipped = head["objects_skipped"] ?? 0;
    this.sites = list("sites");
    this.functions = list("functions");
    this.codeLines = list("lines");
    this.sources = list("sources");
    this.types = list("types");
    this.stacks = list("stacks");
    this.frames = list("frames");
    this.phases = list("phases");
    this.maps = list<MapHead>("maps").map((map) => new MemoryMap(container, map));
    this.series = readColumns(container, "s", ["object", "slice", "thread", "home", "samples", "reads", "writes", "remote", "timed", "latency"], {
      slices: head["series_slices"] ?? 100,
    });
    this.chains = readColumns(container, "c", ["node", "object", "function", "line", "slice", "thread", "samples", "reads", "writes", "remote", "known", "timed", "latency", "stall"], {
      slices: head["chain_slices"] ?? 1,
    });
    this.lines = readColumns(container, "l", ["object", "line", "thread", "reads", "writes"], {});
    this.flame = readColumns(container, "f", ["parent", "frame", "samples", "remote", "stall"], {});
    this.objectById = new Map(this.objects.map((object) => [object.id, object]));
  }

  /* The row of the objects table with this id; ids in columns are positions in that table. */
  object(index: number): MemObject | null {
    return this.objects[index] ?? null;
  }

  objectWithId(id: number): MemObject | null {
    return this.objectById.get(id) ?? null;
  }

  objectName(index: number): string {
    const object = this.object(index);
    return object ? objectTitle(object) : "no object";
  }

  /* Without its place in the source: for axes and lists. */
  shortName(index: number): string {
    return this.objectName(index).replace(/ \([^()]*:\d+\)$/, "");
  }

  threadName(index: number): string {
    const thread = this.threads[index];
    return thread ? `${thread.name} ${thread.tid}` : "thread ?";
  }

  processName(index: number): string {
    const process = this.processes[index];
    return process ? `${(process.exe || process.command || "process").replace(/^.*\//, "")} ${process.pid}` : "process ?";
  }

  /* As the kernel numbers it. */
  nodeName(index: number): string {
    return `node ${this.nodes[index]?.os_index ?? index}`;
  }

  /* Of the bytes from memory, those of another node than the thread's; null: not known. */
  get remoteBytes(): number | null {
    const all = (this.matrixBytes ?? []).flat().reduce((a, b) => a + b, 0);
    const local = (this.matrixBytes ?? []).reduce((sum, row, i) => sum + (row[i] ?? 0), 0);
    return all > 0 && !this.bytesAtLeast ? 1 - local / all : null;
  }

  get duration(): number {
    return this.head.duration_s || this.maps[0]?.end || 1;
  }

  get label(): string {
    const label = this.head.label ?? "";
    return label.slice(label.lastIndexOf("/") + 1) || (this.index === 0 ? "A" : "B");
  }
}

export function objectTitle(object: MemObject): string {
  return object.label || object.name || `${object.kind} object`;
}

/* file:line, unless the title says it already. */
export function placeBeside(title: string, file?: string | null, line?: number | null): string {
  const where = place(file, line);
  return title.includes(where) ? "" : where;
}

export function remoteShare(row: Totals): number {
  return row.home_known > 0 ? row.remote / row.home_known : 0;
}

/* The part of a row's accesses that read, or write; – where their direction was not recorded. */
export function directed(row: Directed, way: "reads" | "writes"): string {
  return row.reads + row.writes > 0 || row.samples === 0 ? percent(row[way] / Math.max(1, row.samples)) : "–";
}

export function meanLatency(row: Totals): number {
  return row.latency_count ? (row.latency_sum ?? 0) / row.latency_count : 0;
}

function readColumns<T>(container: Container, prefix: string, names: string[], extra: object): T | null {
  const all: Record<string, unknown> = { ...extra };
  for (const name of names) {
    const column = container.column(`${prefix}.${name}`);
    if (!column) return null;
    all[name] = column;
  }
  return (all[names[0]!] as { length: number }).length > 0 ? (all as T) : null;
}
