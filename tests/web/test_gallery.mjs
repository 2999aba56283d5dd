/* The matrix multiplication of MOCA's Section 3, recorded here: what its Figures 4 to 7 show must be in our data and pictures.
 * NUMALENS_GALLERY=docs/gallery writes the pictures there; else they stay in the build. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";
import { launch, open, PICTURES, settle } from "./browser.mjs";
import { build, modules } from "./site.mjs";
import { assert, check, run } from "./tap.mjs";

const site = await launch();
const numalens = join(build, "src/cli/numalens"), program = "examples/matmul";
const folder = process.env.NUMALENS_GALLERY ?? PICTURES;
mkdirSync(folder, { recursive: true });
const { parseContainer, Run } = await modules("container", "model");
const SIZE = { width: 1340, height: 700 };

/* With `least` samples: the program runs longer until the recording has so many. */
function record(name, options, least = 0) {
  const data = join(site.folder, `${name}.data`), html = join(site.folder, `${name}.html`);
  for (let longer = 1; ; longer *= 2) {
    execFileSync(numalens, ["record", ...options, "--topology", "numa:4 core:2", "-o", data, "--", program, "900"], { cwd: build, stdio: "ignore", timeout: 600000, env: { ...process.env, EXAMPLE_LONGER: String(longer) } });
    if (!least) break;
    const { samples: found } = JSON.parse(execFileSync(numalens, ["report", "--json", data], { encoding: "utf8", maxBuffer: 1 << 28 }));
    if (found >= least) break;
    assert.ok(longer < 32, `${found} samples with ${longer} times the work, ${least} are needed`);
  }
  execFileSync(numalens, ["report", "--html", html, data], { stdio: "ignore", timeout: 120000 });
  const text = /data-encoding="deflate">([^<]+)</.exec(readFileSync(html, "utf8"))[1];
  const bytes = inflateSync(Buffer.from(text, "base64"));
  return { data, address: pathToFileURL(html).href, run: new Run(parseContainer(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), 0) };
}

/* Cells of an object by some threads, as [slice, leaf] pairs. */
function cellsOf(recording, name, wants) {
  const { run } = recording, map = run.maps[0];
  const found = [];
  for (let i = 0; i < map.cells; i++) {
    const object = run.object(map.leafObject[map.cellLeaf[i]]);
    if (object && new RegExp(`^${name} `).test(object.label) && wants(map.cellThread[i])) found.push([map.cellSlice[i], map.cellLeaf[i]]);
  }
  return found;
}

function correlation(pairs) {
  const n = pairs.length, mean = (at) => pairs.reduce((sum, pair) => sum + pair[at], 0) / n;
  const [mx, my] = [mean(0), mean(1)];
  let xy = 0, xx = 0, yy = 0;
  for (const [x, y] of pairs) { xy += (x - mx) * (y - my); xx += (x - mx) ** 2; yy += (y - my) ** 2; }
  return xy / Math.sqrt(xx * yy);
}

let samples, faults;

