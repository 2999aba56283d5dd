/* Colours of cells: the hue shows a value between two ends, the lightness how dense the accesses are (C19). */
import { dark, latencyDark, latencyLight, light, type Theme } from "./theme";
import type { State } from "./state";

export const LEVELS = 64;

type Rgb = [number, number, number];

export function rgb(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

type Lab = [number, number, number];

/* OKLab: steps that look even, and no hue becomes pink on its way to white. */
function labOf(colour: Rgb): Lab {
  const [r, g, b] = colour.map((c) => ((c / 255 + 0.055) / 1.055) ** 2.4) as Rgb;
  const l = Math.cbrt(0.4122 * r + 0.5363 * g + 0.0514 * b), m = Math.cbrt(0.2119 * r + 0.6807 * g + 0.1074 * b), s = Math.cbrt(0.0883 * r + 0.2817 * g + 0.63 * b);
  return [0.2105 * l + 0.7936 * m - 0.0041 * s, 1.978 * l - 2.4286 * m + 0.4506 * s, 0.0259 * l + 0.7828 * m - 0.8087 * s];
}

function rgbOf([L, a, b]: Lab): Rgb {
  const l = (L + 0.3963 * a + 0.2158 * b) ** 3, m = (L - 0.1056 * a - 0.0639 * b) ** 3, s = (L - 0.0895 * a - 1.2915 * b) ** 3;
  return [4.0767 * l - 3.3077 * m + 0.231 * s, -1.2684 * l + 2.6098 * m - 0.3413 * s, -0.0042 * l - 0.7034 * m + 1.7076 * s]
    .map((c) => Math.max(0, Math.min(255, Math.round(255 * (1.055 * Math.max(0, c) ** (1 / 2.4) - 0.055))))) as Rgb;
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const from = labOf(a), to = labOf(b);
  return rgbOf([0, 1, 2].map((i) => from[i]! + (to[i]! - from[i]!) * share) as Lab);
}

function along(stops: Rgb[], share: number): Rgb {
  const place = Math.min(stops.length - 1.0001, Math.max(0, share * (stops.length - 1)));
  const step = Math.floor(place);
  return mix(stops[step]!, stops[step + 1]!, place - step);
}

export type Colouring = State["colour"];

export const COLOURINGS: Record<Colouring, { title: string; low: string; high: string; ends: [keyof Theme, keyof Theme] | null }> = {
  sharing: { title: "Sharing", low: "one thread", high: "several threads", ends: ["private", "shared"] },
  access: { title: "Reads and writes", low: "reads", high: "writes", ends: ["read", "write"] },
  remote: { title: "Local and remote", low: "local", high: "remote", ends: ["local", "remote"] },
  latency: { title: "Latency", low: "quick", high: "slow", ends: null },
};

/* While the page is being printed: what is drawn then is light, whatever the screen is. */
function isPaper(): boolean {
  return document.documentElement.dataset["paper"] !== undefined;
}

export function isDark(): boolean {
  if (isPaper()) return false;
  const chosen = document.documentElement.dataset["theme"];
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function theme(): Theme {
  return isDark() ? dark : light;
}

export function stopsOf(colouring: Colouring, darkly: boolean): Rgb[] {
  const now = darkly ? dark : light;
  const ends = COLOURINGS[colouring].ends;
  if (ends) return [rgb(now[ends[0]]), rgb(now[ends[1]])];
  return (darkly ? latencyDark : latencyLight).map(rgb);
}

export interface Palette {
  /* [value * LEVELS + density] as the bytes of a pixel. */
  pixels: Uint32Array;
  /* [density] for cells whose value is not known. */
  unknown: Uint32Array;
}

const kept = new Map<string, Palette>();

const FAINTEST = 0.2;

export function palette(colouring: Colouring, darkly: boolean): Palette {
  const key = colouring + darkly;
  const old = kept.get(key);
  if (old) return old;
  const ground = rgb((darkly ? dark : light).surface);
  const stops = stopsOf(colouring, darkly);
  const neutral = rgb((darkly ? dark : light).unknown);
  const pixels = new Uint32Array(LEVELS * LEVELS), unknown = new Uint32Array(LEVELS);
  for (let density = 0; density < LEVELS; density++) {
    const strength = FAINTEST + (1 - FAINTEST) * (density / (LEVELS - 1));
    unknown[density] = pack(mix(ground, neutral, strength));
    for (let value = 0; value < LEVELS; value++) {
      pixels[value * LEVELS + density] = pack(mix(ground, along(stops, value / (LEVELS - 1)), strength));
    }
  }
  const made = { pixels, unknown };
  kept.set(key, made);
  return made;
}

function pack([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function cssOf(colouring: Colouring, share: number, strength = 1): string {
  const darkly = isDark();
  const colour = mix(rgb(theme().surface), along(stopsOf(colouring, darkly), share), strength);
  return `rgb(${colour.join(" ")})`;
}
