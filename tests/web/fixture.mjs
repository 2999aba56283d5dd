/* Recordings made up for the page's tests, in the container of docs/view.md: a matrix multiplication, a program that saturates
 * one node, one with hostile names, and one as large as a page may get. Nothing here is measured. */
import { deflateSync } from "node:zlib";

const NONE = 0xffffffff;
const PAGE = 4096;
const STALLED = 0.31; /* of run time, by remote accesses */

/* A generator of numbers that is the same in every run. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

/* columns: { name: [type, values] } */
export function container(head, columns) {
  const places = {};
  const parts = [];
  let offset = 0;
  for (const [name, [type, values]] of Object.entries(columns)) {
    const array = TYPES[type].from(values);
    places[name] = { type, offset, count: array.length };
    const bytes = Buffer.from(array.buffer);
    const padding = (8 - (bytes.length % 8)) % 8;
    parts.push(bytes, Buffer.alloc(padding));
    offset += bytes.length + padding;
  }
  const json = Buffer.from(JSON.stringify({ ...head, columns: places }));
  const start = Buffer.alloc(16);
  start.write("NLPG");
  start.writeUInt32LE(1, 4);
  start.writeUInt32LE(json.length, 8);
  return Buffer.concat([start, json, Buffer.alloc((8 - (json.length % 8)) % 8), ...parts]);
}

export function embed(page, containers) {
  const elements = containers.map((c) => `<script type="text/plain" class="numalens-data" data-encoding="deflate">${deflateSync(c).toString("base64")}</script>`);
  return page.replace("<!--numalens-data-->", () => elements.join("\n"));
}

/* A program as a list of threads, objects and accesses {thread, object, page, slice, reads, writes, updates, remote, latency}. */
class Program {
  constructor(options) {
    Object.assign(this, { slices: 200, duration: 2, nodes: 4, threads: [], objects: [], cells: new Map(), frames: [], stacks: [], phases: [], findings: [] }, options);
  }

  frame(func, file, line, inlined = false) {
    this.frames.push({ function: func, file, line, module: "/usr/bin/example", inlined });
    return this.frames.length - 1;
  }

  stack(frames) {
    this.stacks.push(frames);
    return this.stacks.length - 1;
  }

  thread(name, node) {
    const index = this.threads.length;
    this.threads.push({ tid: 4000 + index, pid: 4000, process: 0, name, node, start_s: index ? this.duration * 0.2 : 0, end_s: null });
    return index;
  }

  object(fields) {
    const last = this.objects[this.objects.length - 1];
    const addr = fields.addr ?? (last ? last.addr + Math.ceil(last.size / PAGE) * PAGE + (fields.gap ?? 0) * PAGE : 0x7f1200000000);
    this.objects.push({ kind: "heap", site: this.objects.length, process: 0, alloc_thread: 0, alloc_fn: "malloc", start_s: 0, end_s: null, module: "/usr/bin/example", stack: -1, ...fields, addr });
    return this.objects.length - 1;
  }

  access(thread, object, page, slice, { reads = 0, writes = 0, updates = 0, home = 0, latency = 90 }) {
    const samples = reads + writes + updates;
    const key = (object * 65536 + page) * 1048576 + slice * 256 + thread;
    let cell = this.cells.get(key);
    if (!cell) this.cells.set(key, (cell = { thread, object, page, slice, samples: 0, reads: 0, writes: 0, remote: 0, latency: 0, timed: 0, home }));
    const far = this.threads[thread].node !== home;
    cell.samples += samples;
    cell.reads += reads + updates;
    cell.writes += writes + updates;
    if (far) cell.remote += samples;
    cell.latency += samples * latency * (far ? 1.9 : 1);
    cell.timed += samples;
  }

