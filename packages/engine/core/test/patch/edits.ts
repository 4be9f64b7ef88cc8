import fc from "fast-check";

/** An edit as data: where it happens is a share of the length, so that it fits any state. */
export interface Edit {
  readonly kind: "append" | "prepend" | "insert" | "replace" | "remove" | "repeat" | "clear" | "keep";
  /** Start, as a share of the length. */
  readonly at: number;
  /** Bytes concerned. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** Small edits, whose bytes are drawn from few values so that matches are frequent. */
export const anyEdit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom(
    "append",
    "append",
    "append",
    "prepend",
    "insert",
    "replace",
    "remove",
    "repeat",
    "clear",
    "keep",
  ),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  size: fc.nat(300),
  bytes: fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 200, max: 1 })),
});

/** The bytes after an edit. */
export function edited(state: Uint8Array, edit: Edit): Uint8Array {
  const at = Math.floor(edit.at * state.length);
  const before = state.subarray(0, at);
  const after = state.subarray(Math.min(state.length, at + edit.size));
  switch (edit.kind) {
    case "append":
      return Buffer.concat([state, edit.bytes]);
    case "prepend":
      return Buffer.concat([edit.bytes, state]);
    case "insert":
      return Buffer.concat([before, edit.bytes, state.subarray(at)]);
    case "replace":
      return Buffer.concat([before, edit.bytes, after]);
    case "remove":
      return Buffer.concat([before, after]);
    case "repeat":
      return Buffer.concat([before, state.subarray(at, at + edit.size), state.subarray(at)]);
    case "clear":
      return new Uint8Array(0);
    case "keep":
      return state;
  }
}

/** Deterministic pseudo-random numbers in [0, 1) (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** `length` pseudo-random bytes. */
export function noise(length: number, seed: number): Uint8Array {
  const next = random(seed);
  return Uint8Array.from({ length }, () => next() * 256);
}
