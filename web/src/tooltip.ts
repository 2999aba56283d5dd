/* The little window beside the pointer. Its text is also what a screen reader hears of a picture under keyboard control. */
import { clear, h } from "./dom";

export type TipLine = [label: string, text: string] | string;

export class Tooltip {
  readonly element = h("div", { class: "tip", role: "tooltip", hidden: true });

  constructor() {
    document.body.append(this.element);
  }

  show(x: number, y: number, title: string, lines: TipLine[]): void {
    clear(this.element,
      h("div", { class: "tip-title" }, title),
      lines.map((line) => typeof line === "string"
        ? h("div", { class: "tip-note" }, line)
        : h("div", { class: "tip-line" }, h("span", null, line[0]), h("b", null, line[1]))));
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = x + 14 + width > innerWidth - 6 ? x - 14 - width : x + 14;
    const top = y + 16 + height > innerHeight - 6 ? y - 12 - height : y + 16;
    this.element.style.left = `${Math.max(6, left)}px`;
    this.element.style.top = `${Math.max(6, top)}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
