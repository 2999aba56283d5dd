/* The page's arithmetic, without a browser: containers, state, placement, sums. */
import { container, matmul, saturated } from "./fixture.mjs";
import { isInstalled, modules } from "./site.mjs";
import { assert, check, run, skipAll } from "./tap.mjs";

if (!isInstalled()) skipAll("the page was not built: node or npm is missing");
const m = await modules("container", "model", "state", "layout", "grid", "blocks", "summary", "flame_layout", "selection", "compare_rows", "format", "strips", "deep_zoom", "memory_map");

const buffer = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const load = (bytes, index = 0) => new m.Run(m.parseContainer(buffer(bytes)), index);
const sumOf = (values) => Array.from(values).reduce((a, b) => a + b, 0);

check("a container that is none is refused with a sentence", () => {
  assert.throws(() => m.parseContainer(new ArrayBuffer(4)), /no numalens data/);
  const wrong = container({}, {});
  wrong.writeUInt32LE(9, 4);
  assert.throws(() => m.parseContainer(buffer(wrong)), /version 9/);
  const short = container({ a: "x".repeat(50) }, { c: ["f64", [1, 2, 3]] });
  assert.throws(() => m.parseContainer(buffer(short.subarray(0, 30))), /ends early/);
  assert.throws(() => m.parseContainer(buffer(short.subarray(0, short.length - 8))).column("c"), /ends early/);
});
check("columns lie over the buffer and absent ones are null", () => {
  const read = m.parseContainer(buffer(container({}, { a: ["u8", [1, 2, 3]], b: ["f64", [0.5, 2 ** 50]] })));
  assert.deepEqual([...read.column("a")], [1, 2, 3]);
  assert.deepEqual([...read.column("b")], [0.5, 2 ** 50]);
  assert.equal(read.column("c"), null);
  assert.equal(read.column("constructor"), null);
});
check("bytes from memory are of the whole run, and only where they were recorded", () => {
  const run = load(container({ run: {}, nodes: [{ id: 0 }, { id: 1 }], matrix_bytes_s: [[3e9, 1e9], [0, 0]], threads: [{ tid: 1, samples: 5, bytes_s: 4e9 }, { tid: 2, samples: 1, bytes_s: null }] }, {}));
  assert.equal(run.remoteBytes, 0.25);
  assert.equal(m.apply(run.threads, [{ samples: 2 }, { samples: 1 }], true)[0].bytes_s, null);
  assert.equal(m.apply(run.threads, null, false)[0].bytes_s, 4e9);
  assert.deepEqual([m.rate(4.126e9), m.rate(0), m.rate(null)], ["4.13 GB/s", "0.00 GB/s", "–"]);
  const least = load(container({ run: {}, nodes: [{ id: 0 }, { id: 1 }], bytes_at_least: true, matrix_bytes_s: [[3e9, 1e9], [0, 0]] }, {}));
  assert.deepEqual([run.bytesAtLeast, least.bytesAtLeast, least.remoteBytes], [false, true, null]);
  const without = load(matmul());
  assert.equal(without.remoteBytes, null);
  assert.ok(!("bytes_s" in m.apply(without.threads, without.threads, true)[0]));
});
check("a run with nothing in it can be looked at", () => {
  const empty = load(container({ run: {} }, {}));
  assert.equal(empty.objects.length, 0);
  assert.equal(empty.flame, null);
  assert.ok(empty.duration > 0);
});
check("the address keeps the state, and nonsense in it does no harm", () => {
  const state = m.decodeState("#view=map&time=0.25~1.5&thread=3&colour=latency&p=0.4&query=a%26b%20%C3%BC");
  assert.deepEqual([state.view, state.time, state.thread, state.colour, state.p, state.query], ["map", [0.25, 1.5], 3, "latency", 0.4, "a&b ü"]);
  assert.deepEqual(m.decodeState(m.encodeState(state)), state);
  const odd = m.decodeState("#thread=x&time=5~1&colour=<b>&__proto__=1&nothing=2&p=NaN");
  assert.deepEqual(odd, m.decodeState(""));
});
check("every leaf has its place, in order, and no two overlap", () => {
  const map = load(saturated()).maps[0];
  for (const layout of [m.cartographyLayout(map), m.ganttLayout(map)]) {
    assert.ok(layout.lanes > 0);
    for (let i = 0; i < layout.lanes; i++) {
      assert.ok(layout.bottom[i] > layout.top[i]);
      if (i > 0) assert.ok(layout.top[i] >= layout.bottom[i - 1] - 1e-12);
      assert.equal(m.laneAt(layout, (layout.top[i] + layout.bottom[i]) / 2), i);
    }
    assert.ok(layout.bottom[layout.lanes - 1] <= 1 + 1e-9);
  }
});
check("the Gantt has a row for each thread, with the leaves that it used", () => {
  const map = load(matmul()).maps[0];
  const layout = m.ganttLayout(map);
  assert.deepEqual(layout.rows.map((row) => row.thread), [0, 1, 2]);
  const grid = m.buildGrid(map, layout, { thread: -1, object: -1, show: "all", colour: "sharing" });
  assert.equal(grid.count, map.cells);
});
/* A map of leaves [process, address, bytes] and cells [leaf, slice, thread]. */
function mapOf(leaves, cells) {
  const of = (at, list) => list.map((entry) => entry[at]);
  const head = { space: "virtual", start_s: 0, end_s: 1, slices: 10, page_bytes: 4096, prefix: "v" };
  const none = leaves.map(() => 0xffffffff), ones = cells.map(() => 1), zeros = cells.map(() => 0);
  return new m.MemoryMap(m.parseContainer(buffer(container({}, {
    "v.leaf.process": ["u32", of(0, leaves)], "v.leaf.addr": ["f64", of(1, leaves)], "v.leaf.bytes": ["f64", of(2, leaves)], "v.leaf.object": ["u32", none],
    "v.cell.leaf": ["u32", of(0, cells)], "v.cell.slice": ["u16", of(1, cells)], "v.cell.thread": ["u16", of(2, cells)],
    "v.cell.samples": ["u32", ones], "v.cell.reads": ["u32", ones], "v.cell.writes": ["u32", zeros], "v.cell.remote": ["u32", zeros],
  }))), head);
}
check("a window from the server lies where the whole picture has its memory, for several processes and in each thread's row", () => {
  const page = 4096, low = 0x10000, far = 0x900000;
  /* Two processes with the same addresses; thread 0 is of the first, 1 of both leaves of the second, 2 of one of them. */
  const whole = mapOf([[0, low, 4 * page], [0, far, 4 * page], [1, low, 4 * page], [1, far, 4 * page]], [[0, 0, 0], [1, 1, 0], [2, 2, 1], [3, 3, 1], [3, 3, 2]]);
  const window = mapOf([[0, low + page, page], [1, low, page], [1, far + 2 * page, page]], [[0, 0, 0], [1, 2, 1], [2, 3, 1], [2, 3, 2]]);
  const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} and ${b}`);
  const at = (layout, lane, quarter) => layout.top[lane] + (quarter / 4) * (layout.bottom[lane] - layout.top[lane]);
  const map = m.cartographyLayout(whole), placed = m.placeWindow(window, whole, map);
  [[0, 0, 1], [1, 2, 0], [2, 3, 2]].forEach(([lane, own, quarter]) => {
    close(placed.top[lane], at(map, own, quarter));
    close(placed.bottom[lane], at(map, own, quarter + 1));
  });
  assert.deepEqual([...window.shared()], [0, 0, 1], "shared in the whole run");
  const gantt = m.ganttLayout(whole), rows = m.placeWindow(window, whole, gantt);
  assert.deepEqual([...rows.thread], [0, 1, 1, 2]);
  assert.deepEqual([...rows.leaf], [0, 1, 2, 2]);
  [[0, 0, 1], [1, 2, 0], [2, 3, 2], [3, 4, 2]].forEach(([lane, own, quarter]) => close(rows.top[lane], at(gantt, own, quarter)));
});
check("no access is lost between cells, grid and blocks", () => {
  const map = load(saturated()).maps[0];
  const all = sumOf(map.cellSamples);
  const layout = m.cartographyLayout(map);
  const grid = m.buildGrid(map, layout, { thread: -1, object: -1, show: "all", colour: "remote" });
  assert.ok(Math.abs(sumOf(grid.density.subarray(0, grid.count)) - all) < 1);
  const pages = new Float64Array(layout.lanes).fill(1);
  map.cartography.partitions.forEach((partition, index) => {
    if (index === 0) return;
    const blocks = m.buildBlocks(map.cartography, index, layout, grid, pages);
    let sum = 0;
    for (let b = 0; b < blocks.count; b++) sum += blocks.density[b] * (blocks.lastLane[b] - blocks.firstLane[b] + 1) * (blocks.last[b] - blocks.first[b] + 1);
    assert.ok(Math.abs(sum - all) < all * 1e-3, `partition ${index}: ${sum} of ${all}`);
    assert.ok(Math.abs(sumOf(blocks.value) - sumOf(map.cellRemote)) < 1);
  });
});
check("filters leave what they should", () => {
  const map = load(matmul()).maps[0];
  const layout = m.cartographyLayout(map);
  const count = (filter) => sumOf(m.buildGrid(map, layout, { thread: -1, object: -1, show: "all", colour: "access", ...filter }).density);
  assert.equal(count({ show: "reads" }), sumOf(map.cellReads));
  assert.equal(count({ show: "writes" }), sumOf(map.cellWrites));
  const ofThread = Array.from(map.cellThread).reduce((n, thread, i) => n + (thread === 1 ? map.cellSamples[i] : 0), 0);
  assert.equal(count({ thread: 1 }), ofThread);
  assert.ok(count({ object: 1 }) > 0 && count({ object: 1 }) < count({}));
});
check("what a block hides is summed by thread and object", () => {
  const run = load(matmul());
  const map = run.maps[0], layout = m.cartographyLayout(map);
  const whole = m.summarise(map, layout, 0, layout.lanes - 1, 0, map.slices - 1, -1, -1);
  assert.equal(whole.samples, run.totals.samples);
  assert.equal(whole.threads.size, 3);
  assert.equal(whole.objects.size, 4);
  const early = m.summarise(map, layout, 0, layout.lanes - 1, 0, 20, -1, -1);
  assert.deepEqual([...early.threads.keys()], [0]);
});
check("the partition for p is the last that is not above it", () => {
  const { cartography } = load(matmul()).maps[0];
  assert.equal(m.partitionAt(cartography, 0), 0);
  assert.equal(m.partitionAt(cartography, 0.2), 1);
  assert.equal(m.partitionAt(cartography, 1), cartography.partitions.length - 1);
});
check("every partition can be chosen, also those that become best at the same p", () => {
  const head = (p) => ({ p, gain: p, loss: p, first_block: 0, blocks: 1 });
  const bytes = container({}, { "v.c.block.node": ["u32", [0]], "v.c.block.first": ["u16", [0]], "v.c.block.last": ["u16", [0]] });
  const map = new m.MemoryMap(m.parseContainer(buffer(bytes)), { space: "virtual", start_s: 0, end_s: 1, slices: 1, page_bytes: 4096, prefix: "v",
    aggregations: [{ view: "cartography", prefix: "v.c", partitions: [head(0), head(0), head(0.5), head(0.5), head(1)] }] });
  const { partitions } = map.cartography;
  assert.deepEqual(partitions.map(({ p }) => m.partitionAt(map.cartography, p)), [0, 1, 2, 3, 4]);
  assert.equal(partitions[0].p, 0);
  assert.equal(partitions[4].p, 1);
});
check("a selection of time counts only what happened in it", () => {
  const run = load(matmul());
  const state = { ...m.decodeState(""), time: [0, 0.4] };
  const early = m.filtered(run, state);
  assert.equal(early.active, true);
  assert.ok(early.threads[0].samples > 0);
  assert.equal(early.threads[1].samples + early.threads[2].samples, 0);
  assert.equal(m.filtered(run, m.decodeState("")).active, false);
});
check("functions, call chains and latencies follow the selection too", () => {
  const run = load(matmul());
  const early = m.filtered(run, { ...m.decodeState(""), time: [0, 0.4] });
  assert.ok(early.functions[1].samples > 0 && early.functions[0].samples === 0, "only main runs at first");
  assert.equal(early.flame.samples[0], early.functions[1].samples);
  assert.equal(early.flame.samples[2], 0);
  const late = m.filtered(run, { ...m.decodeState(""), time: [0.4, 2] });
  assert.ok(Math.abs(early.flame.stall[0] + late.flame.stall[0] - run.flame.stall[0]) < 1e-6, "a share of the run's time, whatever is selected");
  const workers = m.filtered(run, { ...m.decodeState(""), thread: 1, object: 1 });
  const own = workers.objects[1];
  assert.equal(workers.functions[0].samples, own.samples);
  assert.equal(workers.lines[0].samples, own.samples);
  assert.equal(workers.flame.samples[0], own.samples, "a frame holds what those below it do");
  assert.ok(own.latency_count > 0 && Math.abs(workers.functions[0].latency_sum - own.latency_sum) < 1);
  assert.ok(Math.abs(m.meanLatency(m.apply(run.objects, workers.objects, true).find((object) => object.id === 1)) - own.latency_sum / own.latency_count) < 1e-9);
  assert.equal(m.filtered(load(saturated()), { ...m.decodeState(""), thread: 2 }).functions, null, "said, where there is nothing to go by");
});
check("an atomic update is one access that reads and writes, in the map and under any selection", () => {
  const run = load(matmul()), pids = 3, { samples, reads, writes } = run.objects[pids];
  assert.ok(samples > 0 && reads === samples && writes === samples, `${samples} updates`);
  const map = run.maps[0], layout = m.cartographyLayout(map), all = { thread: -1, object: pids, show: "all" };
  for (const colour of ["sharing", "access", "remote"]) {
    const grid = m.buildGrid(map, layout, { ...all, colour });
    assert.deepEqual([sumOf(grid.density), sumOf(grid.weight)], [samples, samples], colour);
  }
  assert.equal(m.summarise(map, layout, 0, layout.lanes - 1, 0, map.slices - 1, -1, pids).samples, samples);
  const chosen = m.filtered(run, { ...m.decodeState(""), object: pids });
  for (const row of [chosen.objects[pids], chosen.threads[0], chosen.functions[1], chosen.lines[1]]) assert.deepEqual([row.samples, row.home_known, row.reads, row.writes], [samples, samples, samples, samples]);
  assert.equal(chosen.flame.samples[0], samples);
  assert.equal(sumOf(m.stripsOf(run, "object", pids, "thread")[0].samples), samples);
  assert.deepEqual([m.directed(run.objects[pids], "reads"), m.directed(run.objects[pids], "writes"), m.directed({ samples: 5, reads: 0, writes: 0 }, "writes")], ["100%", "100%", "–"]);
});
check("an object's strips are what its series say", () => {
  const run = load(matmul());
  const strips = m.stripsOf(run, "object", 1, "thread");
  assert.equal(strips.length, 3);
  assert.equal(strips.reduce((n, strip) => n + m.sum(strip.samples), 0), run.objects[1].samples);
});
check("a flame graph's children lie within their parents", () => {
  const parent = Uint32Array.from([0xffffffff, 0, 0, 1, 1]), weight = [10, 6, 3, 4, 2];
  const nodes = m.layoutFlame(parent, weight, 0, 0);
  const by = Object.fromEntries(nodes.map((node) => [node.id, node]));
  assert.equal(by[1].size, 0.6);
  for (const id of [3, 4]) assert.ok(by[id].start >= by[1].start - 1e-9 && by[id].start + by[id].size <= by[1].start + by[1].size + 1e-9);
  const zoomed = m.layoutFlame(parent, weight, 1, 0);
  assert.equal(zoomed.find((node) => node.id === 1).size, 1);
  assert.equal(zoomed.find((node) => node.id === 0).above, true);
  assert.equal(zoomed.find((node) => node.id === 2), undefined);
});
check("what was renamed, and what only one run has, is said", () => {
  const { objects, functions } = load(matmul({}, true), 1).comparison;
  assert.deepEqual(objects.map(m.changedNote), ["matmul.c:12", "matmul.c:12", "matmul.c:12; was result, matmul.c:11", "matmul.c:12"]);
  const columns = Object.fromEntries(m.changedColumns("ns").map((column) => [column.key, column]));
  assert.deepEqual(objects.map((row) => columns.rd.text(row)), ["−48%", "−58%", "−28%", "+1.0% ~"]);
  assert.deepEqual(functions.map((row) => columns.rd.text(row)), ["−48%", "only in A"]);
  assert.equal(columns.lb.text(functions[1]), "–");
});
check("numbers are written for people", () => {
  assert.equal(m.percent(0.987), "99%");
  assert.equal(m.percent(0.0005), "<0.1%");
  assert.equal(m.count(1234567), "1\u202f234\u202f567");
  assert.equal(m.bytes(1536), "1.5 KiB");
  assert.equal(m.seconds(0.25, 0.5), "250 ms");
  assert.equal(m.seconds(2.6, 1.2), "2.6 s");
  assert.equal(m.seconds(2.6125, 0.01), "2.6125 s");
  assert.equal(m.seconds(12, 60), "12 s");
  assert.equal(m.signed(-0.25, m.percent), "−25%");
});
await run();
