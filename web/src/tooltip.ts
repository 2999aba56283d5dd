/* The little window beside the pointer. Its text is also what a screen reader hears of a picture under keyboard control. */
import { clear, h } from "./dom";

export type TipLine = [label: string, text: string] | string;

export class Tooltip {
  readonly element = h("div", { class: "tip", role: "tooltip", hidden: true });

  constructor() {
    document.body.append(this.element);
  }

  /* Beside the pointer, which it does not get in the way of. */
  show(x: number, y: number, title: string, lines: TipLine[]): void {
    this.fill(title, lines);
    const { width, height } = this.element.getBoundingClientRect();
    this.place(x + 14 + width > innerWidth - 6 ? x - 14 - width : x + 14, y + 16 + height > innerHeight - 6 ? y - 12 - height : y + 16);
  }

  /* Below an element, or above it, and touching it: the pointer can go there to read and copy. */
  beside(element: Element, title: string, lines: TipLine[]): void {
    this.fill(title, lines);
    this.element.classList.add("readable");
    const { left, top, bottom } = element.getBoundingClientRect(), { width, height } = this.element.getBoundingClientRect();
    this.place(Math.min(left, innerWidth - 6 - width), bottom + height > innerHeight - 6 && top > height ? top - height + 1 : bottom - 1);
  }

  private fill(title: string, lines: TipLine[]): void {
    this.element.classList.remove("readable");
    clear(this.element,
      h("div", { class: "tip-title" }, title),
      lines.map((line) => typeof line === "string"
        ? h("div", { class: "tip-note" }, line)
        : h("div", { class: "tip-line" }, h("span", null, line[0]), h("b", null, line[1]))));
    this.element.hidden = false;
  }

  private place(left: number, top: number): void {
    this.element.style.left = `${Math.max(6, left)}px`;
    this.element.style.top = `${Math.max(6, top)}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