  build() {
    const leaves = [], leafOf = new Map();
    this.objects.forEach((object, o) => {
      object.leaf_first = leaves.length;
      const pages = Math.ceil(object.size / PAGE);
      object.leaf_count = pages;
      for (let p = 0; p < pages; p++) {
        leafOf.set(o * 65536 + p, leaves.length);
        leaves.push({ addr: object.addr + p * PAGE, object: o });
      }
    });
    const cells = [...this.cells.values()].map((cell) => ({ ...cell, leaf: leafOf.get(cell.object * 65536 + cell.page) }));
    cells.sort((a, b) => a.leaf - b.leaf || a.slice - b.slice || a.thread - b.thread);
    const totals = () => ({ samples: 0, reads: 0, writes: 0, remote: 0, home_known: 0, latency_sum: 0, latency_count: 0 });
    const add = (row, cell) => {
      row.samples += cell.samples; row.reads += cell.reads; row.writes += cell.writes; row.remote += cell.remote;
      row.home_known += cell.samples; row.latency_sum += cell.latency; row.latency_count += cell.timed;
    };
    const all = totals(), threads = this.threads.map((t) => ({ ...t, ...totals() }));
    const objects = this.objects.map((o, id) => ({ id, label: o.name, homes: Array(this.nodes).fill(0), ...o, ...totals() }));
    const matrix = Array.from({ length: this.nodes }, () => Array(this.nodes).fill(0));
    const bounds = Array.from({ length: 24 }, (_, i) => Math.round(20 * 1.35 ** i));
    const local = Array(24).fill(0), remote = Array(24).fill(0);
    for (const cell of cells) {
      for (const row of [all, threads[cell.thread], objects[cell.object]]) add(row, cell);
      objects[cell.object].homes[cell.home] += cell.samples;
      matrix[this.threads[cell.thread].node][cell.home] += cell.samples;
      const bucket = Math.min(23, Math.max(0, bounds.findIndex((b) => b >= cell.latency / cell.timed + (cell.leaf % 7) * 9)));
      (cell.remote ? remote : local)[bucket] += cell.samples;
    }
    const sites = objects.map((o) => ({ ...o, label: o.name, function: o.alloc_site ?? "main", count: 1, bytes: o.size, peak_bytes: o.size }));
    const lines = (this.lines ?? [{ function: "multiply", file: "/src/matmul.c", line: 21 }, { function: "main", file: "/src/matmul.c", line: 40 }]).map((f, id) => ({ id, module: "/usr/bin/example", ...f, ...share(all, id === 0 ? 0.8 : 0.2) }));
    const sources = this.sources ?? [{ file: "/src/matmul.c", first: 19, text: ["    for (size_t k = 0; k < n; k++)", "        for (size_t j = 0; j < n; j++)", "            c[i * n + j] += a[i * n + k] * b[k * n + j];"] }];
    const functions = (this.functions ?? [{ function: "multiply", file: "/src/matmul.c", line: 21 }, { function: "main", file: "/src/matmul.c", line: 40 }]).map((f, id) => ({ id, module: "/usr/bin/example", ...f, ...share(all, id === 0 ? 0.8 : 0.2) }));
    const columns = { ...this.mapColumns(leaves, cells), ...this.seriesColumns(cells), ...this.lineColumns(cells), ...this.flameColumns(all) };
    const head = {
      version: 1, generator: "numalens fixture",
      run: { command: "./matmul 512", host: "example", start_time: "2026-01-01T00:00:00Z", source: "soft", source_reason: "no PMU here", latency_unit: "ns", duration_s: this.duration, exit_status: 0, simulated: false, homes: null, label: "", live: false, damage: null, losses: [], unattributed: [], ...this.run },
      totals: all, nodes: Array.from({ length: this.nodes }, (_, id) => ({ id, os_index: id, cpus: `${id * 2}-${id * 2 + 1}`, memory: 2 ** 33 })),
      distances: Array.from({ length: this.nodes }, (_, i) => Array.from({ length: this.nodes }, (_, j) => (i === j ? 10 : 21))), matrix,
      latency: { unit: "ns", bounds, local, remote, unknown: [], unloaded: null, p50: 130, p95: 220, p99: 260 },
      verdict: { numa_bound: all.remote > all.samples / 4, text: "Remote memory costs an estimated 31% of the time. That is above the 10% from which a change pays.", lines: "Remote memory costs an estimated 31% of the time.\nThat is above the 10% from which a change pays." },
      findings: this.findings, comparison: this.comparison, processes: [], threads, objects, objects_skipped: 0, sites, functions, lines, sources, types: this.types ?? [], stacks: this.stacks, frames: this.frames, phases: this.phases,
      series_slices: 100, chain_slices: 100, maps: [{ space: "virtual", start_s: 0, end_s: this.duration, slices: this.slices, page_bytes: PAGE, outside: 0, prefix: "v", aggregations: this.aggregations },
        { space: "physical", start_s: 0, end_s: this.duration, slices: this.slices, page_bytes: PAGE, outside: 7, prefix: "v", aggregations: [] }],
    };
    return container(head, columns);
  }

