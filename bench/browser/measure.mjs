/* Measures the page in a browser; run by bench/browser/run. Exit status 1 when a goal is missed. */
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch, open, settle } from "../../tests/web/browser.mjs";
import { large } from "../../tests/web/fixture.mjs";

const GOALS = { interactive: 2000, frame: 1000 / 30 };
const median = (values) => values.slice().sort((a, b) => a - b)[Math.floor(values.length / 2)];

/* Frames while the wheel turns or the pointer drags; each waits until the browser has painted. */
async function frames(page, gesture) {
  return page.evaluate(async (kind) => {
    const canvas = document.querySelector("canvas.map"), box = canvas.getBoundingClientRect();
    const at = { clientX: box.left + box.width * 0.6, clientY: box.top + box.height * 0.5, pointerId: 1, button: 0, bubbles: true, cancelable: true };
    canvas.setPointerCapture = () => {};
    if (kind === "pan") canvas.dispatchEvent(new PointerEvent("pointerdown", at));
    const times = [];
    for (let i = 0; i < 60; i++) {
      const start = performance.now();
      if (kind === "zoom") canvas.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: i % 20 < 10 ? -30 : 30, ctrlKey: true }));
      else canvas.dispatchEvent(new PointerEvent("pointermove", { ...at, clientX: at.clientX + (i % 2 ? 6 : -6) * (1 + i / 4), clientY: at.clientY + (i % 3) * 4 }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
      times.push(performance.now() - start);
    }
    if (kind === "pan") canvas.dispatchEvent(new PointerEvent("pointerup", at));
    return times;
  }, gesture);
}

const site = await launch();
const address = site.page("large", [large(400_000, 4_000_000)]);
const opened = [];
let last;
for (let i = 0; i < 3; i++) {
  last?.context.close();
  last = await open(site.browser, `${address}#view=map`);
  await settle(last.page);
  /* Since the browser set out for the page, until the map has been drawn. */
  opened.push(await last.page.evaluate(() => performance.now()));
}
const zoomedOut = median(await frames(last.page, "zoom"));
await last.page.evaluate(() => { location.hash = "view=map&x=10~50&y=0.1~0.9"; });
await settle(last.page);
const panned = median(await frames(last.page, "pan"));
const ready = median(opened);
console.log(`page of ${(statSync(fileURLToPath(address)).size / 1e6).toFixed(1)} MB, 400,000 cells, 2,000 objects`);
console.log(`can be used after    ${ready.toFixed(0)} ms (goal ${GOALS.interactive})`);
console.log(`frame while zooming  ${zoomedOut.toFixed(1)} ms (goal ${GOALS.frame.toFixed(0)})`);
console.log(`frame while panning  ${panned.toFixed(1)} ms (goal ${GOALS.frame.toFixed(0)})`);
await site.close();
process.exit(ready <= GOALS.interactive && zoomedOut <= GOALS.frame && panned <= GOALS.frame ? 0 : 1);
