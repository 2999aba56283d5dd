/* The words of docs/glossary.md in the page: what patterns, titles and facts mean, for pointer and keyboard. */
import { join } from "node:path";
import { launch, open, PICTURES, settle } from "./browser.mjs";
import { matmul } from "./fixture.mjs";
import { assert, check, run } from "./tap.mjs";

const site = await launch();
const { page, troubles } = await open(site.browser, site.page("matmul", [matmul()]));
const go = async (text) => { await page.evaluate((wanted) => { location.hash = wanted; }, text); await settle(page); };

check("words explain themselves: under the pointer, with the keyboard's focus, until Escape", async () => {
  const tip = page.locator(".tip:not([hidden])"), pattern = page.locator(".finding .pattern .term").first();
  await go("view=overview&object=1");
  await pattern.hover();
  assert.match(await tip.textContent(), /^remote-after-allocationone thread allocates and touches an object/);
  assert.equal(await pattern.getAttribute("aria-describedby"), await tip.getAttribute("id"));
  await page.screenshot({ path: join(PICTURES, "explained-light.png") });
  const box = await tip.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
  assert.equal(await tip.count(), 1, "the pointer can go onto it");
  await page.mouse.move(2, 2);
  assert.equal(await tip.count(), 0);
  assert.equal(await pattern.getAttribute("aria-describedby"), null);
  await page.locator(".skip").focus();
  const seen = new Set();
  for (let i = 0; i < 60 && !seen.has("confidence"); i++) {
    await page.keyboard.press("Tab");
    const word = await page.evaluate(() => document.activeElement.dataset.term);
    if (word === undefined) continue;
    seen.add(word);
    assert.equal(await tip.count(), 1, word);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-describedby")), "tip", word);
  }
  assert.ok(["remote", "home node", "latency", "remote-after-allocation", "of run time"].every((word) => seen.has(word)), [...seen].join());
  await page.keyboard.press("Escape");
  assert.equal(await tip.count(), 0);
  assert.equal(await page.locator(".chip").count(), 1, "the selection stays");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".chip").count(), 0);
});
check("titles of tables explain themselves, and keep the focus when they sort", async () => {
  await go("view=objects");
  await page.locator("[data-sort=share]").focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  assert.match(await page.locator(".tip:not([hidden])").textContent(), /^local, remoteOf the accesses whose page's home is known.*else remote$/);
  await page.keyboard.press("Enter");
  await settle(page);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.sort), "share");
  assert.equal(await page.locator("[aria-sort=descending]").textContent(), "Remote %▾");
});
check("every title of a table has an explanation, but plain ones", async () => {
  const plain = new Set(["", "Name", "Time", "What happens", "Byte", "Address", "Bytes away", "Source", "Who (reads / writes)", "From nodes", "A", "B", "B − A"]);
  const lacking = new Set(), found = new Set();
  for (const view of ["overview", "objects", "sites", "threads", "functions", "lines", "object&item=1", "object&item=3", "site&item=0", "line&item=0"]) {
    await go(`view=${view}`);
    const titles = await page.$$eval(".stage .th, .stage .list th[scope=col]", (all) => all.map((title) => [title.textContent.replace(/[▾▴]$/, ""), title.querySelector("[data-term]") !== null, title.querySelector("[title]")?.title ?? ""]));
    assert.ok(titles.length > 2, view);
    for (const [title, explains] of titles) (explains ? found : lacking).add(title);
  }
  assert.deepEqual([...lacking].filter((title) => !plain.has(title)), []);
  assert.ok(found.has("Remote %") && found.has("Latency") && found.has("Field"), [...found].join());
});
check("the browser had nothing to complain of", () => assert.deepEqual(troubles, []));
await run(() => site.close());
