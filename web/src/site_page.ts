/* An allocation site's own page: how it is reached, and what came of it. */
import { h, tableHead } from "./dom";
import { bytes, count, percent, plural, seconds } from "./format";
import { objectTitle, placeBeside, remoteShare, type Run } from "./model";
import { OwnPage } from "./own_page";
import { stackList } from "./stack_list";

const SHOWN = 100;

export class SitePage extends OwnPage {
  protected build(run: Run, index: number): HTMLElement[] | null {
    const site = run.sites[index];
    if (!site) return null;
    const objects = run.objects.map((object, i) => ({ object, i })).filter(({ object }) => object.site === site.id);
    return [
      h("div", { class: "own-head" }, this.link("← Sites", { view: "sites", item: -1 }, null), h("h2", null, site.label || site.function || "site"), h("span", { class: "pattern-kind" }, site.kind), h("code", { class: "where" }, placeBeside(site.label, site.file, site.line))),
      h("p", { class: "own-sentence" }, `${plural(site.count, "object")}, ${bytes(site.bytes)} in all, at most ${bytes(site.peak_bytes)} at once. ${count(site.samples)} sampled accesses, `, h("b", null, percent(remoteShare(site))), " of them remote."),
      h("div", { class: "own-grid" },
        h("div", { class: "own-main" }, h("article", { class: "card" }, h("h3", null, "Its objects"), h("div", { class: "scroll-x" }, h("table", { class: "list" },
          tableHead("Object", ">Size", ">Allocated", ">Freed", ">Accesses", ">Remote %"),
          h("tbody", null, objects.slice(0, SHOWN).map(({ object, i }) => h("tr", null, h("td", null, this.link(objectTitle(object), { view: "object", item: i }, null)), h("td", { class: "num" }, bytes(object.size)), h("td", { class: "num" }, seconds(object.start_s, run.duration)),
            h("td", { class: "num" }, object.end_s === null ? "–" : seconds(object.end_s, run.duration)), h("td", { class: "num" }, count(object.samples)), h("td", { class: "num" }, percent(remoteShare(object)))))))),
          h("p", { class: "hint" }, objects.length > SHOWN ? `The ${SHOWN} most accessed of ${objects.length}.` : objects.length < site.count ? "Only objects that were accessed are here." : ""))),
        h("div", { class: "own-side" }, h("article", { class: "card" }, h("h3", null, "Where it is"), site.stack >= 0 ? stackList(run, site.stack) : h("p", { class: "hint" }, "No call chain was recorded for it."))))];
  }
}
