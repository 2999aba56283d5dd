/* Builds the page: node build.mjs OUT.html GLOSSARY.json (scripts/glossary)
 * Its npm packages are in web/node_modules or beside OUT.html (packages.mjs); they are installed there when they are missing or not
 * those of package-lock.json. Nothing is asked of the network otherwise. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { installPackages } from "./packages.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const MARKER = "<!--numalens-data-->";
const MOST_BYTES = 250_000;

function hash(data) {
  return createHash("sha256").update(data).digest("base64");
}

async function build(out, glossary) {
  const modules = join(installPackages(join(dirname(resolve(out)), "packages")), "node_modules");
  const esbuild = await import(pathToFileURL(join(modules, "esbuild/lib/main.js")).href);
  const options = { bundle: true, write: false, target: ["es2022"], legalComments: "none", minify: true, logLevel: "warning", absWorkingDir: here, nodePaths: [modules] };
  const bundle = async (entry, more) => (await esbuild.build({ ...options, entryPoints: [entry], ...more })).outputFiles[0].text;
  const theme = await bundle("src/theme.ts", { format: "esm" });
  const { themeCss } = await import(`data:text/javascript;base64,${Buffer.from(theme).toString("base64")}`);
  const style = themeCss() + (await bundle("src/style.css", {})).trim();
  /* Nothing in an inline script may end it. */
  const script = (await bundle("src/main.ts", { format: "iife" })).trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const policy = ["default-src 'none'", `script-src 'sha256-${hash(script)}'`, `style-src 'sha256-${hash(style)}'`, "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'"].join("; ");
  const page = readFileSync(join(here, "page.html"), "utf8").replace("@CSP@", () => policy).replace("@STYLE@", () => style).replace("@GLOSSARY@", () => readFileSync(glossary, "utf8").trim().replaceAll("<", "\\u003c")).replace("@SCRIPT@", () => script);
  if (page.split(MARKER).length !== 2) throw new Error(`The page must hold ${MARKER} exactly once.`);
  if (Buffer.byteLength(page) > MOST_BYTES) throw new Error(`The page's own code has ${Buffer.byteLength(page)} bytes; ${MOST_BYTES} are allowed.`);
  mkdirSync(dirname(resolve(out)), { recursive: true });
  writeFileSync(out, page);
}

try {
  if (process.argv.length !== 4) throw new Error("usage: node build.mjs OUT.html GLOSSARY.json");
  await build(process.argv[2], process.argv[3]);
} catch (problem) {
  console.error(`web: ${problem.message}`);
  process.exit(1);
}
