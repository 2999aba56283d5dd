/* Where things are, and how tests get at the page's own modules. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findPackages } from "../../web/packages.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const web = join(root, "web");
export const build = process.env.NUMALENS_BUILD ?? join(root, "build");
export const builtPage = join(build, "web/page.html");
export const packages = findPackages(join(build, "web/packages"));
export const fromWeb = createRequire(join(packages ?? web, "package.json"));

export function pageText() {
  return readFileSync(builtPage, "utf8");
}

export function isInstalled() {
  return existsSync(builtPage) && packages !== null;
}

/* The exports of one or more of the page's modules, bundled for node. */
export async function modules(...names) {
  const esbuild = await import(pathToFileURL(fromWeb.resolve("esbuild")).href);
  const contents = names.map((name) => `export * from "./src/${name}";`).join("\n");
  const made = await esbuild.build({ stdin: { contents, resolveDir: web }, nodePaths: [join(packages, "node_modules")], bundle: true, write: false, format: "esm", target: "es2022", logLevel: "silent" });
  return import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString("base64")}`);
}
