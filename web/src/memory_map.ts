/* A map of memory: leaves (groups of pages), their hierarchy, and cells (what one thread did in one leaf during one slice). */
import type { Container } from "./container";

export interface PartitionHead { p: number; gain: number; loss: number; first_block: number; blocks: number; skipped?: boolean }

/* What an aggregation was searched among, where not among everything: docs/pages.md. */
export interface SearchHead { exact?: boolean; group?: number; least_leaves?: number; bound?: number }

export interface AggregationHead extends SearchHead { view: "cartography" | "gantt"; partitions: PartitionHead[]; prefix: string }

export interface MapHead {
  space: "virtual" | "physical"; start_s: number; end_s: number; slices: number; page_bytes: number; outside?: number;
  outside_text?: string; prefix: string; aggregations?: AggregationHead[];
}

export const enum NodeKind { All = 0, Process = 1, Range = 2, Split = 3, Pages = 4 }

/* A hierarchy in preorder: a node covers leaves [first, first + leaves). */
export interface Tree {
  parent: Uint32Array;
  first: Uint32Array;
  leaves: Uint32Array;
  kind: Uint8Array;
  object: Uint32Array;
  /* Only of the Gantt's tree: the thread of a row's node. */
  thread: Uint32Array | null;
}

export interface Aggregation {
  search: SearchHead;
  partitions: PartitionHead[];
  node: Uint32Array;
  first: Uint16Array;
  last: Uint16Array;
  tree: Tree;
  /* Of the Gantt: leaf of the map and thread of each of its own leaves. */
  lanes: { leaf: Uint32Array; thread: Uint16Array } | null;
}

const EMPTY32 = new Uint32Array(0);

export class MemoryMap {
  readonly space: "virtual" | "physical";
  readonly start: number;
  readonly end: number;
  readonly slices: number;
  readonly pageBytes: number;
  readonly outside: number;
  readonly leafAddr: Float64Array;
  readonly leafBytes: Float64Array;
  readonly leafProcess: Uint32Array;
  readonly leafObject: Uint32Array;
  readonly tree: Tree;
  readonly cellLeaf: Uint32Array;
  readonly cellSlice: Uint16Array;
  readonly cellThread: Uint16Array;
  readonly cellSamples: Uint32Array;
  readonly cellReads: Uint32Array;
  readonly cellWrites: Uint32Array;
  readonly cellRemote: Uint32Array;
  readonly cellLatency: Float32Array;
  readonly cellTimed: Uint32Array;
  readonly cartography: Aggregation | null;
  readonly gantt: Aggregation | null;
  private sharedLeaves: Uint8Array | null = null;

  constructor(container: Container, head: MapHead) {
    this.space = head.space;
    this.start = head.start_s;
    this.end = head.end_s;
    this.slices = head.slices;
    this.pageBytes = head.page_bytes || 4096;
    this.outside = head.outside ?? 0;
    const v = head.prefix;
    this.leafAddr = (container.column(`${v}.leaf.addr`) as Float64Array | null) ?? new Float64Array(0);
    this.leafBytes = (container.column(`${v}.leaf.bytes`) as Float64Array | null) ?? new Float64Array(0);
    this.leafProcess = (container.column(`${v}.leaf.process`) as Uint32Array | null) ?? EMPTY32;
    this.leafObject = (container.column(`${v}.leaf.object`) as Uint32Array | null) ?? EMPTY32;
    this.tree = readTree(container, `${v}.node`);
    const cell = <T>(name: string): T => container.column(`${v}.cell.${name}`) as T;
    this.cellLeaf = cell<Uint32Array>("leaf") ?? EMPTY32;
    this.cellSlice = cell<Uint16Array>("slice") ?? new Uint16Array(0);
    this.cellThread = cell<Uint16Array>("thread") ?? new Uint16Array(0);
    this.cellSamples = cell<Uint32Array>("samples") ?? EMPTY32;
    this.cellReads = cell<Uint32Array>("reads") ?? EMPTY32;
    this.cellWrites = cell<Uint32Array>("writes") ?? EMPTY32;
    this.cellRemote = cell<Uint32Array>("remote") ?? EMPTY32;
    this.cellLatency = cell<Float32Array>("latency") ?? new Float32Array(this.cellLeaf.length);
    this.cellTimed = cell<Uint32Array>("timed") ?? new Uint32Array(this.cellLeaf.length);
    const aggregations = head.aggregations ?? [];
    this.cartography = readAggregation(container, aggregations.find((a) => a.view === "cartography"), this.tree);
    this.gantt = readAggregation(container, aggregations.find((a) => a.view === "gantt"), null);
  }

  get leaves(): number {
    return this.leafAddr.length;
  }

  get cells(): number {
    return this.cellLeaf.length;
  }

  get sliceSeconds(): number {
    return (this.end - this.start) / Math.max(1, this.slices);
  }

  /* 1 for each leaf that two or more threads use, over the whole run: what MOCA paints red. */
  shared(): Uint8Array {
    if (this.sharedLeaves) return this.sharedLeaves;
    const shared = new Uint8Array(this.leaves);
    const firstThread = new Int32Array(this.leaves).fill(-1);
    for (let i = 0; i < this.cells; i++) {
      const leaf = this.cellLeaf[i]!;
      if (firstThread[leaf] === -1) firstThread[leaf] = this.cellThread[i]!;
      else if (firstThread[leaf] !== this.cellThread[i]) shared[leaf] = 1;
    }
    return (this.sharedLeaves = shared);
  }

  /* Of a window: what is shared in the whole run, though one thread alone may use it in this stretch of time. */
  adoptShared(shared: Uint8Array): void {
    this.sharedLeaves = shared;
  }
}

function readTree(container: Container, prefix: string): Tree {
  const column = <T>(name: string): T | null => container.column(`${prefix}.${name}`) as T | null;
  return {
    parent: column<Uint32Array>("parent") ?? EMPTY32,
    first: column<Uint32Array>("first") ?? EMPTY32,
    leaves: column<Uint32Array>("leaves") ?? EMPTY32,
    kind: column<Uint8Array>("kind") ?? new Uint8Array(0),
    object: column<Uint32Array>("object") ?? EMPTY32,
    thread: column<Uint32Array>("thread"),
  };
}

/* p is how a partition is chosen: those that become best at nearly the same p are set a hair apart. */
function apart(partitions: PartitionHead[]): PartitionHead[] {
  let last = -1;
  return partitions.map((partition) => ({ ...partition, p: (last = Math.max(partition.p, last + 1e-7)) }));
}

function readAggregation(container: Container, head: AggregationHead | undefined, tree: Tree | null): Aggregation | null {
  if (!head || head.partitions.length === 0) return null;
  const node = container.column(`${head.prefix}.block.node`) as Uint32Array | null;
  const first = container.column(`${head.prefix}.block.first`) as Uint16Array | null;
  const last = container.column(`${head.prefix}.block.last`) as Uint16Array | null;
  if (!node || !first || !last) return null;
  const leaf = container.column(`${head.prefix}.leaf.leaf`) as Uint32Array | null;
  const thread = container.column(`${head.prefix}.leaf.thread`) as Uint16Array | null;
  /* Partitions too large for the page have no blocks in it; the first is every cell, which is there as such. */
  return {
    search: head,
    partitions: apart(head.partitions.filter((partition, i) => i === 0 || !partition.skipped)), node, first, last,
    tree: tree ?? readTree(container, `${head.prefix}.node`),
    lanes: leaf && thread ? { leaf, thread } : null,
  };
}