  mapColumns(leaves, cells) {
    const tree = treeOf(this.objects.map((o) => o.leaf_count), 0);
    const threadsOf = this.threads.map(() => []);
    for (const cell of cells) {
      const parts = threadsOf[cell.thread], part = parts[parts.length - 1];
      if (!part || part.object !== cell.object) parts.push({ object: cell.object, leaves: [cell.leaf] });
      else if (part.leaves[part.leaves.length - 1] !== cell.leaf) part.leaves.push(cell.leaf);
    }
    const gantt = { parent: [NONE], first: [0], leaves: [0], kind: [0], object: [NONE], thread: [NONE] }, ganttLeaf = [], ganttThread = [];
    threadsOf.forEach((parts, t) => {
      const row = gantt.parent.length;
      push(gantt, { parent: 0, first: ganttLeaf.length, leaves: parts.reduce((n, p) => n + p.leaves.length, 0), kind: 1, object: NONE, thread: t });
      for (const part of parts) {
        const node = gantt.parent.length;
        push(gantt, { parent: row, first: ganttLeaf.length, leaves: part.leaves.length, kind: 2, object: part.object, thread: t });
        for (const leaf of part.leaves) {
          push(gantt, { parent: node, first: ganttLeaf.length, leaves: 1, kind: 4, object: part.object, thread: t });
          ganttLeaf.push(leaf);
          ganttThread.push(t);
        }
      }
    });
    gantt.leaves[0] = ganttLeaf.length;
    const carto = partitionsOf(tree, this.slices), rows = partitionsOf(gantt, this.slices);
    this.aggregations = [{ view: "cartography", ...this.search, partitions: carto.partitions, prefix: "v.c" }, { view: "gantt", ...this.search, partitions: rows.partitions, prefix: "v.g" }];
    return {
      "v.leaf.addr": ["f64", leaves.map((l) => l.addr)], "v.leaf.bytes": ["f64", leaves.map(() => PAGE)], "v.leaf.process": ["u32", leaves.map(() => 0)], "v.leaf.object": ["u32", leaves.map((l) => l.object)],
      ...columnsOf("v.node", tree), ...columnsOf("v.g.node", gantt), "v.g.leaf.leaf": ["u32", ganttLeaf], "v.g.leaf.thread": ["u16", ganttThread],
      "v.cell.leaf": ["u32", cells.map((c) => c.leaf)], "v.cell.slice": ["u16", cells.map((c) => c.slice)], "v.cell.thread": ["u16", cells.map((c) => c.thread)],
      "v.cell.samples": ["u32", cells.map((c) => c.samples)], "v.cell.reads": ["u32", cells.map((c) => c.reads)], "v.cell.writes": ["u32", cells.map((c) => c.writes)], "v.cell.remote": ["u32", cells.map((c) => c.remote)],
      "v.cell.latency": ["f32", cells.map((c) => c.latency)], "v.cell.timed": ["u32", cells.map((c) => c.timed)],
      ...blockColumns("v.c", carto.blocks), ...blockColumns("v.g", rows.blocks),
    };
  }

  seriesColumns(cells) {
    const rows = new Map();
    for (const cell of cells) {
      const slice = Math.floor((cell.slice * 100) / this.slices);
      const key = `${cell.object} ${slice} ${cell.thread} ${cell.home}`;
      let row = rows.get(key);
      if (!row) rows.set(key, (row = { object: cell.object, slice, thread: cell.thread, home: cell.home, samples: 0, reads: 0, writes: 0, remote: 0, timed: 0, latency: 0 }));
      for (const name of ["samples", "reads", "writes", "remote", "timed", "latency"]) row[name] += cell[name];
    }
    const list = [...rows.values()].sort((a, b) => a.object - b.object || a.slice - b.slice || a.thread - b.thread);
    const types = { object: "u32", slice: "u16", thread: "u16", home: "u8", samples: "u32", reads: "u32", writes: "u32", remote: "u32", timed: "u32", latency: "f32" };
    return { ...Object.fromEntries(Object.entries(types).map(([name, type]) => [`s.${name}`, [type, list.map((row) => row[name])]])), ...this.chainColumns(list) };
  }

