/* Builds the page: node build.mjs OUT.html
 * Installs the packages first when they are missing or not those of package-lock.json; asks nothing of the network otherwise. */
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const MARKER = "<!--numalens-data-->";
const MOST_BYTES = 250_000;

function hash(data) {
  return createHash("sha256").update(data).digest("base64");
}

function install() {
  const wanted = hash(readFileSync(join(here, "package-lock.json")));
  const stamp = join(here, "node_modules", ".numalens-lock");
  try {
    if (readFileSync(stamp, "utf8") === wanted) return;
  } catch {
    /* Not installed yet. */
  }
  try {
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
  } catch {
    throw new Error("npm ci failed: the packages of web/package-lock.json could not be fetched. `meson configure BUILD -Dpage=disabled` builds numalens without its HTML page.");
  }
  writeFileSync(stamp, wanted);
}

async function build(out) {
  install();
  const esbuild = await import(pathToFileURL(join(here, "node_modules/esbuild/lib/main.js")).href);
  const options = { bundle: true, write: false, target: ["es2022"], legalComments: "none", minify: true, logLevel: "warning", absWorkingDir: here };
  const bundle = async (entry, more) => (await esbuild.build({ ...options, entryPoints: [entry], ...more })).outputFiles[0].text;
  const theme = await bundle("src/theme.ts", { format: "esm" });
  const { themeCss } = await import(`data:text/javascript;base64,${Buffer.from(theme).toString("base64")}`);
  const style = themeCss() + (await bundle("src/style.css", {})).trim();
  /* Nothing in an inline script may end it. */
  const script = (await bundle("src/main.ts", { format: "iife" })).trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const policy = ["default-src 'none'", `script-src 'sha256-${hash(script)}'`, `style-src 'sha256-${hash(style)}'`, "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'"].join("; ");
  const page = readFileSync(join(here, "page.html"), "utf8").replace("@CSP@", () => policy).replace("@STYLE@", () => style).replace("@SCRIPT@", () => script);
  if (page.split(MARKER).length !== 2) throw new Error(`The page must hold ${MARKER} exactly once.`);
  if (Buffer.byteLength(page) > MOST_BYTES) throw new Error(`The page's own code has ${Buffer.byteLength(page)} bytes; ${MOST_BYTES} are allowed.`);
  mkdirSync(dirname(resolve(out)), { recursive: true });
  writeFileSync(out, page);
}

try {
  if (process.argv.length !== 3) throw new Error("usage: node build.mjs OUT.html");
  await build(process.argv[2]);
} catch (problem) {
  console.error(`web: ${problem.message}`);
  process.exit(1);
}
