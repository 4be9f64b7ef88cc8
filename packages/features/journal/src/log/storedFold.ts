import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { FoldedEvent } from "./entry.ts";
import type { Visits } from "./visits.ts";

/** A stored state that the newest one builds on: number and hash of its entry, and its level. */
export type FoldLayer = FoldedEvent["layers"][number];

/** The state stored with an entry of the type "folded": the calls that changed since the layer before it. */
export interface Fold {
  readonly cutUpTo: number;
  /** Processes that made calls. */
  readonly sessions: readonly (readonly [id: string, place: readonly [machine: string, pid: number]])[];
  /** Visits of names, except those that a name's only call implies. */
  readonly visits: Readonly<Record<string, Visits>>;
}

/** A call that was stored, and not read yet. */
export interface StoredCall {
  readonly call: string;
  readonly name: string | undefined;
  readonly isOpen: boolean;
  readonly text: string;
}

export function isStored(call: object): call is StoredCall {
  return "text" in call;
}

/**
 * Packs the lines of a state. Uses Node's own zlib: the saver's is WASM, which a process that opens a journal would have to start, and
 * which is slower by half for digests.
 */
export function packedLines(lines: readonly string[]): Uint8Array {
  return new Uint8Array(deflateRawSync(lines.join("\n"), { level: 1 }));
}

/** Reads the output of `foldOf`. Of a forgotten call, only the fingerprint is there. */
export function parsedFold(bytes: Uint8Array): {
  readonly fold: Fold;
  readonly calls: Iterable<StoredCall | { readonly call: string }>;
} {
  const text = inflateRawSync(bytes).toString("utf8");
  const end = text.indexOf("\n");
  const fold = JSON.parse(end < 0 ? text : text.slice(0, end)) as Fold;
  return { fold, calls: end < 0 ? [] : linesOf(text, end + 1) };
}

function* linesOf(text: string, from: number): Generator<StoredCall | { readonly call: string }> {
  for (let start = from, end; start < text.length; start = end + 1) {
    end = text.indexOf("\n", start);
    if (end < 0) end = text.length;
    const space = text.indexOf(" ", start);
    const call = text.slice(start, space);
    const letter = text[space + 1];
    if (letter === "x") {
      yield { call };
      continue;
    }
    const tab = text.indexOf("\t", space);
    const name = tab === space + 3 ? undefined : text.slice(space + 3, tab);
    yield { call, name, isOpen: letter === "o", text: text.slice(tab + 1, end) };
  }
}
