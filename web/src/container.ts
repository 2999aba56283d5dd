/* The container that numalens puts into the page: "NLPG", a JSON head, then columns of numbers.
 * Typed arrays are views of the buffer: nothing is copied. */

export type Column = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

interface ColumnPlace {
  type: "u8" | "u16" | "u32" | "f32" | "f64";
  offset: number;
  count: number;
}

export interface Container {
  head: Record<string, unknown>;
  column(name: string): Column | null;
}

const MAGIC = 0x47504c4e; /* "NLPG", little-endian */
const VERSION = 1;
const HEAD_BYTES = 16;

const MAKERS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;

/* Reads a container. Throws with a sentence for the reader when it is none. */
export function parseContainer(buffer: ArrayBuffer): Container {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEAD_BYTES || view.getUint32(0, true) !== MAGIC) {
    throw new Error("This is no numalens data.");
  }
  const version = view.getUint32(4, true);
  if (version !== VERSION) {
    throw new Error(`The data is of version ${version}; this page reads version ${VERSION}.`);
  }
  const jsonBytes = view.getUint32(8, true);
  if (HEAD_BYTES + jsonBytes > buffer.byteLength) {
    throw new Error("The data ends early.");
  }
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, HEAD_BYTES, jsonBytes))) as Record<string, unknown>;
  const area = (HEAD_BYTES + jsonBytes + 7) & ~7;
  const places = (head["columns"] ?? {}) as Record<string, ColumnPlace>;
  return {
    head,
    column(name: string): Column | null {
      const place = Object.hasOwn(places, name) ? places[name] : undefined;
      if (!place) return null;
      const maker = MAKERS[place.type];
      const end = area + place.offset + place.count * maker.BYTES_PER_ELEMENT;
      if (end > buffer.byteLength) throw new Error(`Column ${name} ends early.`);
      return new maker(buffer, area + place.offset, place.count);
    },
  };
}

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const maker = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (maker.fromBase64) return maker.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/* Loads what one data element holds or points at. */
export async function loadElement(element: HTMLElement): Promise<Container> {
  const href = element.dataset["href"];
  if (href) return fetchContainer(href);
  const bytes = bytesOfBase64((element.textContent ?? "").trim());
  element.textContent = "";
  return parseContainer(element.dataset["encoding"] === "deflate" ? await inflate(bytes) : bytes.buffer);
}

export async function fetchContainer(href: string, signal?: AbortSignal): Promise<Container> {
  const answer = await fetch(href, { credentials: "omit", signal: signal ?? null });
  if (!answer.ok) throw new Error(`The server answered ${answer.status}: ${(await answer.text()).slice(0, 200)}`);
  return parseContainer(await answer.arrayBuffer());
}