check("the program is recorded, by samples and by page faults", () => {
  samples = record("samples", ["-F", "2000", "--budget", "50"], 8000);
  faults = record("faults", ["--source", "faults", "--interval", "10ms"]);
  assert.ok(samples.run.totals.samples > 2000);
  assert.equal(samples.run.threads.length, 3);
});
check("workers sweep A line by line: a diagonal (Figure 5)", () => {
  for (const thread of [1, 2]) {
    const cells = cellsOf(samples, "a", (who) => who === thread);
    assert.ok(cells.length > 50 && correlation(cells) > 0.95, `thread ${thread}: ${cells.length} cells, ${correlation(cells).toFixed(2)}`);
  }
});
check("all of B is in use all the time: dense, no diagonal (Figures 5 and 7)", () => {
  const cells = cellsOf(samples, "b", (who) => who > 0);
  assert.ok(Math.abs(correlation(cells)) < 0.3, correlation(cells).toFixed(2));
  const leaves = cells.map((cell) => cell[1]), low = Math.min(...leaves), span = Math.max(...leaves) - low + 1;
  const { slices } = samples.run.maps[0];
  for (let part = 1; part < 8; part++) {
    const now = cells.filter(([slice]) => Math.floor((slice / slices) * 10) === part);
    const eighths = new Set(now.map(([, leaf]) => Math.floor(((leaf - low) / span) * 8)));
    assert.ok(eighths.size >= 6, `tenth ${part} of the run: ${eighths.size} eighths of B`);
  }
});
check("the slider has steps to go through, in both maps", () => {
  const [map] = samples.run.maps;
  assert.ok(map.cartography.partitions.length >= 3);
  assert.ok(map.gantt.partitions.length >= 3);
});
check("phases are found: the master's, then the workers'", () => {
  /* Of a run that was made longer to have enough samples, the master's few milliseconds are too small a part to be a phase. */
  for (const [{ run }, wanted] of [[samples, /^m*w+$/], [faults, /^m+w+$/]]) {
    const names = run.phases.map((phase) => `${phase.name} until ${phase.end_s}`).join("; ");
    /* Either may have parts: the master goes through one matrix after the other. */
    const whose = run.phases.map((phase) => (/^main /.test(phase.name) ? "m" : /2 threads/.test(phase.name) ? "w" : "?")).join("");
    assert.match(whose, wanted, names);
    if (whose.startsWith("m")) assert.ok(run.phases[whose.indexOf("w") - 1].end_s < run.duration * 0.2, names);
  }
});
check("the master fills the matrices before the workers begin (Figures 4 and 6)", () => {
  const all = (name, wants) => cellsOf(faults, name, wants).map(([slice]) => slice);
  for (const name of ["a", "b", "res"]) assert.ok(all(name, (who) => who === 0).length > 100, `the master touches ${name}`);
  const filled = Math.max(...all("b", (who) => who === 0)), begun = Math.min(...all("res", (who) => who > 0));
  assert.ok(filled <= begun, `filled by slice ${filled}, workers from slice ${begun}`);
});
check("pictures of all four figures", async () => {
  const take = async (name, address, hash) => {
    const { page, troubles, context } = await open(site.browser, `${address}#${hash}`, { viewport: SIZE });
    await settle(page);
    await page.waitForTimeout(300); /* the list beside the picture follows at leisure */
    await page.screenshot({ path: join(folder, `${name}.png`) });
    assert.deepEqual(troubles, []);
    await context.close();
  };
  const { duration } = samples.run;
  await take("matmul-gantt", samples.address, "view=gantt&theme=light");
  await take("matmul-cartography", samples.address, "view=map&theme=light");
  const { partitions } = samples.run.maps[0].cartography;
  const halfway = partitions.find((partition) => partition.gain > 0.4 && partition.blocks > 50) ?? partitions[1];
  await take("matmul-aggregated", samples.address, `view=map&theme=light&p=${halfway.p}`);
  await take("matmul-computing", samples.address, `view=map&theme=dark&colour=access&x=${duration * 0.4}~${duration * 0.6}`);
  await take("matmul-overview", samples.address, "view=overview&theme=light");
});
check("the server draws the initialisation finely (Figure 6)", async () => {
  const server = spawn(numalens, ["view", "--no-open", faults.data]);
  try {
    const address = await new Promise((done, fail) => {
      const look = (chunk) => { const found = /http:\/\/\S+/.exec(String(chunk)); if (found) done(found[0]); };
      server.stdout.on("data", look);
      server.stderr.on("data", look);
      server.on("exit", () => fail(new Error("numalens view ended")));
    });
    const { page, context } = await open(site.browser, `${address}#view=overview`, { viewport: SIZE });
    const detail = page.waitForResponse((answer) => answer.url().includes("window?"));
    await page.evaluate(() => { location.hash = "view=map&theme=light&x=0~0.06"; });
    await detail;
    await settle(page);
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(folder, "matmul-initialisation.png") });
    /* The same in each thread's row, and by physical address: asked for, and reported as finely as it is drawn. */
    const slice = faults.run.maps[0].sliceSeconds;
    for (const where of faults.run.maps.map((map) => `view=gantt&space=${map.space}`)) {
      const window = page.waitForResponse((answer) => answer.url().includes("window?"));
      await page.evaluate((wanted) => { location.hash = `${wanted}&x=0~0.06`; }, where);
      assert.equal((await window).status(), 200, where);
      assert.equal(new URL((await window).url()).searchParams.get("physical"), where.includes("physical") ? "1" : null);
      await page.waitForTimeout(500);
      const box = await page.locator("canvas.map").boundingBox();
      const reported = page.locator(".tip-line", { hasText: "time" }).first();
      let finest = Infinity;
      for (let y = 0.1; y < 0.95 && finest >= slice; y += 0.1) {
        await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * y);
        if (!(await reported.isVisible())) continue;
        const [from, to] = (await reported.textContent()).match(/[\d.]+(?= m?s)/g).map(Number);
        finest = Math.min(finest, (to - from) / 1000);
      }
      assert.ok(finest < slice / 2, `${where}: reported for ${finest} s, the page has slices of ${slice} s`);
    }
    await context.close();
  } finally {
    server.kill("SIGINT");
  }
});
await run(() => site.close());
