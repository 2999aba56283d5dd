/* Names and paths from a trace that would do harm as markup: they are shown, and nothing of them runs. */
import { join } from "node:path";
import { launch, open, PICTURES, settle } from "./browser.mjs";
import { container, hostile, HOSTILE, large, matmul } from "./fixture.mjs";
import { assert, check, note, run } from "./tap.mjs";

const site = await launch();
const VIEWS = ["overview", "map", "gantt", "objects", "sites", "threads", "functions", "lines", "line&item=0", "flame", "object&item=0", "object&item=1", "site&item=2", "thread&item=0", "thread&item=1", "compare", "compare&kind=functions"];

check("hostile names do not run, in any view", async () => {
  const { page, troubles, context } = await open(site.browser, site.page("hostile", [hostile(), hostile()]));
  for (const view of VIEWS) {
    await page.evaluate((wanted) => { location.hash = `view=${wanted}`; }, view);
    await settle(page);
    assert.equal(await page.evaluate(() => window.hurt), undefined, view);
    assert.equal(await page.locator("img, .stage script, .stage [onload], .stage [onerror]").count(), 0, view);
  }
  assert.ok((await page.title()).includes(HOSTILE[0]));
  assert.ok((await page.locator(".notices").textContent()).includes(HOSTILE[1]));
  await page.evaluate(() => { location.hash = "view=objects"; });
  await page.screenshot({ path: join(PICTURES, "hostile.png") });
  assert.deepEqual(troubles, []);
  await context.close();
});
check("a hostile address does no harm either", async () => {
  const address = site.page("plain", [matmul()]);
  for (const hash of ["view=<img src=x onerror=window.hurt=1>", "view=__proto__", "view=constructor", "item=1e99&view=object", "query=<script>&view=objects", "time=NaN~1&x=1~0&view=map", "run=99"]) {
    const { page, troubles, context } = await open(site.browser, `${address}#${hash}`);
    await settle(page);
    assert.equal(await page.evaluate(() => window.hurt), undefined);
    assert.deepEqual(troubles, [], hash);
    await context.close();
  }
});
check("the policy stops what would slip through", async () => {
  const { page, context } = await open(site.browser, site.page("policy", [matmul()]));
  const blocked = await page.evaluate(() => new Promise((done) => {
    document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
    const script = document.createElement("script");
    script.textContent = "window.hurt = 1";
    document.body.append(script);
    setTimeout(() => done("nothing"), 3000);
  }));
  assert.match(blocked, /^script-src/);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  await context.close();
});
check("damaged data is a sentence, not a blank page", async () => {
  const broken = matmul();
  broken.write("XXXX");
  const { page, context } = await open(site.browser, site.page("broken", [broken]));
  assert.match(await page.locator("[role=alert]").textContent(), /no numalens data/);
  await context.close();
});
check("a recording with nothing in it says so", async () => {
  const { page, troubles, context } = await open(site.browser, site.page("empty", [container({ run: { command: "true", duration_s: 0.01, source: "none" } }, {})]));
  for (const view of VIEWS) {
    await page.evaluate((wanted) => { location.hash = `view=${wanted}`; }, view);
    await settle(page);
    assert.ok((await page.locator(".stage").textContent()).trim().length > 5, view);
  }
  assert.deepEqual(troubles, []);
  await context.close();
});
check("400,000 cells are drawn without a drawing call for each", async () => {
  const { page, troubles, context } = await open(site.browser, site.page("large", [large()]));
  await page.evaluate(() => {
    window.calls = 0;
    for (const name of ["fillRect", "drawImage", "putImageData", "fillText", "strokeRect"]) {
      const original = CanvasRenderingContext2D.prototype[name];
      CanvasRenderingContext2D.prototype[name] = function (...rest) { window.calls++; return original.apply(this, rest); };
    }
    location.hash = "view=map";
  });
  await settle(page);
  const frame = await page.locator("canvas.map").boundingBox();
  await page.mouse.move(frame.x + frame.width / 2, frame.y + frame.height / 2);
  await page.mouse.wheel(0, -60);
  await settle(page);
  await page.evaluate(() => { window.calls = 0; });
  const times = await page.evaluate(async () => {
    const canvas = document.querySelector("canvas.map"), box = canvas.getBoundingClientRect();
    const took = [];
    for (let i = 0; i < 30; i++) {
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i % 10 < 5 ? -20 : 20, shiftKey: i % 2 === 0, clientX: box.left + box.width * 0.6, clientY: box.top + box.height * 0.5, cancelable: true }));
      const start = performance.now();
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
      took.push(performance.now() - start);
    }
    return took.sort((a, b) => a - b);
  });
  const calls = await page.evaluate(() => window.calls);
  note(`median frame ${times[15].toFixed(1)} ms, slowest ${times[29].toFixed(1)} ms; ${Math.round(calls / 30)} drawing calls a frame`);
  assert.ok(calls / 30 < 6000, `${calls / 30} drawing calls a frame`);
  await page.screenshot({ path: join(PICTURES, "large.png") });
  await page.evaluate(() => { location.hash = "view=objects"; });
  await settle(page);
  assert.ok(await page.locator(".tr").count() < 80, "rows off screen must not be in the document");
  await page.locator(".tscroll").evaluate((element) => { element.scrollTop = element.scrollHeight; });
  await settle(page);
  assert.match(await page.locator(".tr").last().textContent(), /object_1999/);
  assert.deepEqual(troubles, []);
  await context.close();
});
await run(() => site.close());