  /* The first thread is in main, the others are in multiply. */
  chainColumns(rows) {
    if (this.frames.length === 0) return {};
    const remote = rows.reduce((sum, row) => sum + row.remote, 0);
    const list = rows.map((row) => ({ ...row, node: row.thread === 0 ? 1 : 2, function: row.thread === 0 ? 1 : 0, line: row.thread === 0 ? 1 : 0, known: row.samples, stall: (STALLED * row.remote) / remote }));
    const types = { node: "u32", object: "u32", function: "u32", line: "u32", slice: "u16", thread: "u16", samples: "u32", reads: "u32", writes: "u32", remote: "u32", known: "u32", timed: "u32", latency: "f32", stall: "f32" };
    return Object.fromEntries(Object.entries(types).map(([name, type]) => [`c.${name}`, [type, list.map((row) => row[name])]]));
  }

  lineColumns(cells) {
    const lines = [];
    for (const cell of cells.filter((c) => c.page === 0 && c.thread > 0).slice(0, 60)) lines.push({ object: cell.object, line: 64 * (cell.slice % 5), thread: cell.thread, reads: cell.reads, writes: cell.writes });
    const types = { object: "u32", line: "f64", thread: "u16", reads: "u32", writes: "u32" };
    return Object.fromEntries(Object.entries(types).map(([name, type]) => [`l.${name}`, [type, lines.map((row) => row[name])]]));
  }

  flameColumns(all) {
    if (this.frames.length === 0) return {};
    const nodes = [[NONE, NONE, 1], [0, 0, 1], [1, 1, 0.8], [2, 2, 0.65], [1, 3, 0.18], [2, 3, 0.1]].filter(([, frame]) => frame === NONE || frame < this.frames.length);
    return {
      "f.parent": ["u32", nodes.map((n) => n[0])], "f.frame": ["u32", nodes.map((n) => n[1])], "f.samples": ["u32", nodes.map((n) => all.samples * n[2])],
      "f.remote": ["u32", nodes.map((n) => all.remote * n[2])], "f.stall": ["f64", nodes.map((n) => STALLED * n[2])],
    };
  }
}

/* A type whose first two fields are used, and shared falsely. */
function typeOf(id, name, fields) {
  const totals = { samples: 400, reads: 100, writes: 300, remote: 200, home_known: 400, latency_sum: 80000, latency_count: 400 };
  return { id, name, file: "/src/matmul.c", line: 9, size: 8 * fields.length, objects: 1, ...totals, advice: [{ text: `${name} is shared falsely:`, code: `${name} {\n    alignas(64) ${fields[0]};\n};` }],
    fields: fields.map((text, i) => ({ text, depth: 0, inside: 0, offset: 8 * i, size: 8, threads: 2, writers: 2, falsely: i < 2, ...share(totals, i < 2 ? 0.5 : 0) })) };
}

function share(all, part) {
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, Math.round(value * part)]));
}

function push(tree, node) {
  for (const name of Object.keys(tree)) tree[name].push(node[name]);
}

function columnsOf(prefix, tree) {
  const types = { parent: "u32", first: "u32", leaves: "u32", kind: "u8", object: "u32", thread: "u32" };
  return Object.fromEntries(Object.keys(tree).map((name) => [`${prefix}.${name}`, [types[name], tree[name]]]));
}

