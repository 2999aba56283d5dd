/* The words of docs/glossary.md, as `numalens help WORD` prints them: build.mjs puts them into the page. */

export interface Explained { title: string; text: string }

let known: Map<string, Explained> | null = null;

function words(): Map<string, Explained> {
  if (!known) {
    known = new Map();
    const entries = JSON.parse(document.getElementById("glossary")?.textContent || "[]") as [terms: string[], title: string, text: string][];
    for (const [terms, title, text] of entries) for (const term of terms) if (!known.has(term.toLowerCase())) known.set(term.toLowerCase(), { title, text });
  }
  return known;
}

/* What a word means, in any case, as a plural and as the title of a column too; null when the glossary has none. */
export function explained(word: string): Explained | null {
  const wanted = word.toLowerCase().replace(/ %$/, "");
  return words().get(wanted) ?? words().get(wanted.replace(/s$/, "")) ?? null;
}
