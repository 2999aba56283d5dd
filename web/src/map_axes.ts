/* What stands around a map: time and phases above it, names and hierarchy beside it, lives of objects over it. */
import { scaleLinear } from "d3-scale";
import type { Blocks } from "./blocks";
import { fitText } from "./dom";
import { address, seconds } from "./format";
import type { Layout } from "./layout";
import { laneAt } from "./layout";
import { NodeKind, type MemoryMap } from "./memory_map";
import { NONE, type Phase, type Run } from "./model";
import { theme } from "./palette";

export interface Frame { left: number; top: number; width: number; height: number; t0: number; t1: number; y0: number; y1: number }

export const FONT = "11px system-ui, sans-serif";
const BOLD = "600 11px system-ui, sans-serif";
const LINE = 13;
/* Between an address at the side and what else stands there. */
const SPARSE = 45;
const TREE_COLUMNS = 4;
const TREE_STEP = 5;
const EDGED_BLOCKS = 5000;

export function treeWidth(narrow: boolean): number {
  return narrow ? 0 : TREE_COLUMNS * TREE_STEP + 3;
}

const xOf = (frame: Frame, t: number): number => frame.left + ((t - frame.t0) / (frame.t1 - frame.t0)) * frame.width;
const yOf = (frame: Frame, y: number): number => frame.top + ((y - frame.y0) / (frame.y1 - frame.y0)) * frame.height;

export function drawTimeAxis(context: CanvasRenderingContext2D, frame: Frame, phases: Phase[], selection: [number, number] | null): void {
  const colours = theme();
  context.font = FONT;
  context.textBaseline = "middle";
  const scale = scaleLinear([frame.t0, frame.t1], [frame.left, frame.left + frame.width]);
  const span = frame.t1 - frame.t0;
  const ticks = scale.ticks(Math.max(2, Math.floor(frame.width / 90)));
  context.strokeStyle = colours.line;
  context.fillStyle = colours.muted;
  context.textAlign = "center";
  context.beginPath();
  for (const tick of ticks) {
    const x = Math.round(scale(tick)) + 0.5;
    context.moveTo(x, frame.top - 5);
    context.lineTo(x, frame.top);
    const text = seconds(tick, span);
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(frame.left + frame.width - half, Math.max(frame.left + half, x)), frame.top - 12);
  }
  context.stroke();
  drawPhases(context, frame, phases);
  if (selection) {
    const from = Math.max(frame.left, xOf(frame, selection[0])), to = Math.min(frame.left + frame.width, xOf(frame, selection[1]));
    context.fillStyle = colours.page;
    context.globalAlpha = 0.7;
    if (from > frame.left) context.fillRect(frame.left, frame.top, Math.min(frame.width, from - frame.left), frame.height);
    if (to < frame.left + frame.width) context.fillRect(Math.max(frame.left, to), frame.top, frame.left + frame.width - Math.max(frame.left, to), frame.height);
    context.globalAlpha = 1;
  }
}

function drawPhases(context: CanvasRenderingContext2D, frame: Frame, phases: Phase[]): void {
  const colours = theme();
  const y = frame.top - 22 - LINE;
  context.textAlign = "left";
  phases.forEach((phase, i) => {
    const from = Math.max(frame.left, xOf(frame, phase.start_s)), to = Math.min(frame.left + frame.width, xOf(frame, phase.end_s));
    if (to <= from) return;
    context.fillStyle = i % 2 ? colours.raised : colours.selected;
    context.fillRect(from, y, to - from - 1, LINE + 2);
    context.fillStyle = colours.text;
    context.fillText(fitText(context, phase.name, to - from - 8), from + 4, y + LINE / 2 + 1.5);
    if (from > frame.left) {
      context.strokeStyle = colours.muted;
      context.setLineDash([2, 3]);
      context.beginPath();
      context.moveTo(Math.round(from) + 0.5, frame.top);
      context.lineTo(Math.round(from) + 0.5, frame.top + frame.height);
      context.stroke();
      context.setLineDash([]);
    }
  });
}

