/* Test Anything Protocol in a few lines: each check is a function that throws when it does not hold. */
import assert from "node:assert/strict";

export { assert };

const checks = [];

export function check(name, body) {
  checks.push({ name, body });
}

export function skipAll(reason) {
  console.log(`1..0 # SKIP ${reason}`);
  process.exit(77);
}

export async function run(cleanup = async () => {}) {
  let failed = 0;
  console.log(`1..${checks.length}`);
  for (const [i, { name, body }] of checks.entries()) {
    try {
      await body();
      console.log(`ok ${i + 1} - ${name}`);
    } catch (problem) {
      failed++;
      console.log(`not ok ${i + 1} - ${name}`);
      console.log(String(problem?.stack ?? problem).replace(/^/gm, "# "));
    }
  }
  await cleanup();
  process.exit(failed ? 1 : 0);
}

/* A note that is no check. */
export function note(text) {
  console.log(`# ${text}`);
}
