/* The page in a browser, as a reader uses it: every view, zoom, pan, slider, tables, links, keys, themes, paper. */
import { join } from "node:path";
import { ink, launch, open, PICTURES, rows, settle } from "./browser.mjs";
import { large, matmul, saturated } from "./fixture.mjs";
import { assert, check, run } from "./tap.mjs";

const site = await launch();
const address = site.page("matmul", [matmul()]);
const { page, troubles } = await open(site.browser, address);
const hash = () => page.evaluate(async () => { await new Promise((done) => setTimeout(done, 200)); return decodeURIComponent(location.hash); });
const go = async (text) => { await page.evaluate((wanted) => { location.hash = wanted; }, text); await settle(page); };
const shot = (name, on = page) => on.screenshot({ path: join(PICTURES, `${name}.png`) });
const box = async (selector) => (await page.locator(selector).first()).boundingBox();

check("opens on the overview with its numbers", async () => {
  assert.equal(await page.locator(".ring-text").textContent(), "98%");
  assert.equal(await page.locator(".matrix tbody tr").count(), 4);
  assert.match(await page.locator(".verdict").textContent(), /31% of the time/);
  assert.deepEqual(await page.locator(".verdict p").allTextContents(), ["Remote memory costs an estimated 31% of the time.", "That is above the 10% from which a change pays."]);
  assert.deepEqual(await page.$$eval(".finding strong", (all) => all.map((e) => e.textContent)), ["B", "A"]);
  await shot("overview-light");
});
check("phases are listed by what happens in them, and lead to their stretch of the map", async () => {
  assert.match(await page.locator(".phases").textContent(), /2 phases.*What happens/);
  await page.click(".phases a >> nth=1");
  await page.waitForSelector("canvas.map");
  assert.match(await hash(), /view=map&time=0.4~2&x=0.4~2/);
  await page.goBack();
  await page.waitForSelector(".finding");
  await page.keyboard.press("Escape");
});
check("a finding leads to its object", async () => {
  await page.click(".finding >> nth=0 >> text=Its object");
  assert.equal(await page.locator(".own h2").textContent(), "B");
  assert.match(await page.locator(".own-side").textContent(), /matrix_new.*matmul.c:12/);
  await page.goBack();
  await page.waitForSelector(".finding");
});
check("a finding leads to its place in the map", async () => {
  await page.click(".finding >> nth=0 >> text=In the map");
  await page.waitForSelector("canvas.map");
  const text = await hash();
  assert.match(text, /view=map/);
  assert.match(text, /time=0.4~2/);
  assert.match(text, /object=1/);
  assert.equal(await page.locator(".chip").count(), 2);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".chip").count(), 0);
});
check("the cartography is drawn, coloured four ways", async () => {
  await go("view=map");
  const seen = new Set();
  for (const colour of ["sharing", "access", "remote", "latency"]) {
    await page.selectOption("[data-choice=colour]", colour);
    const { painted, sum } = await ink(page);
    assert.ok(painted > 5000, `${colour}: ${painted} pixels`);
    seen.add(sum);
  }
  assert.equal(seen.size >= 3, true, "colourings must differ");
  await go("view=map");
  await shot("cartography-light");
});
check("physical addresses can be had, and what they leave out is reported", async () => {
  await go("view=map");
  await page.selectOption("[data-choice=space]", "physical");
  assert.ok((await ink(page)).painted > 5000);
  assert.match(await hash(), /space=physical/);
  assert.match(await page.locator(".map-legend").textContent(), /7 accesses not shown/);
  assert.equal(await page.locator(".aggregation").isVisible(), false, "no partitions, no slider");
});
check("the wheel zooms, dragging pans, double click shows all again", async () => {
  await go("view=map");
  const before = await ink(page);
  const frame = await box("canvas.map");
  await page.mouse.move(frame.x + frame.width * 0.6, frame.y + frame.height * 0.5);
  await page.mouse.wheel(0, -600);
  const zoomed = await ink(page);
  assert.notEqual(zoomed.sum, before.sum);
  const [from, to] = /x=([\d.]+)~([\d.]+)/.exec(await hash()).slice(1).map(Number);
  assert.ok(to - from < 1.2 && from > 0 && to < 2, `${from} to ${to}`);
  await page.mouse.down();
  await page.mouse.move(frame.x + frame.width * 0.45, frame.y + frame.height * 0.5, { steps: 4 });
  await page.mouse.up();
  const panned = Number(/x=([\d.]+)~/.exec(await hash())[1]);
  assert.ok(panned > from, `panned from ${from} to ${panned}`);
  await page.mouse.dblclick(frame.x + frame.width * 0.6, frame.y + frame.height * 0.5);
  assert.doesNotMatch(await hash(), /x=/);
});
check("with Shift the wheel zooms in memory, and a frame zooms to what is in it", async () => {
  await go("view=map");
  const frame = await box("canvas.map");
  await page.mouse.move(frame.x + frame.width * 0.6, frame.y + frame.height * 0.5);
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, -400);
  assert.match(await hash(), /y=0\.\d+~0\.\d+/);
  await go("view=map");
  await page.mouse.down();
  await page.mouse.move(frame.x + frame.width * 0.8, frame.y + frame.height * 0.7, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const text = await hash();
  assert.match(text, /x=/);
  assert.match(text, /y=/);
});
check("hovering shows what is there", async () => {
  await go("view=map");
  const frame = await box("canvas.map");
  await page.mouse.move(frame.x + frame.width * 0.7, frame.y + frame.height * 0.4);
  await page.waitForSelector(".tip:not([hidden])");
  const text = await page.locator(".tip").textContent();
  assert.match(text, /^B/);
  assert.match(text, /worker 4001/);
  assert.match(text, /remote/);
});
check("the slider aggregates, and a block says what it hides", async () => {
  await go("view=map");
  const precise = await ink(page);
  await page.locator("[data-aggregation]").fill("5");
  const simple = await ink(page);
  assert.notEqual(simple.sum, precise.sum);
  assert.match(await page.locator(".aggregation-text").textContent(), /\d+ blocks · \d+% simpler · [\d.]+% lost/);
  const frame = await box("canvas.map");
  await page.mouse.move(frame.x + frame.width * 0.75, frame.y + frame.height * 0.4);
  await page.waitForSelector(".tip:not([hidden])");
  assert.match(await page.locator(".tip").textContent(), /^Block of \d+ rows?.*reads \/ writes.*worker/);
  await page.locator("[data-aggregation]").fill("8");
  assert.match(await page.locator(".aggregation-text").textContent(), /^1 block ·/);
  await page.locator("[data-aggregation]").fill("5");
  await settle(page);
  await shot("aggregated-light");
});
check("a partition that is not the best of all says so", async () => {
  const text = async (on) => [await on.locator(".aggregation-text").textContent(), await on.locator(".aggregation-text").getAttribute("title")];
  const { page: other, context } = await open(site.browser, `${site.page("restricted", [matmul({}, false, { exact: false, group: 8, least_leaves: 4, bound: 0.12 })])}#view=map&p=0.6`);
  const [words, limits] = await text(other);
  assert.match(words, /lost \*$/);
  assert.match(limits, /longer than 8 slices.*up to 4 rows.*more than 12%/);
  assert.deepEqual((await text(page))[1], "");
  await context.close();
});
check("the Memory-Gantt has threads in rows", async () => {
  await go("view=gantt&colour=sharing");
  assert.ok((await ink(page)).painted > 5000);
  await page.waitForFunction(() => /worker 4001.*worker 4002.*matmul 4000/.test(document.querySelector(".side").textContent));
  await shot("gantt-light");
});
check("clicking in the map chooses an object, and the tables follow", async () => {
  await go("view=map");
  const frame = await box("canvas.map");
  await page.mouse.click(frame.x + frame.width * 0.7, frame.y + frame.height * 0.45);
  assert.match(await hash(), /object=1/);
  await page.keyboard.press("6");
  await page.waitForSelector(".tr");
  assert.deepEqual((await rows(page)).length, 3);
  assert.match(await page.locator(".hint >> nth=1").textContent(), /Only what is selected/);
});
check("a range of time on the strip filters every view", async () => {
  await go("view=threads");
  assert.equal((await rows(page)).length, 3);
  const strip = await box("canvas.timeline");
  await page.mouse.move(strip.x + 20, strip.y + 15);
  await page.mouse.down();
  await page.mouse.move(strip.x + strip.width * 0.15, strip.y + 15, { steps: 4 });
  await page.mouse.up();
  assert.match(await hash(), /time=/);
  assert.deepEqual((await rows(page)).map((text) => text.slice(0, 6)), ["matmul"]);
  await page.click(".chip button");
  assert.equal((await rows(page)).length, 3);
  await page.mouse.click(strip.x + strip.width * 0.6, strip.y + 40);
  assert.match(await hash(), /time=0.4~2/, "a click on a phase chooses it");
});
check("tables sort both ways, search, and filter by kind", async () => {
  await go("view=objects");
  assert.match((await rows(page))[0], /^B/);
  await page.click("[data-sort=name]");
  const ascending = await rows(page);
  await page.click("[data-sort=name]");
  assert.deepEqual((await rows(page)), ascending.slice().reverse());
  assert.match(await hash(), /sort=-name/);
  await page.keyboard.press("/");
  await page.keyboard.type("pid");
  await settle(page);
  assert.deepEqual((await rows(page)).map((text) => text.slice(0, 4)), ["pids"]);
  assert.match(await page.locator(".table-status").textContent(), /1 of 4 rows/);
  await page.keyboard.press("Escape");
  await go("view=objects");
  await shot("objects-light");
});
check("an object's page shows users, homes, lines and neighbours", async () => {
  await go("view=object&item=1");
  const text = await page.locator(".own").textContent();
  for (const wanted of ["Who reads and writes it", "Home nodes", "Cache lines within it", "Neighbours in memory", "Allocated at"]) assert.ok(text.includes(wanted), wanted);
  assert.ok((await ink(page, "canvas.strips")).painted > 1000);
  await page.click(".list a >> text=result");
  await page.waitForSelector(".own h2:text-is('result')");
  await go("view=object&item=1");
  await shot("object-light");
});
check("an object of structs shows their fields: share, writers, false sharing, and the code that is advised", async () => {
  await go("view=object&item=3");
  const card = page.locator(".card:has-text('Fields of struct slot')");
  assert.match(await card.textContent(), /declared at matmul\.c:9.*long turns;falsely shared050%75%50%200 ns22long misses;.*alignas\(64\) long turns;/s);
  assert.equal(await card.locator("tr.hot").count(), 2);
  await go("view=object&item=1");
  assert.equal(await page.locator(".card:has-text('Fields of')").count(), 0);
});
check("an object leads to the lines that access it, a line to its source, and that to an editor", async () => {
  await go("view=object&item=1");
  await page.click(".own-main a:has-text('matmul.c:21')");
  assert.match(await hash(), /view=line&item=0/);
  assert.match(await page.locator(".source tr.chosen").textContent(), /80%.*21 {12}c\[i \* n \+ j\] \+=/);
  assert.equal(await page.locator(".source tr.chosen a").getAttribute("href"), "vscode://file/src/matmul.c:21");
  await page.selectOption("[aria-label^=Editor]", "jetbrains");
  assert.equal(await page.locator(".source tr.chosen a").getAttribute("href"), "idea://open?file=%2Fsrc%2Fmatmul.c&line=21");
  await go("view=line&item=0");
  await shot("line-light");
  await go("view=lines");
  assert.equal(await page.locator(".tr:has-text('matmul.c:21multiply')").count(), 1);
});
check("a thread's page shows its flow", async () => {
  await go("view=thread&item=1");
  assert.match(await page.locator(".own").textContent(), /worker 4001.*What it uses, over time.*Nodes it reaches/);
  assert.ok((await ink(page, "canvas.strips")).painted > 1000);
  await shot("thread-light");
});
check("the flame graph changes its weight, zooms and comes back", async () => {
  await go("view=flame");
  const wide = await ink(page, "canvas.flame");
  assert.ok(wide.painted > 3000);
  const frame = await box("canvas.flame");
  await page.mouse.click(frame.x + frame.width * 0.5, frame.y + 50);
  assert.match(await hash(), /focus=\d/);
  assert.match(await page.locator(".flame-page [role=status]").textContent(), /Stall time of remote accesses: at most 31% of run time in all; shown: worker/);
  await page.keyboard.press("0");
  await page.selectOption("[data-choice=weight]", "samples");
  assert.match(await page.locator(".flame-page [role=status]").textContent(), /sampled accesses/);
  await shot("flame-light");
});
check("a deep link shows the same picture again", async () => {
  await go("view=map&colour=remote");
  const frame = await box("canvas.map");
  await page.mouse.move(frame.x + frame.width * 0.5, frame.y + frame.height * 0.5);
  await page.mouse.wheel(0, -500);
  await page.mouse.move(0, 0);
  const link = `${address}#${(await hash()).slice(1)}`;
  const here = await ink(page);
  const { page: other, context } = await open(site.browser, link);
  assert.equal((await ink(other)).sum, here.sum);
  await context.close();
});
check("a step of the reader's wins over a change that is not in the address yet", async () => {
  await go("view=flame");
  await page.evaluate(() => {
    const weight = document.querySelector("[data-choice=weight]"), later = window.setTimeout, due = [];
    weight.value = weight.value === "samples" ? "stall" : "samples";
    window.setTimeout = (step) => due.push(step);
    weight.dispatchEvent(new Event("change", { bubbles: true }));
    window.setTimeout = later;
    location.hash = "view=map";
    for (const step of due) step(); /* the time to write it has come before the event */
  });
  assert.match(await hash(), /view=map/);
  await page.waitForSelector("canvas.map");
});
check("the keyboard alone is enough", async () => {
  await go("view=overview");
  await page.keyboard.press("2");
  await page.waitForSelector("canvas.map");
  for (const key of ["+", "+", "ArrowRight", "*", "ArrowDown"]) await page.keyboard.press(key);
  const text = await hash();
  assert.match(text, /x=/);
  assert.match(text, /y=/);
  await page.keyboard.press("0");
  assert.doesNotMatch(await hash(), /[xy]=/);
  await page.keyboard.press("]");
  assert.match(await hash(), /p=0.125/);
  await page.keyboard.press("c");
  assert.match(await hash(), /colour=access/);
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog.help").isVisible());
  await page.keyboard.press("Escape");
  await page.keyboard.press("4");
  await page.waitForSelector(".tscroll");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".own h2");
  assert.equal(await page.locator(".own h2").textContent(), "A");
});
check("focus goes through the page in order and can be seen", async () => {
  await go("view=map");
  await page.evaluate(() => document.activeElement.blur());
  const seen = [];
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press("Tab");
    seen.push(await page.evaluate(() => { const e = document.activeElement; return [e.tagName + (e.className ? `.${e.className}` : ""), getComputedStyle(e).outlineStyle]; }));
  }
  const order = seen.map(([name]) => name);
  const at = (wanted) => order.findIndex((name) => name.includes(wanted));
  assert.ok(at("A.skip") === 0 && at("A.tab") > 0 && at("CANVAS.timeline") > at("A.tab") && at("SELECT") > at("CANVAS.timeline") && at("CANVAS.map") > at("SELECT"), order.join(" "));
  assert.ok(seen.every(([, outline]) => outline !== "none"), "focus must be visible");
});
check("pictures have words for those who do not see them", async () => {
  for (const view of ["overview", "map", "gantt", "flame", "object&item=1"]) {
    await go(`view=${view}`);
    await page.waitForFunction(() => [...document.querySelectorAll("canvas, svg[role=img]")].every((e) => (e.getAttribute("aria-label") ?? "").length > 10));
  }
});
check("dark when the system is dark, and by the switch", async () => {
  const { page: night, context, troubles: bad } = await open(site.browser, address, { colorScheme: "dark" });
  const ground = () => night.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(15, 19, 26)");
  await shot("overview-dark", night);
  await night.keyboard.press("2");
  await settle(night);
  assert.ok((await ink(night)).painted > 5000);
  await shot("cartography-dark", night);
  await night.click("[data-theme-switch]");
  assert.equal(await ground(), "rgb(246, 247, 249)");
  assert.deepEqual(bad, []);
  await context.close();
});
check("a window of 360 pixels is enough", async () => {
  const { page: small, context, troubles: bad } = await open(site.browser, address, { viewport: { width: 360, height: 740 } });
  for (const view of ["overview", "map", "gantt", "objects", "threads", "lines", "line&item=0", "flame", "object&item=1", "thread&item=1"]) {
    await small.evaluate((wanted) => { location.hash = `view=${wanted}`; }, view);
    await settle(small);
    const wide = await small.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector(".stage").scrollWidth));
    assert.ok(wide <= 360, `${view} is ${wide} pixels wide`);
    if (["overview", "map", "objects"].includes(view)) await shot(`narrow-${view}`, small);
  }
  assert.deepEqual(bad, []);
  await context.close();
});
check("on paper it is light and whole", async () => {
  const { page: paper, context } = await open(site.browser, address, { colorScheme: "dark" });
  const sheets = async (name) => (await paper.pdf({ path: join(PICTURES, `${name}.pdf`), format: "A4", printBackground: true })).toString("latin1").match(/\/Type \/Page\b/g).length;
  assert.ok((await sheets("overview")) <= 3);
  await paper.emulateMedia({ media: "print" });
  assert.equal(await paper.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--text").trim()), "#18202b");
  assert.equal(await paper.locator(".tabs").isVisible(), false);
  await paper.emulateMedia({ media: null });
  for (const view of ["map", "gantt"]) {
    await paper.evaluate((wanted) => { location.hash = `view=${wanted}`; }, view);
    await settle(paper);
    assert.equal(await sheets(view), 1);
    /* What the browser is given to print: as wide as a sheet, on white; and the screen's picture comes back. */
    const corner = () => paper.evaluate(() => {
      const canvas = document.querySelector("canvas.map"), ratio = canvas.width / canvas.clientWidth;
      return [canvas.clientWidth, ...canvas.getContext("2d").getImageData(canvas.width - 12 * ratio, canvas.height - 12 * ratio, 1, 1).data.slice(0, 3)];
    });
    const before = await corner();
    assert.ok(before[0] > 720 && before[1] < 80, before.join(" "));
    await paper.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const printed = await corner();
    assert.ok(printed[0] <= 720 && printed[1] > 160, printed.join(" "));
    await paper.evaluate(() => dispatchEvent(new Event("afterprint")));
    await settle(paper);
    assert.deepEqual(await corner(), before);
  }
  await context.close();
});
check("a long table is printed from its beginning, and says how much is left", async () => {
  const { page: paper, context } = await open(site.browser, site.page("long", [large(5000)]), { colorScheme: "light" });
  await paper.evaluate(() => { location.hash = "view=objects"; });
  await paper.waitForSelector(".tr");
  await paper.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await paper.locator(".tr").count(), 150);
  assert.match(await paper.locator(".table-status").textContent(), /\d{3,} rows; the first 150 are printed/);
  const pdf = await paper.pdf({ path: join(PICTURES, "objects.pdf"), format: "A4" });
  assert.ok(pdf.toString("latin1").match(/\/Type \/Page\b/g).length <= 8);
  await context.close();
});
check("what was lost, simulated or damaged is in sight in every view", async () => {
  const other = site.page("saturated", [saturated({ damage: "the file ends early" })]);
  const { page: warned, context, troubles: bad } = await open(site.browser, other);
  for (const view of ["overview", "map", "objects"]) {
    await warned.evaluate((wanted) => { location.hash = `view=${wanted}`; }, view);
    const text = await warned.locator(".notices").textContent();
    for (const wanted of ["the file ends early", "Simulated topology", "1\u202f234 samples: the ring was full", "12: freed before it was read"]) assert.ok(text.includes(wanted), `${view}: ${wanted}`);
  }
  await shot("saturated-light", warned);
  assert.deepEqual(bad, []);
  await context.close();
});
check("the browser had nothing to complain of", () => assert.deepEqual(troubles, []));

await run(() => site.close());
