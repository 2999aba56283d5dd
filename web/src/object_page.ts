/* An object's own page: its lifetime, where it was allocated, its home nodes, who uses it when, its lines, its neighbours. */
import { h, tableHead, term } from "./dom";
import { address, bytes, count, latency, percent, place, plural, seconds } from "./format";
import { accessedAt } from "./accessed_at";
import { linesTable } from "./lines_table";
import { meanLatency, objectTitle, placeBeside, remoteShare, type MemObject, type Run } from "./model";
import { OwnPage } from "./own_page";
import { stackList } from "./stack_list";
import { typeFields } from "./type_fields";
import { stripsOf, type Strip } from "./strips";
import type { State } from "./state";

export class ObjectPage extends OwnPage {
  protected build(run: Run, index: number): HTMLElement[] | null {
    const object = run.object(index);
    if (!object) return null;
    const title = objectTitle(object);
    const where = placeBeside(title, object.file, object.line);
    const alone = { view: "map", object: index, x: null, y: null } as Partial<State>;
    return [
      h("div", { class: "own-head" }, this.link("← Objects", { view: "objects", item: -1 }, null), h("h2", null, title), h("span", { class: "pattern-kind" }, term("kind", object.kind)), where ? h("code", { class: "where" }, where) : null,
        h("span", { class: "grow" }), this.link("In the map", { ...alone, colour: "remote" }), this.link("Filter by it", { view: "objects", object: index }), this.siteLink(run, object)),
      this.sentence(run, object),
      h("div", { class: "own-grid" },
        h("div", { class: "own-main" },
          this.chart(run, "Who reads and writes it", stripsOf(run, "object", index, "thread"), "access"),
          this.chart(run, "Home nodes: accesses by the page's home node", homeStrips(run, index), "remote"),
          accessedAt(run, index, (text, line) => this.link(text, { view: "line", item: line }, null)),
          typeFields(run, object.type ?? -1),
          linesTable(run, index),
          this.neighbours(run, object, index)),
        h("div", { class: "own-side" }, this.facts(factsOf(run, object)), this.homes(run, object),
          h("article", { class: "card" }, h("h3", null, "Allocated at"), object.stack >= 0 ? stackList(run, object.stack) : h("p", { class: "hint" }, object.kind === "static" ? `Declared ${place(object.file, object.line) ? `at ${place(object.file, object.line)}` : "in the program"}; it is not allocated at run time.` : "No call chain was recorded for it."))))];
  }

  private siteLink(run: Run, object: MemObject): HTMLElement | null {
    const site = run.sites.findIndex((candidate) => candidate.id === object.site);
    return site >= 0 && run.sites[site]!.count > 1 ? this.link(`Its site: ${plural(run.sites[site]!.count, "object")}`, { view: "site", item: site }) : null;
  }

  private sentence(run: Run, object: MemObject): HTMLElement {
    const maker = run.threads[object.alloc_thread];
    const life = object.kind === "static" ? "exists for the whole run" : `exists from ${seconds(object.start_s, run.duration)} ${object.end_s === null ? "to the end" : `to ${seconds(object.end_s, run.duration)}`}`;
    const extra = object as unknown as { use?: string; sharing?: string; shape?: string };
    const nature = [extra.use, extra.sharing === "thread" ? "private to one thread" : extra.sharing === "node" ? "shared within a node" : extra.sharing ? "shared between nodes" : "", extra.shape && extra.shape !== "unknown" ? `${extra.shape} accesses` : ""].filter(Boolean).join(", ");
    return h("p", { class: "own-sentence" }, `${bytes(object.size)} that ${life}${maker && object.kind !== "static" ? `, allocated by ${maker.name} ${maker.tid}` : ""}. `,
      `${count(object.samples)} sampled accesses, `, h("b", null, percent(remoteShare(object))), ` of them remote${nature ? `; ${nature}` : ""}.`);
  }

  private homes(run: Run, object: MemObject): HTMLElement | null {
    const homes = object.homes ?? [];
    const most = Math.max(1, ...homes);
    if (homes.every((value) => value === 0)) return null;
    return h("article", { class: "card" }, h("h3", null, "Nodes that hold it"), h("ul", { class: "side-list" }, homes.map((value, node) => {
      const bar = h("span", { class: "bar", "aria-hidden": true });
      bar.style.width = `${(value / most) * 100}%`;
      return h("li", { class: "side-row" }, bar, h("span", { class: "side-name" }, run.nodeName(node)), h("span", { class: "side-share" }, `${count(value)} accesses`));
    })));
  }

  /* What is before and after it in memory, as it may share pages with it. */
  private neighbours(run: Run, object: MemObject, index: number): HTMLElement {
    const near = run.objects.map((other, i) => ({ other, i })).filter(({ other }) => other.process === object.process).sort((a, b) => a.other.addr - b.other.addr);
    const at = near.findIndex(({ i }) => i === index);
    const rows = near.slice(Math.max(0, at - 3), at + 4);
    return h("article", { class: "card" }, h("h3", null, "Neighbours in memory"), h("div", { class: "scroll-x" }, h("table", { class: "list" },
      tableHead("Address", ">Size", "Object", ">Accesses", ">Remote %", ">Bytes away"),
      h("tbody", null, rows.map(({ other, i }) => {
        const gap = other.addr > object.addr ? other.addr - object.addr - object.size : object.addr - other.addr - other.size;
        return h("tr", { class: i === index ? "chosen" : null }, h("td", { class: "mono" }, address(other.addr)), h("td", { class: "num" }, bytes(other.size)),
          h("td", null, i === index ? h("b", null, "this one") : this.link(objectTitle(other), { view: "object", item: i }, null)), h("td", { class: "num" }, count(other.samples)), h("td", { class: "num" }, percent(remoteShare(other))),
          h("td", { class: "num" }, i === index ? "" : gap < 0 ? "same place, another time" : bytes(gap)));
      })))), h("p", { class: "hint" }, "Among the objects that were accessed."));
  }
}

function homeStrips(run: Run, index: number): Strip[] {
  return stripsOf(run, "object", index, "home").sort((a, b) => a.id - b.id);
}

function factsOf(run: Run, object: MemObject): [string, string][] {
  const unit = run.head.latency_unit ?? "ns";
  return [
    ["address", address(object.addr)], ["size", bytes(object.size)], ["allocated", seconds(object.start_s, run.duration)], ["freed", object.end_s === null ? "never" : seconds(object.end_s, run.duration)],
    ["reads", count(object.reads)], ["writes", count(object.writes)], ["remote", `${count(object.remote)} (${percent(object.remote / Math.max(1, run.totals.remote))} of all)`], ["mean latency", latency(meanLatency(object), unit)],
    ...(object.alloc_fn ? [["allocated by", object.alloc_fn] as [string, string]] : []), ...(object.module ? [["module", place(object.module)] as [string, string]] : [])];
}
