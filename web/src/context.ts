/* What every view is given. */
import type { Run } from "./model";
import type { State, Store } from "./state";
import type { Tooltip } from "./tooltip";

export interface Context {
  runs: Run[];
  store: Store;
  tip: Tooltip;
  /* The run that is looked at. */
  run(): Run;
}

/* A view lives in one element. `update` gets what changed; `key` may take a key that the page itself has no use for. */
export interface View {
  element: HTMLElement;
  update(state: State, changed: Set<keyof State>): void;
  resize?(): void;
  key?(event: KeyboardEvent): boolean;
}