/* Root, process, one node an object, splits in eights, leaves. */
function treeOf(counts) {
  const tree = { parent: [NONE], first: [0], leaves: [0], kind: [0], object: [NONE] };
  push(tree, { parent: 0, first: 0, leaves: 0, kind: 1, object: NONE });
  let first = 0;
  const split = (parent, from, count, object) => {
    if (count === 1) return push(tree, { parent, first: from, leaves: 1, kind: 4, object });
    const step = Math.ceil(count / 8);
    for (let at = 0; at < count; at += step) {
      const n = Math.min(step, count - at), own = tree.parent.length;
      push(tree, { parent, first: from + at, leaves: n, kind: n === 1 ? 4 : 3, object: NONE });
      if (n > 1) split(own, from + at, n, object);
    }
  };
  counts.forEach((count, object) => {
    const node = tree.parent.length;
    push(tree, { parent: 1, first, leaves: count, kind: 2, object });
    if (count > 1) split(node, first, count, object);
    first += count;
  });
  tree.leaves[0] = tree.leaves[1] = first;
  return tree;
}

/* Nine partitions from every leaf and slice to one block: coarser nodes and longer times step by step. */
function partitionsOf(tree, slices) {
  const depth = [], partitions = [], blocks = [];
  tree.parent.forEach((parent, node) => depth.push(parent === NONE ? 0 : depth[parent] + 1));
  const deepest = Math.max(...depth), isParent = new Set(tree.parent);
  const steps = 8;
  for (let step = 0; step <= steps; step++) {
    const level = Math.max(0, Math.round(deepest * (1 - step / steps)));
    const length = step === 0 ? 1 : step === steps ? slices : Math.max(1, Math.round(slices ** ((step + 1) / (steps + 1)) / 2));
    const first = blocks.length;
    if (step > 0) {
      tree.parent.forEach((_, node) => {
        if (depth[node] !== level && !(depth[node] < level && !isParent.has(node))) return;
        for (let s = 0; s < slices; s += length) blocks.push({ node, first: s, last: Math.min(slices, s + length) - 1 });
      });
    } else blocks.push({ node: 0, first: 0, last: slices - 1 });
    partitions.push({ p: step / steps, gain: (step / steps) ** 0.6, loss: (step / steps) ** 2, first_block: first, blocks: blocks.length - first });
  }
  return { partitions, blocks };
}

function blockColumns(prefix, blocks) {
  return { [`${prefix}.block.node`]: ["u32", blocks.map((b) => b.node)], [`${prefix}.block.first`]: ["u16", blocks.map((b) => b.first)], [`${prefix}.block.last`]: ["u16", blocks.map((b) => b.last)] };
}

/* A master fills two matrices, two workers multiply: the example of MOCA's Section 3. */
export function matmul(run = {}, spread = false, search = { exact: true }) {
  const program = new Program({ search, run: { ...run } });
  const next = random(7);
  const pages = 64, { slices } = program;
  const main = program.thread("matmul", 0), workers = [program.thread("worker", 1), program.thread("worker", 2)];
  const frames = [program.frame("main", "/src/matmul.c", 52), program.frame("worker", "/src/matmul.c", 33), program.frame("multiply", "/src/matmul.c", 21), program.frame("matrix_new", "/src/matmul.c", 12, true)];
  const stack = program.stack([frames[3], frames[0]]);
  const size = pages * PAGE;
  const a = program.object({ name: "A", size, file: "/src/matmul.c", line: 12, stack }), b = program.object({ name: "B", size, file: "/src/matmul.c", line: 12, stack }), c = program.object({ name: "result", size, file: "/src/matmul.c", line: 12, stack });
  const pids = program.object({ name: "pids", size: PAGE, gap: 4000, file: "/src/matmul.c", line: 48, stack, end_s: program.duration * 0.9, type: 7 });
  program.types = [typeOf(7, "struct slot", ["long turns", "long misses"])];
  const filled = Math.floor(slices * 0.2);
  const home = (page) => (spread ? 1 + (page % 2) : 0);
  for (let s = 0; s < filled; s++) {
    for (const matrix of [a, b, c]) program.access(main, matrix, Math.floor((s / filled) * pages), s, { writes: 6 + Math.floor(next() * 8), home: home(Math.floor((s / filled) * pages)) });
    program.access(main, pids, 0, s, { updates: 1 });
  }
  for (let s = filled; s < slices; s++) {
    const line = Math.floor(((s - filled) / (slices - filled)) * pages);
    for (const worker of workers) {
      program.access(worker, a, line, s, { reads: 20 + Math.floor(next() * 10), home: home(line) });
      program.access(worker, c, line, s, { writes: 8 + Math.floor(next() * 6), home: home(line) });
      for (let p = 0; p < pages; p++) if (next() < 0.7) program.access(worker, b, p, s, { reads: 1 + Math.floor(next() * 5), home: home(p), latency: 110 });
    }
  }
  const at = program.duration * 0.2;
  program.phases = [{ start_s: 0, end_s: at, name: "matmul writes A, B, result" }, { start_s: at, end_s: program.duration, name: "worker 1-2 read B" }];
  program.findings = [{
    pattern: "remote-after-allocation", name: "B", function: "matrix_new", file: "/src/matmul.c", line: 12, object: b, site: b, node: null, remote_samples: 20000, share_of_remote: 0.71, lost_time_share: 0.24, confidence: 0.97,
    text: "B is written once by matmul on node 0 and read by two workers on nodes 1 and 2.", evidence: "100% of its accesses after the first 400 ms are remote.", gain: "If every access to it were local.",
    advice: [{ action: "duplicate", why: "it is only read after it is filled", code: "double *mine = numa_alloc_onnode(size, node);\nmemcpy(mine, B, size);" }, { action: "interleave", why: "two nodes read all of it" }],
    against: [{ action: "migrate", why: "two nodes use it at the same time" }], from_s: at, to_s: program.duration,
  }, { pattern: "far-initialised", name: "A", function: "matrix_new", file: "/src/matmul.c", line: 12, object: a, site: a, remote_samples: 6000, share_of_remote: 0.22, lost_time_share: 0.06, confidence: 0.9, evidence: "main touches it first.", advice: [{ action: "first-touch", why: "each worker uses its own lines", code: "#pragma omp parallel for" }], against: [], from_s: at, to_s: program.duration }];
  if (spread) program.comparison = twins();
  return program.build();
}

