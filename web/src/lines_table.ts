/* Cache lines of an object that several threads use: where false sharing would be. */
import { h, tableHead } from "./dom";
import { count } from "./format";
import type { Run } from "./model";

const SHOWN = 24;

export function linesTable(run: Run, object: number): HTMLElement {
  const card = (...content: HTMLElement[]): HTMLElement => h("article", { class: "card" }, h("h3", null, "Cache lines within it"), content);
  const { lines } = run;
  const byLine = new Map<number, { thread: number; reads: number; writes: number }[]>();
  for (let i = 0; lines && i < lines.object.length; i++) {
    if (lines.object[i] !== object) continue;
    const users = byLine.get(lines.line[i]!) ?? [];
    const known = users.find((user) => user.thread === lines.thread[i]);
    if (known) {
      known.reads += lines.reads[i]!;
      known.writes += lines.writes[i]!;
    } else users.push({ thread: lines.thread[i]!, reads: lines.reads[i]!, writes: lines.writes[i]! });
    byLine.set(lines.line[i]!, users);
  }
  const shared = [...byLine].filter(([, users]) => users.length > 1)
    .map(([line, users]) => ({ line, users: users.sort((a, b) => b.writes - a.writes), writes: users.reduce((n, u) => n + u.writes, 0), writers: users.filter((u) => u.writes > 0).length }))
    .sort((a, b) => b.writers - a.writers || b.writes - a.writes);
  if (shared.length === 0) return card(h("p", { class: "hint" }, "No line of it was seen in use by two threads: nothing speaks for false sharing."));
  const written = shared.filter((line) => line.writers > 1 || (line.writers === 1 && line.users.length > 1)).length;
  return card(
    h("p", { class: "hint" }, written ? `${written} of ${shared.length} shared lines are written by one thread while another uses them: each write takes the line from the others.` : `${shared.length} lines are shared, none is written: sharing costs nothing here.`),
    h("div", { class: "scroll-x" }, h("table", { class: "list" }, tableHead("Byte", ">Threads", ">Writers", "Who (reads / writes)"),
      h("tbody", null, shared.slice(0, SHOWN).map((line) => h("tr", { class: line.writers > 1 ? "hot" : null }, h("td", { class: "mono" }, `+${line.line}`), h("td", { class: "num" }, String(line.users.length)), h("td", { class: "num" }, String(line.writers)),
        h("td", null, line.users.slice(0, 6).map((user) => h("span", { class: "user" }, `${run.threadName(user.thread)} `, h("span", { class: "hint" }, `${count(user.reads)} / ${count(user.writes)}`))), line.users.length > 6 ? h("span", { class: "hint" }, ` and ${line.users.length - 6} more`) : null)))))),
    ...(shared.length > SHOWN ? [h("p", { class: "hint" }, `The ${SHOWN} worst of ${shared.length}.`)] : []));
}