/* What a layout's parts are called in bold: threads of the Gantt, processes where there are several. */
function headings(layout: Layout, run: Run, map: MemoryMap): { first: number; last: number; name: string }[] {
  if (layout.rows.length > 0) return layout.rows.map(({ first, last, thread }) => ({ first, last, name: run.threadName(thread) }));
  const { tree } = layout, found = [];
  for (let node = 1; node < tree.parent.length; node++) {
    if (tree.kind[node] !== NodeKind.Process) continue;
    const first = tree.first[node]!;
    found.push({ first, last: first + tree.leaves[node]! - 1, name: run.processName(map.leafProcess[first]!) });
  }
  return found;
}

/* Names at the left: threads or processes (bold), objects where there is room for a line of text, and addresses where nothing else is. */
export function drawNames(context: CanvasRenderingContext2D, frame: Frame, layout: Layout, map: MemoryMap, run: Run, width: number): void {
  const colours = theme();
  context.textBaseline = "middle";
  context.textAlign = "right";
  const right = frame.left - width;
  const taken: [number, number][] = [];
  const put = (text: string, y: number, bold: boolean, colour: string): void => {
    if (taken.some(([a, b]) => y + LINE / 2 > a && y - LINE / 2 < b)) return;
    taken.push([y - LINE / 2, y + LINE / 2]);
    context.font = bold ? BOLD : FONT;
    context.fillStyle = colour;
    context.fillText(fitText(context, text, right - 8), right - 5, y);
  };
  const spot = (first: number, last: number): { y: number; height: number } => {
    const top = Math.max(frame.top, yOf(frame, layout.top[first]!)), bottom = Math.min(frame.top + frame.height, yOf(frame, layout.bottom[last]!));
    return { y: (top + bottom) / 2, height: bottom - top };
  };
  for (const row of headings(layout, run, map)) {
    const at = spot(row.first, row.last);
    if (at.height < 4) continue;
    const top = Math.max(frame.top, yOf(frame, layout.top[row.first]!));
    put(row.name, at.height > 3 * LINE ? top + LINE / 2 + 1 : at.y, true, colours.text);
    context.strokeStyle = colours.line;
    context.beginPath();
    context.moveTo(4, Math.round(top) - 0.5);
    context.lineTo(frame.left + frame.width, Math.round(top) - 0.5);
    context.stroke();
  }
  const firstLane = laneAt(layout, frame.y0), lastLane = laneAt(layout, frame.y1);
  const wide = layout.segments
    .filter((segment) => segment.last >= firstLane && segment.first <= lastLane)
    .map((segment) => ({ segment, ...spot(segment.first, segment.last) }))
    .filter((entry) => entry.height >= 3)
    .sort((a, b) => b.height - a.height)
    .slice(0, 120);
  for (const { segment, y } of wide) {
    const text = segment.object !== NONE ? run.shortName(segment.object) : address(map.leafAddr[layout.leaf[segment.first]!]!);
    put(text, Math.max(frame.top + LINE / 2, Math.min(frame.top + frame.height - LINE / 2, y)), false, segment.object !== NONE ? colours.text : colours.muted);
  }
  for (let y = frame.top + LINE; y < frame.top + frame.height; y += LINE) {
    const lane = laneAt(layout, frame.y0 + ((y - frame.top) / frame.height) * (frame.y1 - frame.y0));
    if (lane < layout.lanes && taken.every(([a, b]) => y - b > SPARSE || a - y > SPARSE)) put(address(map.leafAddr[layout.leaf[lane]!]!), y, false, colours.muted);
  }
}

/* The hierarchy as nested bars between names and picture; returns nothing for nodes lower than two pixels. */
export function drawTree(context: CanvasRenderingContext2D, frame: Frame, layout: Layout): void {
  if (treeWidth(false) > frame.left) return;
  const colours = theme();
  const { tree } = layout;
  const depth = new Uint8Array(tree.parent.length);
  for (let node = 1; node < tree.parent.length; node++) {
    depth[node] = depth[tree.parent[node]!]! + 1;
    const column = depth[node]! - 1;
    if (column >= TREE_COLUMNS || tree.leaves[node] === 0) continue;
    const top = yOf(frame, layout.top[tree.first[node]!]!), bottom = yOf(frame, layout.bottom[tree.first[node]! + tree.leaves[node]! - 1]!);
    if (bottom - top < 2 || bottom < frame.top || top > frame.top + frame.height) continue;
    const from = Math.max(frame.top, top), to = Math.min(frame.top + frame.height, bottom);
    context.fillStyle = tree.object[node] !== NONE ? colours.accent : colours.muted;
    context.globalAlpha = 0.75 - column * 0.14;
    context.fillRect(frame.left - treeWidth(false) + column * TREE_STEP, from + 0.5, TREE_STEP - 1.5, Math.max(1, to - from - 1));
  }
  context.globalAlpha = 1;
}

