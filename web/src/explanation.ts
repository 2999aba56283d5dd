/* What a word of the page means, beside it: while the pointer is on it, while it has the keyboard's focus, and after a tap. Elements
 * with `data-term` are such words; `data-help` says what it means in this place. Escape closes it; the pointer may go onto it. */
import { explained } from "./glossary";
import type { Tooltip } from "./tooltip";

export class Explanation {
  private of: HTMLElement | null = null;
  private dismissed: HTMLElement | null = null;

  constructor(private readonly tip: Tooltip) {
    tip.element.id = "tip";
    document.addEventListener("pointerover", (event) => this.look(event.target));
    document.addEventListener("click", (event) => this.look(event.target));
    document.addEventListener("focusin", () => { this.dismissed = null; this.look(null); });
    document.addEventListener("focusout", () => this.look(null));
    document.addEventListener("scroll", () => { if (this.of) this.show(this.of); }, true);
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.of || tip.element.hidden) return;
      this.dismissed = this.of;
      this.close();
      event.preventDefault();
      event.stopImmediatePropagation();
    }, true);
  }

  private look(target: EventTarget | null): void {
    if (target instanceof Node && this.tip.element.contains(target)) return;
    const focused = document.activeElement?.matches("[data-term]:focus-visible") ? (document.activeElement as HTMLElement) : null;
    const word = (target instanceof Element ? target.closest<HTMLElement>("[data-term]") : null) ?? (focused === this.dismissed ? null : focused);
    if (word) this.show(word);
    else if (this.of) this.close();
  }

  private show(word: HTMLElement): void {
    if (!word.isConnected) return this.close();
    const meaning = explained(word.dataset["term"]!);
    const lines = [word.dataset["help"], meaning?.text].filter((line) => line !== undefined);
    if (this.of !== word) this.of?.removeAttribute("aria-describedby");
    this.of = word;
    this.tip.beside(word, meaning?.title ?? word.textContent ?? "", lines);
    word.setAttribute("aria-describedby", this.tip.element.id);
  }

  private close(): void {
    this.of?.removeAttribute("aria-describedby");
    this.of = null;
    this.tip.hide();
  }
}