/* A row of a comparison: its name, and share, remote part and latency in one run and the other; null where it is not. */
function changedRow(name, before, after, more = {}) {
  const side = (values, row) => values && { row, name, file: "/src/matmul.c", line: 12, samples: 1000, share: values[0], remote_share: values[1], latency_mean: values[2] };
  const differs = (i) => !before || !after || Math.abs(after[i] - before[i]) > 0.05;
  return { renamed: false, share_significant: differs(0), remote_significant: differs(1), latency_significant: false, before: side(before, more.row ?? -1), after: side(after, more.row ?? -1) };
}

/* What `numalens compare` would have of matmul and its twin: one finding went away, one is new, and the result has another name. */
function twins() {
  const rows = [changedRow("A", [0.3, 0.98, 160], [0.3, 0.5, 120], { row: 0 }), changedRow("B", [0.5, 0.98, 180], [0.5, 0.4, 130], { row: 1 }), changedRow("product", [0.15, 0.98, 150], [0.15, 0.7, 140], { row: 2 }), changedRow("pids", [0.05, 0, 90], [0.05, 0.01, 90], { row: 3 })];
  Object.assign(rows[2], { renamed: true, before: { ...rows[2].before, name: "result", line: 11 } });
  return {
    verdict: "Remote accesses fell from 98.0% to 51.0%; mostly B (matmul.c:12).", more: "3 objects and 1 function changed significantly. product (matmul.c:12) is what was result (matmul.c:11).",
    proof: "Far-initialised on A is new, remote-after-allocation on B went away.", note: null, comparable: true, remote_significant: true, latency_significant: false,
    findings: [{ pattern: "remote-after-allocation", name: "B", fate: "gone", why: "98.0% of its accesses were remote, 40.0% are", before: 0, after: -1 }, { pattern: "far-initialised", name: "A", fate: "new", why: "30.0% of its accesses were remote, 50.0% are", before: -1, after: 1 }],
    objects: rows, sites: rows, functions: [changedRow("multiply", [0.8, 0.98, 160], [0.8, 0.5, 120]), changedRow("main", [0.2, 0, 90], null)], threads: [changedRow("worker", [0.8, 0.98, 160], [0.8, 0.5, 120], { row: 1 })],
  };
}

