/* Elements. Everything from the trace goes through here as text: there is no way to make markup of it. */

import { explained } from "./glossary";

type Child = Node | string | number | null | undefined | false;
type Listener = (event: any) => void;
export interface Attributes {
  [name: string]: string | number | boolean | null | undefined | Listener;
}

/* h("button", { class: "chip", onclick: f, "aria-label": "..." }, "text", child...) */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes | null, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag: string, attributes: Attributes | null, ...children: (Child | Child[])[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

function setAttributes(element: Element, attributes: Attributes | null): void {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(element: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/* The head of a small table; titles that begin with ">" stand over numbers, flush right. */
export function tableHead(...titles: string[]): HTMLElement {
  return h("thead", null, h("tr", null, titles.map((title) => h("th", { scope: "col", class: title.startsWith(">") ? "num" : null }, term(title.replace(/^>/, ""))))));
}

/* A word that explains itself (explanation.ts), shown as `shown`; plain where the glossary does not have it. */
export function term(word: string, shown = word): HTMLElement | string {
  return explained(word) ? h("button", { type: "button", class: "term", "data-term": word }, shown) : shown;
}

/* A sentence in which names such as far-initialised explain themselves. */
export function sentenceOf(text: string): (HTMLElement | string)[] {
  return text.split(/([A-Za-z-]+)/).map((part) => (part.includes("-", 1) ? term(part) : part));
}

export function clear(element: Element, ...children: (Child | Child[])[]): void {
  element.replaceChildren();
  append(element, children);
}

/* A canvas as large as `element`, sharp on any screen; returns its 2D context in CSS pixels. */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const w = Math.max(1, Math.round(width * ratio)), hgt = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== hgt) {
    canvas.width = w;
    canvas.height = hgt;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/* Text cut with an ellipsis so that it fits `width` on a canvas. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width <= 0) return "";
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}
