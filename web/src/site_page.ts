/* An allocation site's own page: how it is reached, and what came of it. */
import type { Context, View } from "./context";
import { clear, h, tableHead } from "./dom";
import { bytes, count, percent, plural, seconds } from "./format";
import { objectTitle, placeBeside, remoteShare, type Run, type Site } from "./model";
import { stackList } from "./stack_list";
import type { State } from "./state";

const SHOWN = 100;

export class SitePage implements View {
  readonly element = h("section", { class: "view own" });
  private shown = "";

  constructor(private readonly context: Context) {}

  update(state: State): void {
    const run = this.context.run();
    const key = `${run.index} ${state.item}`;
    if (this.shown === key) return;
    this.shown = key;
    const site = run.sites[state.item];
    clear(this.element, site ? this.build(run, site) : h("p", { class: "empty" }, "There is no such site in this run."));
  }

  private build(run: Run, site: Site): HTMLElement[] {
    const { store } = this.context;
    const objects = run.objects.map((object, i) => ({ object, i })).filter(({ object }) => object.site === site.id);
    return [
      h("div", { class: "own-head" }, h("button", { class: "button small", onclick: () => store.set({ view: "sites", item: -1 }, true) }, "← Sites"), h("h2", null, site.label || site.function || "site"), h("span", { class: "pattern-kind" }, site.kind), h("code", { class: "where" }, placeBeside(site.label, site.file, site.line))),
      h("p", { class: "own-sentence" }, `${plural(site.count, "object")}, ${bytes(site.bytes)} in all, at most ${bytes(site.peak_bytes)} at once. ${count(site.samples)} sampled accesses, `, h("b", null, percent(remoteShare(site))), " of them remote."),
      h("div", { class: "own-grid" },
        h("div", { class: "own-main" }, h("article", { class: "card" }, h("h3", null, "Its objects"), h("div", { class: "scroll-x" }, h("table", { class: "list" },
          tableHead("Object", ">Size", ">Born", ">Freed", ">Accesses", ">Remote %"),
          h("tbody", null, objects.slice(0, SHOWN).map(({ object, i }) => h("tr", null, h("td", null, h("a", { href: store.link({ view: "object", item: i }) }, objectTitle(object))), h("td", { class: "num" }, bytes(object.size)), h("td", { class: "num" }, seconds(object.born_s, run.duration)),
            h("td", { class: "num" }, object.died_s === null ? "–" : seconds(object.died_s, run.duration)), h("td", { class: "num" }, count(object.samples)), h("td", { class: "num" }, percent(remoteShare(object)))))))),
          h("p", { class: "hint" }, objects.length > SHOWN ? `The ${SHOWN} most accessed of ${objects.length}.` : objects.length < site.count ? "Only objects that were accessed are here." : ""))),
        h("div", { class: "own-side" }, h("article", { class: "card" }, h("h3", null, "Where it is"), site.stack >= 0 ? stackList(run, site.stack) : h("p", { class: "hint" }, "No call chain was recorded for it."))))];
  }
}