/* Eight threads on four nodes, all data on node 0. */
export function saturated(run = {}) {
  const program = new Program({ run: { command: "./saturated", simulated: true, homes: "first touch", losses: [{ name: "ring_full", text: "samples: the ring was full", count: 1234 }], unattributed: [{ reason: "freed before it was read", count: 12 }], ...run } });
  const next = random(3);
  program.thread("saturated", 0);
  for (let i = 0; i < 8; i++) program.thread("worker", Math.floor(i / 2));
  for (let i = 0; i < 12; i++) program.object({ name: `chunk[${i}]`, size: 24 * PAGE, gap: i % 3 === 0 ? 300 : 0, file: "/src/saturated.c", line: 30 + i, start_s: 0.05 * i, end_s: i % 4 === 1 ? 1.2 + 0.05 * i : null });
  for (let s = 0; s < program.slices; s++) {
    for (let t = 1; t <= 8; t++) for (let n = 0; n < 12; n++) {
      const object = Math.floor(next() * 12), meta = program.objects[object], time = (s / program.slices) * program.duration;
      if (time < meta.start_s || (meta.end_s !== null && time > meta.end_s)) continue;
      program.access(t, object, Math.floor(next() * 24), s, { reads: 1 + Math.floor(next() * 4), writes: next() < 0.3 ? 1 : 0, latency: 140 });
    }
  }
  program.phases = [{ start_s: 0, end_s: program.duration, name: "worker 1-8 read chunk[0..11]" }];
  return program.build();
}

/* Names that would do harm if they were taken for markup. */
export const HOSTILE = [
  "<img src=x onerror=\"window.hurt=1\">", "</script><script>window.hurt=2</script>", "\"><svg onload=window.hurt=3>", "javascript:window.hurt=4", "{{constructor.constructor('window.hurt=5')()}}",
  "\u202egnp.exe\u2066", "a\u0000b\u001b[31m", "__proto__", "constructor", "x".repeat(5000), "<!--numalens-data-->", "';window.hurt=6//",
];

export function hostile() {
  const program = new Program({ nodes: 2, run: { command: HOSTILE[0], damage: HOSTILE[1], losses: [{ name: HOSTILE[2], text: HOSTILE[0], count: 3 }], unattributed: [{ reason: HOSTILE[2], count: 4 }], host: HOSTILE[0], source_reason: HOSTILE[1] } });
  HOSTILE.forEach((name, i) => {
    program.thread(name, i % 2);
    program.frame(name, name, 1 + i);
  });
  HOSTILE.forEach((name, i) => program.object({ name, kind: i % 3 ? "heap" : name, size: 4 * PAGE, file: name, line: i, module: name, alloc_fn: name, gap: i * 20, stack: program.stack([i, 0]), type: i }));
  program.types = HOSTILE.map((name, i) => typeOf(i, name, [name, name]));
  for (let s = 0; s < program.slices; s++) for (let i = 0; i < HOSTILE.length; i++) program.access(i, (i + s) % HOSTILE.length, s % 4, s, { reads: 2, writes: 1, home: s % 2 });
  program.functions = HOSTILE.map((name) => ({ function: name, file: name, line: 1, module: name }));
  program.lines = HOSTILE.map((name, i) => ({ function: name, file: i ? name : `/${name}`, line: 1, module: name }));
  program.sources = HOSTILE.map((name, i) => ({ file: i ? name : `/${name}`, first: 1, text: [name, name] }));
  program.phases = HOSTILE.slice(0, 4).map((name, i) => ({ start_s: i * 0.5, end_s: (i + 1) * 0.5, name }));
  program.findings = HOSTILE.map((name, object) => ({ pattern: name, name, function: name, file: name, line: 1, object, text: name, evidence: name, gain: name, share_of_remote: 0.1, advice: [{ action: name, why: name, code: name }], against: [{ action: name, why: name }], from_s: 0, to_s: 1 }));
  const rows = HOSTILE.map((name, row) => ({ ...changedRow(name, [0.1, 0.5, 100], [0.1, 0.4, 90], { row }), renamed: true }));
  program.comparison = { verdict: HOSTILE[0], more: HOSTILE[1], proof: HOSTILE[2], note: HOSTILE[3], comparable: true, remote_significant: true, latency_significant: true,
    findings: HOSTILE.map((name, i) => ({ pattern: name, name, fate: "new", why: name, before: -1, after: i })), objects: rows, sites: rows, functions: rows, threads: rows };
  return program.build();
}

