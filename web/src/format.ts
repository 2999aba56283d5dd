/* Numbers as people read them. */

export function percent(share: number): string {
  const value = share * 100;
  if (!isFinite(value)) return "–";
  if (value === 0) return "0%";
  if (value < 0.1) return "<0.1%";
  return value < 10 ? `${value.toFixed(1)}%` : `${value.toFixed(0)}%`;
}

export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/* Short enough for a cell of a picture: 1.2k, 34M. */
export function short(value: number): string {
  for (const [limit, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (value >= limit) {
      const scaled = value / limit;
      return `${Number(scaled.toFixed(scaled < 9.95 ? 1 : 0))}${unit}`;
    }
  }
  return value % 1 === 0 ? String(value) : value.toPrecision(2);
}

export function bytes(value: number): string {
  for (const [limit, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] as const) {
    if (value >= limit) {
      const scaled = value / limit;
      return `${scaled < 9.95 && scaled % 1 !== 0 ? scaled.toFixed(1) : scaled.toFixed(0)} ${unit}`;
    }
  }
  return `${value} B`;
}

/* Bytes per second, as bandwidth is given: powers of ten. */
export function rate(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return `${(value / 1e9).toFixed(2)} GB/s`;
}

/* Seconds with the unit that fits `span`, so that all ticks of one axis agree, and as many digits as distinguish its ticks. */
export function seconds(value: number, span = Math.abs(value)): string {
  if (value === 0) return "0 s";
  const digits = (unit: number): number => Math.max(span / unit >= 20 ? 1 : 2, Math.min(6, Math.ceil(1.5 - Math.log10(Math.max(1e-9, span / unit)))));
  if (span >= 1 || Math.abs(value) >= 1) return `${trim(value, digits(1))} s`;
  if (span >= 1e-3 || Math.abs(value) >= 1e-3) return `${trim(value * 1e3, digits(1e-3))} ms`;
  return `${trim(value * 1e6, 1)} µs`;
}

function trim(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

export function latency(value: number, unit: string): string {
  if (!value) return "–";
  if (unit === "ns" && value >= 1e6) return seconds(value / 1e9);
  if (unit === "ns" && value >= 10000) return `${(value / 1000).toFixed(value >= 1e5 ? 0 : 1)} µs`;
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} ${unit}`;
}

export function address(value: number): string {
  return `0x${value.toString(16)}`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/* file:line without the folders. */
export function place(file?: string | null, line?: number | null): string {
  if (!file) return "";
  const base = file.slice(file.lastIndexOf("/") + 1);
  return line ? `${base}:${line}` : base;
}

export function signed(value: number, format: (value: number) => string): string {
  return value === 0 ? "±0" : `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`;
}
