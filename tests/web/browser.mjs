/* A real browser, headless, with the page in it. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { embed } from "./fixture.mjs";
import { build, fromWeb, isInstalled, pageText } from "./site.mjs";
import { skipAll } from "./tap.mjs";

const CHROMIUM = process.env.NUMALENS_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
export const PICTURES = join(build, "web/pictures");

/* Ends with "skipped" where there is no page or no browser. */
export async function launch() {
  if (!isInstalled()) skipAll("the page was not built: node or npm is missing");
  if (!existsSync(CHROMIUM)) skipAll("Chromium is not installed");
  const { chromium } = fromWeb("playwright-core");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  const folder = mkdtempSync(join(tmpdir(), "numalens-web-"));
  mkdirSync(PICTURES, { recursive: true });
  return {
    browser, folder,
    async close() {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
    /* Writes a page with these containers; returns its address. */
    page(name, containers) {
      const path = join(folder, `${name}.html`);
      writeFileSync(path, embed(pageText(), containers));
      return pathToFileURL(path).href;
    },
  };
}

/* Opens an address and waits until the page can be used. `troubles` collects whatever the browser complains of. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  const troubles = [];
  /* The tests themselves read pixels back, which Chromium finds slow. */
  page.on("console", (message) => { if (["error", "warning"].includes(message.type()) && !message.text().includes("willReadFrequently")) troubles.push(`${message.type()}: ${message.text()}`); });
  page.on("pageerror", (error) => troubles.push(`exception: ${error.message}`));
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url()) && !request.url().startsWith(new URL(address).origin)) troubles.push(`asked the network: ${request.url()}`); });
  await page.goto(address);
  await page.waitForSelector("html[data-ready]");
  return { page, troubles, context };
}

/* Waits for the next frame twice: then what a change caused has been drawn. */
export async function settle(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/* Pixels of the map that are not its ground, and a sum that differs when they do. */
export async function ink(page, selector = "canvas.map") {
  await settle(page);
  return page.evaluate((wanted) => {
    const canvas = document.querySelector(wanted);
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let painted = 0, sum = 0;
    for (let i = 0; i < data.length; i += 4) {
      const spread = Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]);
      if (data[i + 3] > 0 && spread > 40) painted++;
      sum = (sum * 31 + data[i] * 3 + data[i + 1] * 5 + data[i + 2] * 7) >>> 0;
    }
    return { painted, sum };
  }, selector);
}

/* Rows of a table as the reader sees them. */
export function rows(page, column = 0) {
  return page.$$eval(".tr", (all, at) => all.map((row) => row.children[at].textContent), column);
}