/* As many cells as a page may hold: 5,000 leaves, 500 slices. `padding`: bytes that do not compress and nobody reads, for the size. */
export function large(cells = 400000, padding = 0) {
  const leaves = 5000, slices = 500, next = random(11), threads = 8;
  const chosen = new Set();
  while (chosen.size < cells) {
    const leaf = Math.floor(next() * leaves), slice = Math.floor((leaf / leaves) * slices * 0.7 + next() * slices * 0.3);
    chosen.add(leaf * slices + slice);
  }
  const order = Float64Array.from(chosen).sort();
  const objects = 2000, perObject = leaves / objects;
  const some = Array.from(order, () => 1 + Math.floor(next() * 20));
  const totals = { samples: 10_000_000, reads: 8_000_000, writes: 2_000_000, remote: 4_000_000, home_known: 10_000_000, latency_sum: 1.2e9, latency_count: 1e7 };
  const rows = Array.from({ length: objects }, (_, id) => ({ id, kind: id % 5 ? "heap" : "static", name: `object_${id}`, label: `object_${id}`, site: id % 300, process: 0, alloc_thread: 0, addr: 0x7f0000000000 + id * perObject * PAGE, size: perObject * PAGE, start_s: (id / objects) * 20, end_s: null, file: `/src/file${id % 40}.c`, line: id, module: "/bin/large", stack: -1, leaf_first: Math.floor(id * perObject), leaf_count: 3, homes: [1, 2, 3, 4], ...share(totals, (objects - id) / (objects * objects)) }));
  const tree = treeOf([leaves]);
  const parts = partitionsOf(tree, 20);
  const column = (type, f) => [type, Array.from(order, f)];
  return container({
    version: 1, generator: "numalens fixture", run: { command: "./large", source: "soft", latency_unit: "ns", duration_s: 60, exit_status: 0, simulated: false, label: "", live: false, damage: null, losses: [], unattributed: [] },
    totals, nodes: [0, 1, 2, 3].map((id) => ({ id, os_index: id, cpus: "0", memory: 0 })), distances: [], matrix: [[5, 1, 1, 1], [1, 5, 1, 1], [1, 1, 5, 1], [1, 1, 1, 5]].map((row) => row.map((v) => v * 1e5)), latency: null, verdict: null, findings: [],
    threads: Array.from({ length: threads }, (_, i) => ({ tid: 100 + i, pid: 100, process: 0, name: "worker", node: i % 4, start_s: 0, end_s: null, ...share(totals, 1 / threads) })), objects: rows, objects_skipped: 17, sites: [], functions: [], stacks: [], frames: [], phases: [],
    maps: [{ space: "virtual", start_s: 0, end_s: 60, slices, page_bytes: PAGE, outside: 0, prefix: "v", aggregations: [{ view: "cartography", partitions: parts.partitions, prefix: "v.c" }] }],
  }, {
    "v.leaf.addr": ["f64", Array.from({ length: leaves }, (_, i) => 0x7f0000000000 + i * PAGE)], "v.leaf.bytes": ["f64", Array(leaves).fill(PAGE)], "v.leaf.process": ["u32", Array(leaves).fill(0)], "v.leaf.object": ["u32", Array.from({ length: leaves }, (_, i) => Math.floor(i / perObject))],
    ...columnsOf("v.node", tree), ...blockColumns("v.c", parts.blocks), padding: ["u8", Array.from({ length: padding }, () => next() * 256)],
    "v.cell.leaf": column("u32", (k) => Math.floor(k / slices)), "v.cell.slice": column("u16", (k) => k % slices), "v.cell.thread": column("u16", (k, i) => i % threads),
    "v.cell.samples": column("u32", (k, i) => some[i] + (some[i] % 3)), "v.cell.reads": column("u32", (k, i) => some[i]), "v.cell.writes": column("u32", (k, i) => some[i] % 3), "v.cell.remote": column("u32", (k, i) => some[i] % 5), "v.cell.latency": column("f32", (k, i) => some[i] * 120), "v.cell.timed": column("u32", (k, i) => some[i]),
  });
}
