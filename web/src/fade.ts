/* Lets one picture fade into the next when the slider moves, unless the reader wants no motion. */

export interface Box { left: number; top: number; width: number; height: number }

const FADE_MS = 140;

export class Fade {
  private picture: HTMLCanvasElement | null = null;
  private since = 0;
  private step = -1;

  /* Before a new drawing: keeps what `canvas` shows within `box` when `step` differs from the last one. */
  begin(step: number, canvas: HTMLCanvasElement, box: Box, ratio: number): void {
    const differs = this.step >= 0 && this.step !== step;
    this.step = step;
    if (!differs || box.width < 2 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.picture = document.createElement("canvas");
    this.picture.width = Math.round(box.width * ratio);
    this.picture.height = Math.round(box.height * ratio);
    this.picture.getContext("2d")!.drawImage(canvas, -box.left * ratio, -box.top * ratio);
    this.since = performance.now();
  }

  /* Draws what is left of the old picture; true while there is more to come. */
  draw(context: CanvasRenderingContext2D, box: Box): boolean {
    const left = 1 - (performance.now() - this.since) / FADE_MS;
    if (!this.picture || left <= 0) {
      this.picture = null;
      return false;
    }
    context.globalAlpha = left;
    context.drawImage(this.picture, box.left, box.top, box.width, box.height);
    context.globalAlpha = 1;
    return true;
  }
}
