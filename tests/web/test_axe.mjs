/* Every view under the rules of axe: names and roles for those who do not see it, contrast, focus; light and dark, with the help open. */
import { readFileSync } from "node:fs";
import { launch, open, settle } from "./browser.mjs";
import { matmul, saturated } from "./fixture.mjs";
import { fromWeb } from "./site.mjs";
import { assert, check, run } from "./tap.mjs";

const site = await launch();
const axe = readFileSync(fromWeb.resolve("axe-core/axe.min.js"), "utf8");
/* With something lost, simulated and damaged, so that notices are there; and two runs. */
const address = site.page("axe", [matmul({ label: "before", simulated: true, damage: "the file ends early", losses: [{ name: "ring_full", text: "samples: the ring was full", count: 3 }] }), saturated({ label: "after" })]);
const VIEWS = ["overview", "map", "map&p=0.6&colour=latency", "gantt&time=0.4~2&object=1&thread=1", "objects", "objects&query=nothing%20of%20this", "sites", "threads", "functions", "lines", "line&item=0",
  "flame", "object&item=1", "object&item=3", "site&item=2", "thread&item=1", "compare", "compare&kind=functions"];

/* What axe finds, a line each. Everything that can be opened is open. */
function judge(page, within = null) {
  return page.evaluate(async (selector) => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    const { violations, passes } = await window.axe.run(selector ?? document, { resultTypes: ["violations"] });
    return { passed: passes.map((rule) => rule.id), found: violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.replace(/\s+/g, " ")}`)) };
  }, within);
}

for (const theme of ["light", "dark"]) {
  const opened = async () => {
    const { page, context } = await open(site.browser, `${address}#view=overview&theme=${theme}`);
    await page.evaluate(axe);
    return { page, context };
  };
  check(`${theme}: axe finds nothing in any view`, async () => {
    const { page, context } = await opened();
    const bad = [];
    for (const view of VIEWS) {
      await page.evaluate((wanted) => { location.hash = wanted; }, `view=${view}&theme=${theme}`);
      await settle(page);
      const { passed, found } = await judge(page);
      assert.ok(passed.includes("color-contrast") && passed.includes("button-name"), `${view}: ${passed.join(" ")}`);
      bad.push(...found.map((line) => `${view}: ${line}`));
    }
    assert.deepEqual(bad, []);
    await context.close();
  });
  check(`${theme}: axe finds nothing in the help`, async () => {
    const { page, context } = await opened();
    await page.keyboard.press("?");
    await page.waitForSelector("dialog.help[open]");
    const { passed, found } = await judge(page, "dialog.help");
    assert.ok(passed.includes("color-contrast") && passed.includes("button-name"), passed.join(" "));
    assert.deepEqual(found, []);
    await context.close();
  });
}
await run(() => site.close());
