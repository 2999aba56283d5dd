/* The struct that an object is made of, with the use of its fields beside them. */
import { h, tableHead } from "./dom";
import { bytes, count, latency, percent, place, plural } from "./format";
import { directed, meanLatency, remoteShare, type Run } from "./model";

export function typeFields(run: Run, type: number): HTMLElement | null {
  const shown = run.types.find((candidate) => candidate.id === type);
  if (!shown || shown.fields.length === 0) return null;
  const unit = run.head.latency_unit ?? "ns", where = place(shown.file, shown.line), all = Math.max(1, shown.samples);
  return h("article", { class: "card" }, h("h3", null, `Fields of ${shown.name}`),
    h("p", { class: "hint" }, `${bytes(shown.size)}${where ? `, declared at ${where}` : ""}.${shown.objects > 1 ? ` Accesses to all ${plural(shown.objects, "object")} of this type.` : ""}`),
    h("div", { class: "scroll-x" }, h("table", { class: "list source" }, tableHead("Field", ">Byte", ">Accesses", ">Writes %", ">Remote %", ">Latency", ">Threads", ">Writers"),
      h("tbody", null, shown.fields.map((field) => {
        const used = field.inside === 0 && field.samples > 0;
        const cells = used ? [percent(field.samples / all), directed(field, "writes"), field.home_known ? percent(remoteShare(field)) : "–", latency(meanLatency(field), unit), count(field.threads), count(field.writers)] : Array<string>(6).fill("");
        return h("tr", { class: used && (field.falsely || field.samples >= all / 4) ? "hot" : null },
          h("td", { class: "mono code" }, `${"  ".repeat(field.depth)}${field.text}${field.inside ? " {" : ";"}`, field.falsely ? h("span", { class: "note" }, "falsely shared") : null),
          h("td", { class: "num" }, String(field.offset)), cells.map((cell) => h("td", { class: "num" }, cell)));
      })))),
    shown.advice.flatMap((advice) => [h("p", null, advice.text), h("pre", null, h("code", null, advice.code))]));
}
