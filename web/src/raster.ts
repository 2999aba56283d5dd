/* Cells and blocks to pixels. One column a slice, one row a pixel of the screen; the canvas then stretches them. Cells are in order
 * of lanes, so a frame reads those on screen once, and never issues a drawing call a cell. Where cells are few, columns and rows are
 * coarser, so that a lone access is a spot that can be seen. A spot is as strong as the densest cell in it. */
import type { Blocks } from "./blocks";
import type { Grid } from "./grid";
import { laneAt, type Layout } from "./layout";
import { LEVELS, type Palette } from "./palette";

/* What part of the picture is on screen: slices [s0, s1), heights [y0, y1). */
export interface Window { s0: number; s1: number; y0: number; y1: number }

export interface Raster {
  canvas: HTMLCanvasElement;
  empty: boolean;
  /* Slices that the columns stand for. */
  first: number;
  end: number;
}

/* Part of the picture that should be covered, and the largest spot for one cell, in pixels. */
const FULL = 0.2;
const COARSEST = 5;
/* Blocks of one leaf and slice must be seen beside the large ones. */
const BLOCK_ROW = 2;

export class Rasterizer {
  private density = new Float32Array(0);
  private bits = new Int32Array(0);
  private value = new Float32Array(0);
  private weight = new Float32Array(0);
  private image: ImageData | null = null;
  private readonly canvas = document.createElement("canvas");
  private columns = 0;
  private rows = 0;
  private first = 0;
  private end = 0;
  private slicesInColumn = 1;

  /* `width` and `height` of the picture, in pixels. */
  drawGrid(grid: Grid, layout: Layout, slices: number, window: Window, width: number, height: number): void {
    const firstLane = laneAt(layout, window.y0), lastLane = Math.min(layout.lanes, laneAt(layout, window.y1) + 1);
    const visible = (grid.start[lastLane]! - grid.start[firstLane]!) * Math.min(1, (window.s1 - window.s0) / slices);
    const coarse = Math.max(1, Math.min(COARSEST, Math.round(Math.sqrt((FULL * width * height) / Math.max(1, visible)))));
    const rows = Math.max(1, Math.round(height / coarse));
    this.clear(slices, window, width / coarse, rows);
    const scale = rows / (window.y1 - window.y0);
    const whole = this.first <= 0 && this.end >= slices;
    for (let lane = firstLane; lane < lastLane; lane++) {
      const top = (layout.top[lane]! - window.y0) * scale;
      let from = grid.start[lane]!, to = grid.start[lane + 1]!;
      if (from === to || top >= rows) continue;
      if (!whole) {
        from = lowerBound(grid.slice, from, to, this.first);
        to = lowerBound(grid.slice, from, to, this.end);
      }
      this.addCells(grid, from, to, Math.max(0, top), Math.min(rows, (layout.bottom[lane]! - window.y0) * scale));
    }
  }

  private addCells(grid: Grid, from: number, to: number, top: number, bottom: number): void {
    const { density, value, weight, columns, first } = this;
    const step = 1 / this.slicesInColumn;
    /* A lane that ends a hair into a row leaves that row to its neighbour. */
    const rowFirst = Math.floor(top), rowLast = Math.max(rowFirst, Math.min(this.rows - 1, Math.ceil(bottom - 0.3) - 1));
    for (let row = rowFirst; row <= rowLast; row++) {
      const base = row * columns;
      for (let i = from; i < to; i++) {
        const at = base + (((grid.slice[i]! - first) * step) | 0);
        if (grid.density[i]! > density[at]!) density[at] = grid.density[i]!;
        value[at]! += grid.value[i]!;
        weight[at]! += grid.weight[i]!;
      }
    }
  }

