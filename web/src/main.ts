/* Starts the page: reads the runs, makes the frame around the views, and passes every change of state on. */
import { loadElement } from "./container";
import type { Context } from "./context";
import { clear, h } from "./dom";
import { Explanation } from "./explanation";
import { Run } from "./model";
import { Shell } from "./shell";
import { Store } from "./state";
import { Tooltip } from "./tooltip";

async function start(): Promise<void> {
  const root = document.getElementById("app")!;
  try {
    const elements = [...document.querySelectorAll<HTMLElement>("script.numalens-data")];
    if (elements.length === 0) throw new Error("This page holds no recording. `numalens report --html out.html` writes one that does.");
    const runs = (await Promise.all(elements.map(loadElement))).map((container, i) => new Run(container, i));
    if (runs.length > 1 && location.hash === "") history.replaceState(null, "", "#view=compare"); /* what two runs are in one page for */
    const store = new Store();
    const context: Context = { runs, store, tip: new Tooltip(), run: () => runs[Math.max(0, Math.min(runs.length - 1, store.state.run))]! };
    new Explanation(context.tip);
    const shell = new Shell(context);
    clear(root, shell.element);
    shell.start();
    document.documentElement.dataset["ready"] = "yes";
  } catch (problem) {
    clear(root, h("main", { class: "broken" }, h("h1", null, "numalens"), h("p", { role: "alert" }, problem instanceof Error ? problem.message : String(problem))));
    document.documentElement.dataset["ready"] = "failed";
  }
}

void start();
