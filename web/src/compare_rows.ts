/* Rows of what changed from run A to run B, as `numalens compare` matches them: by name, and what was renamed by size, life, users
 * and place. */
import { latency, percent, place, signed } from "./format";
import type { Changed, ChangedSide } from "./model";
import type { Column } from "./table";

export function changedName(row: Changed): string {
  return (row.after ?? row.before)?.name ?? "";
}

/* Where it is, and what it was before. */
export function changedNote(row: Changed): string {
  const { before, after, renamed } = row;
  const here = placeOf(after ?? before);
  if (renamed && before) return [here, `was ${[before.name, placeOf(before)].filter(Boolean).join(", ")}`].filter(Boolean).join("; ");
  return before?.line && after?.line && before.line !== after.line ? `${here}, before at line ${before.line}` : here;
}

function placeOf(side: ChangedSide | null): string {
  return side ? place(side.file, side.line) : "";
}

/* What may be chance has a ~ behind it. */
export function changed(difference: number, significant: boolean, format: (value: number) => string): string {
  return `${signed(difference, format)}${significant ? "" : " ~"}`;
}

const share = (side: ChangedSide | null): number => side?.share ?? 0;
const remote = (side: ChangedSide | null): number => side?.remote_share ?? 0;
const known = (value: number | null | undefined, format: (value: number) => string): string => (value === null || value === undefined ? "–" : format(value));

export function changedColumns(unit: string): Column<Changed>[] {
  const more = (row: Changed): number => share(row.after) - share(row.before), farther = (row: Changed): number => remote(row.after) - remote(row.before);
  const both = (row: Changed): boolean => known(row.before?.remote_share, percent) !== "–" && known(row.after?.remote_share, percent) !== "–";
  return [
    { key: "name", title: "Name", wide: true, value: changedName, note: changedNote },
    { key: "a", title: "A: part of all", term: "share", value: (r) => share(r.before), text: (r) => percent(share(r.before)) },
    { key: "b", title: "B: part of all", term: "share", value: (r) => share(r.after), text: (r) => percent(share(r.after)) },
    { key: "samples", title: "Difference", term: "significant", value: (r) => Math.abs(more(r)), text: (r) => changed(more(r), r.share_significant, percent), bar: (r) => Math.abs(more(r)), help: "~: not significant" },
    { key: "ra", title: "A: remote", term: "remote", minor: true, value: (r) => remote(r.before), text: (r) => known(r.before?.remote_share, percent) },
    { key: "rb", title: "B: remote", term: "remote", minor: true, value: (r) => remote(r.after), text: (r) => known(r.after?.remote_share, percent) },
    { key: "rd", title: "Difference", term: "significant", value: farther, text: (r) => (!r.before ? "only in B" : !r.after ? "only in A" : both(r) ? changed(farther(r), r.remote_significant, percent) : "–"), bar: (r) => Math.abs(farther(r)), colour: "remote", help: "Of the remote part. ~: not significant" },
    { key: "la", title: "A: latency", term: "latency", minor: true, value: (r) => r.before?.latency_mean ?? -1, text: (r) => known(r.before?.latency_mean, (v) => latency(v, unit)) },
    { key: "lb", title: "B: latency", term: "latency", minor: true, value: (r) => r.after?.latency_mean ?? -1, text: (r) => known(r.after?.latency_mean, (v) => latency(v, unit)), help: "Mean latency of the accesses that carry one" },
  ];
}
