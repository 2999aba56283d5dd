/* The npm packages that the page is built with: node packages.mjs FOLDER
 *
 * Those of web/node_modules are used when somebody has installed them there and they are those of package-lock.json; otherwise
 * they are installed into FOLDER, which belongs to the build: nothing is written into the source tree. Without a network this
 * fails within seconds, where npm on its own would wait for minutes. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));
const ANSWER_SECONDS = 60;  // for the registry's first answer
const OFFLINE_SECONDS = 60; // for unpacking what npm's cache has
const REMEDY = "Connect to the network, or build from a release's source tarball, which has the page (`make dist` makes one), or leave the page out with Meson's option -Dpage=disabled.";

function readLock(path) {
  return JSON.parse(readFileSync(path, "utf8")).packages;
}

/* npm notes in node_modules what it has put there. */
function isComplete(folder) {
  try {
    const wanted = readLock(join(web, "package-lock.json"));
    const present = readLock(join(folder, "node_modules/.package-lock.json"));
    return Object.entries(wanted).every(([name, { version, optional }]) => name === "" || (present[name] ? present[name].version === version : optional));
  } catch {
    return false;
  }
}

function npm(folder, seconds, ...words) {
  execFileSync("npm", [...words, "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"], { cwd: folder, stdio: ["ignore", "ignore", "pipe"], timeout: seconds * 1000, killSignal: "SIGKILL" });
}

function registryAnswers(folder) {
  try {
    npm(folder, ANSWER_SECONDS, "view", "esbuild", "version", "--fetch-retries=0", "--fetch-timeout=10000");
    return true;
  } catch {
    return false;
  }
}

/* The folder whose node_modules has the packages, or null. */
export function findPackages(folder) {
  return [web, folder].find(isComplete) ?? null;
}

export function installPackages(folder) {
  const found = findPackages(folder);
  if (found) return found;
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(web, name), join(folder, name));
  const online = registryAnswers(folder);
  try {
    npm(folder, online ? 0 : OFFLINE_SECONDS, "ci", "--ignore-scripts", ...(online ? [] : ["--offline"]));
  } catch (problem) {
    const reason = online ? `npm ci failed: ${String(problem.stderr ?? problem.message).trim()}` : "npm's registry does not answer, and npm's cache does not have them";
    throw new Error(`the packages of web/package-lock.json cannot be installed: ${reason}. ${REMEDY}`);
  }
  return folder;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    if (process.argv.length !== 3) throw new Error("usage: node packages.mjs FOLDER");
    installPackages(process.argv[2]);
  } catch (problem) {
    console.error(`web: ${problem.message}`);
    process.exit(1);
  }
}
