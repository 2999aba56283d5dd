/* Rules that the page's source keeps: text is never markup, nothing from the network, types hold, everything is in the build. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, builtPage, fromWeb, isInstalled, packages, pageText, web } from "./site.mjs";
import { assert, check, run, skipAll } from "./tap.mjs";

if (!isInstalled()) skipAll("the page was not built: node or npm is missing");

const sources = readdirSync(join(web, "src")).filter((name) => name.endsWith(".ts"));
const read = (name) => readFileSync(join(web, "src", name), "utf8");

check("no source makes markup or code of text", () => {
  for (const name of sources) {
    const found = read(name).match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|\beval\b|new Function|setHTML/);
    assert.equal(found, null, `${name}: ${found?.[0]}`);
  }
});
check("the types hold", () => {
  /* The packages may be in the build folder, where sources do not find them by themselves. */
  const settings = join(build, "web/tsconfig.json");
  const paths = { "*": [join(packages, "node_modules/@types/*"), join(packages, "node_modules/*")] };
  writeFileSync(settings, JSON.stringify({ extends: join(web, "tsconfig.json"), compilerOptions: { paths }, include: [join(web, "src")] }));
  execFileSync(process.execPath, [fromWeb.resolve("typescript/bin/tsc"), "--noEmit", "-p", settings], { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
});
check("the build knows every source", () => {
  const listed = readFileSync(join(web, "meson.build"), "utf8");
  for (const name of readdirSync(join(web, "src"))) assert.ok(listed.includes(`'src/${name}'`), `${name} is not in web/meson.build`);
});
check("sources are of a size that can be read", () => {
  for (const name of sources) assert.ok(read(name).split("\n").length <= 400, `${name} has more than 400 lines`);
});
check("the lock file names no host", () => {
  assert.doesNotMatch(readFileSync(join(web, "package-lock.json"), "utf8"), /https?:|"resolved"/);
});
check("packages are pinned and run on node 18", () => {
  const own = JSON.parse(readFileSync(join(web, "package.json"), "utf8"));
  for (const version of Object.values({ ...own.dependencies, ...own.devDependencies })) assert.match(version, /^\d+\.\d+\.\d+$/);
  const lock = JSON.parse(readFileSync(join(web, "package-lock.json"), "utf8"));
  for (const [path, entry] of Object.entries(lock.packages)) {
    const least = /(\d+)/.exec(entry.engines?.node ?? "0")[1];
    assert.ok(Number(least) <= 18, `${path} needs node ${entry.engines?.node}`);
  }
});
check("the page is one file under a strict policy", () => {
  const page = pageText();
  assert.equal(page.split("<!--numalens-data-->").length, 2);
  assert.match(page, /default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src data:; connect-src 'self'/);
  assert.doesNotMatch(page, /<(script|link|img)[^>]+(src|href)=["']?(https?:)?\/\//);
  assert.ok(Buffer.byteLength(page) < 250_000, `${Buffer.byteLength(page)} bytes`);
  assert.ok(existsSync(builtPage));
});
await run();
