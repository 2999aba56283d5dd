/* Pointer and wheel over a picture: pan, zoom, pinch, rubber band. Knows nothing of what is drawn. */

export interface GestureTarget {
  /* Shares of the picture's width and height. */
  pan(dx: number, dy: number): void;
  zoom(factor: number, atX: number, atY: number, alongX: boolean, alongY: boolean): void;
  hover(x: number, y: number, clientX: number, clientY: number): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(x: number, y: number): void;
  /* A rubber band drawn with Shift held; `done` when it is let go. */
  band(x0: number, y0: number, x1: number, y1: number, done: boolean): void;
}

const CLICK_PIXELS = 4;

/* `box` gives the picture's place within the element, in CSS pixels. */
export function attachGestures(element: HTMLElement, box: () => { left: number; top: number; width: number; height: number }, target: GestureTarget): void {
  const pointers = new Map<number, { x: number; y: number }>();
  let start: { x: number; y: number; band: boolean } | null = null;
  let moved = false;

  const local = (event: MouseEvent): { x: number; y: number } => {
    const outer = element.getBoundingClientRect(), inner = box();
    return { x: (event.clientX - outer.left - inner.left) / inner.width, y: (event.clientY - outer.top - inner.top) / inner.height };
  };

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (pointers.size === 1) start = { ...local(event), band: event.shiftKey };
    moved = false;
    target.leave();
  });
  element.addEventListener("pointermove", (event) => {
    const old = pointers.get(event.pointerId);
    if (!old) {
      const at = local(event);
      target.hover(at.x, at.y, event.clientX, event.clientY);
      return;
    }
    const inner = box();
    if (Math.abs(event.clientX - old.x) + Math.abs(event.clientY - old.y) < CLICK_PIXELS && !moved) return;
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)![1];
      const spread = (p: { x: number; y: number }): number => Math.max(10, Math.hypot(p.x - other.x, p.y - other.y));
      const outer = element.getBoundingClientRect();
      target.zoom(spread({ x: event.clientX, y: event.clientY }) / spread(old), (other.x - outer.left - inner.left) / inner.width,
        (other.y - outer.top - inner.top) / inner.height, true, true);
    } else if (start?.band) {
      const at = local(event);
      target.band(start.x, start.y, at.x, at.y, false);
    } else {
      target.pan((old.x - event.clientX) / inner.width, (old.y - event.clientY) / inner.height);
    }
    moved = true;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  const release = (event: PointerEvent): void => {
    if (!pointers.delete(event.pointerId) || !start) return;
    const at = local(event);
    if (!moved && event.type === "pointerup") target.click(at.x, at.y);
    else if (start.band && moved) target.band(start.x, start.y, at.x, at.y, true);
    if (pointers.size === 0) start = null;
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => target.leave());
  element.addEventListener("dblclick", (event) => {
    const at = local(event);
    target.doubleClick(at.x, at.y);
  });
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = local(event);
    const amount = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY || event.deltaX;
    const factor = Math.exp(-Math.max(-240, Math.min(240, amount)) / 300);
    /* Wheel: time. With Shift: memory. With Ctrl, which is also what a trackpad's pinch sends: both. */
    target.zoom(factor, at.x, at.y, !event.shiftKey, event.shiftKey || event.ctrlKey);
  }, { passive: false });
}