/* The node of the hierarchy under a point left of the picture, or -1. */
export function treeNodeAt(frame: Frame, layout: Layout, x: number, y: number): number {
  const column = Math.floor((x - (frame.left - treeWidth(false))) / TREE_STEP);
  if (column < 0 || column >= TREE_COLUMNS) return -1;
  const height = frame.y0 + ((y - frame.top) / frame.height) * (frame.y1 - frame.y0);
  const lane = laneAt(layout, height);
  const { tree } = layout;
  const depth = new Uint8Array(tree.parent.length);
  let found = -1;
  for (let node = 1; node < tree.parent.length; node++) {
    depth[node] = depth[tree.parent[node]!]! + 1;
    if (depth[node]! <= column + 1 && lane >= tree.first[node]! && lane < tree.first[node]! + tree.leaves[node]!) found = node;
  }
  return found;
}

/* Lives of objects: grey where an object is not there yet or no more, a mark at its allocation and its free. */
export function drawLives(context: CanvasRenderingContext2D, frame: Frame, layout: Layout, run: Run, chosen: number): void {
  const colours = theme();
  const firstLane = laneAt(layout, frame.y0), lastLane = laneAt(layout, frame.y1);
  const right = frame.left + frame.width;
  for (const segment of layout.segments) {
    if (segment.last < firstLane || segment.first > lastLane) continue;
    const top = yOf(frame, layout.top[segment.first]!), height = yOf(frame, layout.bottom[segment.last]!) - top;
    const object = run.object(segment.object);
    if (!object || height < 4) continue;
    const allocated = object.start_s > run.duration * 0.002 ? xOf(frame, object.start_s) : -1e6;
    const freed = object.end_s !== null && object.end_s < run.duration * 0.998 ? xOf(frame, object.end_s) : 1e6;
    context.fillStyle = colours.unknown;
    context.globalAlpha = 0.16;
    if (allocated > frame.left) context.fillRect(frame.left, top, Math.min(allocated, right) - frame.left, height);
    if (freed < right) context.fillRect(Math.max(freed, frame.left), top, right - Math.max(freed, frame.left), height);
    context.globalAlpha = 1;
    context.fillStyle = colours.line;
    context.fillRect(frame.left, Math.round(top), frame.width, 1);
    context.fillStyle = colours.text;
    const mark = (x: number, way: number): void => {
      context.beginPath();
      context.moveTo(x, top + 1);
      context.lineTo(x + 7 * way, top + 1);
      context.lineTo(x, top + 8);
      context.fill();
    };
    mark(allocated, 1);
    mark(freed, -1);
    if (segment.object === chosen) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 2;
      context.strokeRect(Math.max(frame.left + 1, allocated), top + 1, Math.min(right - 1, freed) - Math.max(frame.left + 1, allocated), Math.max(2, height - 2));
      context.lineWidth = 1;
    }
  }
}

/* Thin lines between blocks that are large enough to be looked at one by one. */
export function drawBlockEdges(context: CanvasRenderingContext2D, frame: Frame, layout: Layout, blocks: Blocks, x: (slice: number) => number): void {
  if (blocks.count > EDGED_BLOCKS) return;
  context.strokeStyle = theme().surface;
  context.globalAlpha = 0.6;
  context.beginPath();
  for (let b = 0; b < blocks.count; b++) {
    const left = x(blocks.first[b]!), right = x(blocks.last[b]! + 1);
    const top = yOf(frame, layout.top[blocks.firstLane[b]!]!), bottom = yOf(frame, layout.bottom[blocks.lastLane[b]!]!);
    if (blocks.density[b] === 0 || right - left < 5 || bottom - top < 5) continue;
    context.rect(Math.round(left) + 0.5, Math.round(top) + 0.5, right - left, bottom - top);
  }
  context.stroke();
  context.globalAlpha = 1;
}

export function drawWords(context: CanvasRenderingContext2D, frame: Frame, text: string): void {
  context.font = FONT;
  context.fillStyle = theme().muted;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, frame.left + frame.width / 2, frame.top + frame.height / 2);
}
