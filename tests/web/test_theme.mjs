/* Colours: text can be read, and opposites stay apart for every kind of colour vision. */
import { isInstalled, modules } from "./site.mjs";
import { assert, check, run, skipAll } from "./tap.mjs";

if (!isInstalled()) skipAll("the page was not built: node or npm is missing");
const { light, dark, textPairs, dataPairs, latencyLight, latencyDark } = await modules("theme");

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const luminance = (rgb) => 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];

function contrast(a, b) {
  const [x, y] = [a, b].map((hex) => luminance(channels(hex).map(linear)) + 0.05);
  return Math.max(x, y) / Math.min(x, y);
}

/* Machado, Oliveira and Fernandes 2009, severity 1, on linear light. */
const VISIONS = {
  "full colour vision": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function lab(hex, matrix) {
  const own = channels(hex).map(linear);
  const [r, g, b] = matrix.map((row) => Math.min(1, Math.max(0, row[0] * own[0] + row[1] * own[1] + row[2] * own[2])));
  const f = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), y = f(0.2126 * r + 0.7152 * g + 0.0722 * b), z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const LEAST_DIFFERENCE = 25; /* Delta E 1976; about 10 is clear side by side */

for (const [name, theme] of Object.entries({ light, dark })) {
  check(`${name}: every text has a contrast of 4.5 to 1`, () => {
    for (const [text, ground] of textPairs) assert.ok(contrast(theme[text], theme[ground]) >= 4.5, `${text} on ${ground}: ${contrast(theme[text], theme[ground]).toFixed(2)}`);
  });
  check(`${name}: what data is drawn in stands out from the ground`, () => {
    for (const colour of dataPairs.flat()) assert.ok(contrast(theme[colour], theme.surface) >= 3, `${colour}: ${contrast(theme[colour], theme.surface).toFixed(2)}`);
  });
  for (const [vision, matrix] of Object.entries(VISIONS)) {
    check(`${name}: opposites differ under ${vision}`, () => {
      for (const [one, other] of dataPairs) {
        const a = lab(theme[one], matrix), b = lab(theme[other], matrix);
        const difference = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        assert.ok(difference >= LEAST_DIFFERENCE, `${one} and ${other}: ${difference.toFixed(0)}`);
      }
    });
  }
}
check("latency reads in grey too: lightness goes one way", () => {
  for (const scale of [latencyLight, latencyDark]) {
    const steps = scale.map((hex) => luminance(channels(hex).map(linear)));
    const ways = new Set(steps.slice(1).map((step, i) => Math.sign(step - steps[i])));
    assert.equal(ways.size, 1, steps.map((s) => s.toFixed(2)).join(" "));
  }
});
await run();
