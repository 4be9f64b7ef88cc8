import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Typed } from "./record.ts";
import { StratigraphSerializer } from "../serde/index.ts";

/** What a serialised value may be stored with besides its bytes: its kind, and the name of the type. */
const framing = 256;

/** What a serde made of a value, or is about to. */
export type Dumped = { readonly typed: Typed } | { readonly dumping: Promise<Typed> };

/** Serialises a value, before anything is awaited if the serde can. @throws what the serde throws, at once or by the promise */
export function dumped(serde: SerializerProtocol, value: unknown): Dumped {
  if (serde.dumpsTyped === StratigraphSerializer.prototype.dumpsTyped)
    return { typed: (serde as StratigraphSerializer).dumps(value) };
  // Serdes may return the bytes of a value uncopied, and only later, in a promise.
  const mine = value instanceof Uint8Array ? Uint8Array.prototype.slice.call(value) : value;
  const typed = serde.dumpsTyped(mine) as Typed | Promise<Typed>;
  if (!(typed instanceof Promise)) return { typed: [typed[0], typed[1].slice()] };
  return { dumping: typed.then(([type, bytes]): Typed => [type, bytes.slice()]) };
}

/** Revives a value. @throws what the serde throws */
export async function loaded(serde: SerializerProtocol, type: string, bytes: Uint8Array): Promise<unknown> {
  // Other serdes may return the bytes of a value uncopied: what a graph then does to them must not reach what is remembered.
  const own = serde instanceof StratigraphSerializer ? bytes : bytes.slice();
  return (await serde.loadsTyped(type, own)) as unknown;
}

/** Refuses a serialised value that couldn't be read back. @param maxBytes the option maxValueSize @throws RangeError */
export function checkReadable(length: number, maxBytes: number): void {
  if (length + framing <= maxBytes) return;
  throw new RangeError(
    `It has ${length} bytes serialised; at most ${maxBytes} are read back. Raise maxValueSize, or keep it elsewhere.`,
  );
}