  drawBlocks(blocks: Blocks, layout: Layout, slices: number, window: Window, width: number, height: number): void {
    const rows = Math.max(1, Math.round(height / BLOCK_ROW));
    this.clear(slices, window, width / BLOCK_ROW, rows);
    const { density, value, weight, columns, first } = this;
    const scale = rows / (window.y1 - window.y0);
    const step = 1 / this.slicesInColumn;
    for (let b = 0; b < blocks.count; b++) {
      if (blocks.density[b] === 0 || blocks.last[b]! < first || blocks.first[b]! >= this.end) continue;
      const top = Math.max(0, (layout.top[blocks.firstLane[b]!]! - window.y0) * scale);
      const bottom = Math.min(rows, (layout.bottom[blocks.lastLane[b]!]! - window.y0) * scale);
      if (bottom <= 0 || top >= rows) continue;
      const left = Math.max(0, Math.floor((blocks.first[b]! - first) * step));
      const right = Math.min(columns, Math.max(left + 1, Math.floor((blocks.last[b]! + 1 - first) * step)));
      const rowFirst = Math.floor(top), rowLast = Math.max(rowFirst, Math.min(rows - 1, Math.ceil(bottom - 0.3) - 1));
      const d = blocks.density[b]!, v = blocks.value[b]!, w = blocks.weight[b]!;
      for (let row = rowFirst; row <= rowLast; row++) {
        for (let at = row * columns + left; at < row * columns + right; at++) {
          if (d > density[at]!) density[at] = d;
          value[at]! += v;
          weight[at]! += w;
        }
      }
    }
  }

  /* Draws what was added up. `valueRange`: of a logarithmic value (latency), or null for parts of 1. */
  finish(colours: Palette, exposure: [number, number], valueRange: [number, number] | null): Raster {
    const { bits, value, weight, columns, rows } = this;
    if (!this.image || this.image.width !== columns || this.image.height !== rows) {
      this.image = new ImageData(columns, rows);
      this.canvas.width = columns;
      this.canvas.height = rows;
    }
    const pixels = new Uint32Array(this.image.data.buffer);
    /* The bits of a float are, piecewise, its logarithm: no call of log for each pixel. */
    const low = floatBits(exposure[0]), scale = (LEVELS - 1) / Math.max(1, floatBits(exposure[1]) - low);
    const valueLow = valueRange ? Math.log2(valueRange[0]) : 0;
    const valueScale = valueRange ? (LEVELS - 1) / Math.max(1e-6, Math.log2(valueRange[1]) - valueLow) : LEVELS - 1;
    const most = LEVELS - 1;
    let empty = true;
    for (let i = 0; i < columns * rows; i++) {
      if (bits[i] === 0) { pixels[i] = 0; continue; }
      empty = false;
      let dense = ((bits[i]! - low) * scale) | 0;
      dense = dense < 0 ? 0 : dense > most ? most : dense;
      const w = weight[i]!;
      if (w > 0) {
        const share = value[i]! / w;
        let level = ((valueRange ? Math.log2(share) - valueLow : share) * valueScale + 0.5) | 0;
        level = level < 0 ? 0 : level > most ? most : level;
        pixels[i] = colours.pixels[level * LEVELS + dense]!;
      } else {
        pixels[i] = colours.unknown[dense]!;
      }
    }
    this.canvas.getContext("2d")!.putImageData(this.image, 0, 0);
    return { canvas: this.canvas, empty, first: this.first, end: this.first + columns * this.slicesInColumn };
  }

  private clear(slices: number, window: Window, columnsMost: number, rows: number): void {
    /* Columns begin at multiples of their length, so that panning does not make them flicker. */
    const step = Math.max(1, Math.ceil((window.s1 - window.s0) / Math.max(1, columnsMost)));
    this.slicesInColumn = step;
    this.first = Math.max(0, Math.floor(window.s0 / step) * step);
    this.end = Math.max(this.first + 1, Math.min(slices, Math.ceil(window.s1 / step) * step));
    this.columns = Math.ceil((this.end - this.first) / step);
    this.rows = rows;
    const size = this.columns * rows;
    if (this.density.length < size) {
      this.density = new Float32Array(size);
      this.bits = new Int32Array(this.density.buffer);
      this.value = new Float32Array(size);
      this.weight = new Float32Array(size);
    } else {
      this.density.fill(0, 0, size);
      this.value.fill(0, 0, size);
      this.weight.fill(0, 0, size);
    }
  }
}

function lowerBound(slice: Uint16Array, from: number, to: number, wanted: number): number {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (slice[middle]! < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

const oneFloat = new Float32Array(1);
const oneInt = new Int32Array(oneFloat.buffer);

function floatBits(value: number): number {
  oneFloat[0] = value;
  return oneInt[0]!;
}
