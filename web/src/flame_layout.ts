/* Places of a flame graph's frames, as parts of its width. */

export interface FlameNode {
  id: number;
  depth: number;
  start: number;
  size: number;
  /* A caller of what is looked at: drawn over the full width, quietly. */
  above: boolean;
}

/* Nodes come parents first. `focus` fills the width; its callers are above it. Frames narrower than `min` are skipped with all below. */
export function layoutFlame(parent: Uint32Array, weight: ArrayLike<number>, focus: number, min: number): FlameNode[] {
  if (parent.length === 0) return [];
  const children: number[][] = Array.from({ length: parent.length }, () => []);
  for (let i = 1; i < parent.length; i++) children[parent[i]!]?.push(i);
  const chain: number[] = [];
  for (let at = focus; at !== 0 && at < parent.length; at = parent[at]!) chain.unshift(parent[at]!);
  const nodes: FlameNode[] = chain.map((id, depth) => ({ id, depth, start: 0, size: 1, above: true }));
  const whole = weight[focus]!;
  if (!(whole > 0)) return nodes;
  const waiting: FlameNode[] = [{ id: focus, depth: chain.length, start: 0, size: 1, above: false }];
  while (waiting.length > 0) {
    const node = waiting.pop()!;
    nodes.push(node);
    let start = node.start;
    for (const child of children[node.id]!.sort((a, b) => weight[b]! - weight[a]!)) {
      const size = weight[child]! / whole;
      if (size >= min) waiting.push({ id: child, depth: node.depth + 1, start, size, above: false });
      start += size;
    }
  }
  return nodes;
}
