/* What the reader is looking at. All of it lives in the address bar's hash, so that a link shows the same picture. */

export interface State {
  view: string;
  run: number;
  /* Selection: filters every view. */
  time: [number, number] | null;
  thread: number;
  object: number;
  /* Own pages. */
  item: number;
  /* Maps: what part is on screen (time in seconds, height as parts of 1), how it is drawn. */
  x: [number, number] | null;
  y: [number, number] | null;
  space: "virtual" | "physical";
  colour: "sharing" | "access" | "remote" | "latency";
  show: "all" | "reads" | "writes" | "remote";
  p: number;
  /* Tables. */
  query: string;
  sort: string;
  kind: string;
  /* Flame graph. */
  weight: "stall" | "remote" | "samples";
  focus: number;
  theme: "auto" | "light" | "dark";
  /* Whose links source lines have. */
  editor: "vscode" | "jetbrains" | "textmate";
}

const DEFAULTS: State = {
  view: "overview", run: 0, time: null, thread: -1, object: -1, item: -1, x: null, y: null, space: "virtual",
  colour: "sharing", show: "all", p: 0, query: "", sort: "", kind: "", weight: "stall", focus: 0, theme: "auto", editor: "vscode",
};

const CHOICES: Partial<Record<keyof State, readonly string[]>> = {
  space: ["virtual", "physical"],
  colour: ["sharing", "access", "remote", "latency"],
  show: ["all", "reads", "writes", "remote"],
  weight: ["stall", "remote", "samples"],
  theme: ["auto", "light", "dark"],
  editor: ["vscode", "jetbrains", "textmate"],
};

type Listener = (state: State, changed: Set<keyof State>) => void;

function encodeValue(value: unknown): string {
  return Array.isArray(value) ? value.map((part) => String(Number((part as number).toPrecision(9)))).join("~") : String(value);
}

export function encodeState(state: State): string {
  const parts: string[] = [];
  for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
    if (encodeValue(state[key]) !== encodeValue(DEFAULTS[key])) parts.push(`${key}=${encodeURIComponent(encodeValue(state[key]))}`);
  }
  return `#${parts.join("&")}`;
}

/* Reads a hash; what makes no sense in it is left at its default. */
export function decodeState(hash: string): State {
  const state: Record<string, unknown> = { ...DEFAULTS };
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(DEFAULTS, key)) continue;
    const model = (DEFAULTS as unknown as Record<string, unknown>)[key];
    if (typeof model === "number") {
      const number = Number(text);
      if (isFinite(number)) state[key] = number;
    } else if (model === null) {
      const [from, to] = text.split("~").map(Number);
      if (from !== undefined && to !== undefined && isFinite(from) && isFinite(to) && to > from) state[key] = [from, to];
    } else {
      const choices = CHOICES[key as keyof State];
      if (!choices || choices.includes(text)) state[key] = text;
    }
  }
  return state as unknown as State;
}

export class Store {
  state: State;
  private readonly listeners: Listener[] = [];
  private writeTimer = 0;
  private known = location.hash; /* as last read or written */

  constructor() {
    this.state = decodeState(location.hash);
    window.addEventListener("hashchange", () => {
      /* Only the reader's own steps come here (links, Back, the address bar): they win over what was not written yet. */
      clearTimeout(this.writeTimer);
      this.writeTimer = 0;
      this.known = location.hash;
      this.apply(decodeState(location.hash));
    });
  }

  subscribe(listener: Listener): void {
    this.listeners.push(listener);
  }

  /* `push`: a step that the Back button undoes (another view, another object); else the address is only brought up to date. */
  set(patch: Partial<State>, push = false): void {
    if (push) this.flush();
    const changed = this.apply({ ...this.state, ...patch });
    if (changed.size === 0) return;
    if (push) {
      history.pushState(null, "", encodeState(this.state));
      this.known = location.hash;
    } else if (!this.writeTimer) {
      /* Browsers allow only so many writes to the address a second. */
      this.writeTimer = window.setTimeout(() => this.flush(), 150);
    }
  }

  link(patch: Partial<State>): string {
    return encodeState({ ...this.state, ...patch });
  }

  private flush(): void {
    if (this.writeTimer) clearTimeout(this.writeTimer);
    this.writeTimer = 0;
    if (location.hash !== this.known) return; /* the reader's own step, whose event is still to come */
    const hash = encodeState(this.state);
    if (hash !== (location.hash || "#")) history.replaceState(null, "", hash);
    this.known = location.hash;
  }

  private apply(next: State): Set<keyof State> {
    const changed = new Set<keyof State>();
    for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
      if (encodeValue(this.state[key]) !== encodeValue(next[key])) changed.add(key);
    }
    this.state = next;
    if (changed.size > 0) for (const listener of this.listeners) listener(next, changed);
    return changed;
  }
}
