/* Colours of the page. The build writes them as CSS variables; the tests check their contrast and how colour-blind people see them. */

export interface Theme {
  page: string; surface: string; raised: string; line: string;
  text: string; muted: string; accent: string; onAccent: string; focus: string;
  warnSurface: string; warnText: string; badText: string; goodText: string; selected: string;
  /* Two-sided scales of the pictures, and what has no known value. */
  private: string; shared: string; read: string; write: string; local: string; remote: string; unknown: string;
}

export const light: Theme = {
  page: "#f6f7f9", surface: "#ffffff", raised: "#eef1f5", line: "#d5dbe3",
  text: "#18202b", muted: "#525d6c", accent: "#0a5cb8", onAccent: "#ffffff", focus: "#0a5cb8",
  warnSurface: "#fff3d1", warnText: "#5c4000", badText: "#a8370a", goodText: "#0b6b46", selected: "#dcebfc",
  private: "#0072b2", shared: "#d55e00", read: "#2f8f46", write: "#8a3ab8", local: "#0072b2", remote: "#d55e00", unknown: "#808a97",
};

export const dark: Theme = {
  page: "#0f131a", surface: "#161c25", raised: "#202833", line: "#313c4a",
  text: "#e8ecf2", muted: "#a3afbf", accent: "#78b7ff", onAccent: "#0b1320", focus: "#9ccbff",
  warnSurface: "#3b2f0d", warnText: "#ffdb86", badText: "#ff9d6e", goodText: "#6fd6a8", selected: "#1d3553",
  private: "#4aa8e8", shared: "#f08a3c", read: "#7ac74f", write: "#b98af5", local: "#4aa8e8", remote: "#f08a3c", unknown: "#7d8896",
};

/* Text and what it stands on: each pair must have a contrast of 4.5 to 1. */
export const textPairs: [keyof Theme, keyof Theme][] = [
  ["text", "page"], ["text", "surface"], ["text", "raised"], ["text", "selected"], ["muted", "page"], ["muted", "surface"],
  ["muted", "raised"], ["accent", "page"], ["accent", "surface"], ["accent", "raised"], ["onAccent", "accent"], ["warnText", "warnSurface"],
  ["badText", "surface"], ["badText", "page"], ["goodText", "surface"], ["goodText", "page"], ["muted", "selected"], ["accent", "selected"],
];

/* Pairs of data colours that stand for opposites: each must stay apart for every kind of colour vision. */
export const dataPairs: [keyof Theme, keyof Theme][] = [["private", "shared"], ["read", "write"], ["local", "remote"]];

/* Sequential scale for latency, from quick to slow: lightness rises or falls all along, so it reads in grey too. */
export const latencyLight = ["#3b0f70", "#31688e", "#1f9e89", "#7ac143", "#fde725"].reverse();
export const latencyDark = ["#3f4a8a", "#2f7f96", "#35b779", "#a5db36", "#fde725"];

function variables(theme: Theme): string {
  return Object.entries(theme).map(([name, colour]) => `--${name}:${colour};`).join("");
}

/* The style sheet's colours: by the system's preference unless the reader chose; paper is always light. */
export function themeCss(): string {
  return `:root{color-scheme:light;${variables(light)}}`
    + `@media (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;${variables(dark)}}}`
    + `:root[data-theme=dark]{color-scheme:dark;${variables(dark)}}`
    + `@media print{:root,:root[data-theme=dark],:root:not([data-theme=light]){color-scheme:light;${variables(light)}}}`;
}
