/* Two runs in one page, and a page that is served. */
import { createServer } from "node:http";
import { join } from "node:path";
import { ink, launch, open, PICTURES, rows, settle } from "./browser.mjs";
import { matmul } from "./fixture.mjs";
import { pageText } from "./site.mjs";
import { assert, check, run } from "./tap.mjs";

const site = await launch();
const address = site.page("two", [matmul({ label: "before" }), matmul({ label: "after" }, true)]);

check("two runs stand side by side with the same scales", async () => {
  const { page, troubles, context } = await open(site.browser, `${address}#view=compare`, { viewport: { width: 1360, height: 1300 } });
  await settle(page);
  assert.equal(await page.locator("canvas.map").count(), 2);
  assert.match(await page.locator(".compare-summary").textContent(), /remote98%51%−47%/);
  const ticks = await page.$$eval(".chart", (all) => all.map((chart) => [...chart.querySelectorAll(".tick")].map((t) => t.textContent).join()));
  assert.equal(ticks[0], ticks[1]);
  await page.screenshot({ path: join(PICTURES, "compare-light.png") });
  assert.deepEqual(troubles, []);
  await context.close();
});
check("a page of two runs opens on their comparison: its verdict, and what became of the findings; another view stays where a link says so", async () => {
  const { page, context } = await open(site.browser, address);
  await settle(page);
  assert.match(await page.locator(".compare-summary").textContent(), /remote98%51%−47%/);
  assert.equal(await page.locator(".verdict p").first().textContent(), "Remote accesses fell from 98.0% to 51.0%; mostly B (matmul.c:12).");
  assert.match(await page.locator(".verdict").textContent(), /product \(matmul.c:12\) is what was result/);
  assert.deepEqual(await page.$$eval(".fates tbody tr", (all) => all.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent).join(" | "))),
    ["new in B | far initialised | A", "went away | remote after allocation | B"]);
  await page.click(".fates tbody tr:last-child a");
  assert.match(page.url(), /view=object/);
  assert.match(await page.locator(".own-head h2").textContent(), /^B/);
  assert.doesNotMatch(page.url(), /run=1/);
  await context.close();
  const other = await open(site.browser, `${address}#view=objects`);
  await settle(other.page);
  assert.equal(await other.page.locator(".compare-summary").count(), 0);
  await other.context.close();
});
check("the maps of both zoom together", async () => {
  const { page, context } = await open(site.browser, `${address}#view=compare`);
  const second = () => page.evaluate(() => document.querySelectorAll("canvas.map")[1].toDataURL().length);
  await settle(page);
  const before = await second();
  const frame = await page.locator("canvas.map").first().boundingBox();
  await page.mouse.move(frame.x + frame.width * 0.6, frame.y + frame.height * 0.5);
  await page.mouse.wheel(0, -500);
  await settle(page);
  assert.notEqual(await second(), before);
  await context.close();
});
check("tables tell the differences", async () => {
  const { page, context } = await open(site.browser, `${address}#view=compare&sort=rd`);
  await page.waitForSelector(".tr");
  assert.deepEqual(await rows(page), ["Bmatmul.c:12", "Amatmul.c:12", "productmatmul.c:12; was result, matmul.c:11", "pidsmatmul.c:12"]);
  assert.match((await rows(page, 6))[0], /^−\d+%$/);
  await page.selectOption(".compare [data-choice=kind]", "functions");
  assert.deepEqual(await rows(page, 6), ["−48%", "only in A"]);
  await context.close();
});
check("every view can be switched to the other run", async () => {
  const { page, context } = await open(site.browser, `${address}#view=overview`);
  assert.equal(await page.locator(".ring-text").textContent(), "98%");
  await page.click("[data-run='1']");
  assert.equal(await page.locator(".ring-text").textContent(), "51%");
  await page.keyboard.press("r");
  assert.equal(await page.locator(".ring-text").textContent(), "98%");
  await context.close();
});
check("a served page fetches its data, and more of it when zoomed in", async () => {
  const whole = matmul({ live: true });
  const asked = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    asked.push(url.pathname + url.search);
    const isPage = url.pathname === "/token/";
    response.setHeader("Content-Type", isPage ? "text/html" : "application/octet-stream");
    response.end(isPage ? pageText().replace("<!--numalens-data-->", '<script type="text/plain" class="numalens-data" data-href="data?run=0"></script>') : whole);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { page, troubles, context } = await open(site.browser, `http://127.0.0.1:${server.address().port}/token/#view=map`);
  assert.ok((await ink(page)).painted > 5000);
  assert.deepEqual(asked, ["/token/", "/token/data?run=0"]);
  const frame = await page.locator("canvas.map").boundingBox();
  await page.mouse.move(frame.x + frame.width * 0.6, frame.y + frame.height * 0.5);
  const wanted = page.waitForRequest(/window\?/);
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -600);
  await wanted;
  const query = new URL((await wanted).url()).searchParams;
  assert.ok(Number(query.get("t1")) - Number(query.get("t0")) < 0.5);
  assert.ok(Number(query.get("a1")) > Number(query.get("a0")));
  assert.equal(query.get("run"), "0");
  assert.deepEqual(troubles, []);
  await context.close();
  server.close();
});
await run(() => site.close());
