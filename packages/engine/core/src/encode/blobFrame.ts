import { CodecError } from "../codec/index.ts";
import { ByteReader, concat, text, utf8, varint } from "./bytes.ts";

/** First byte of a blob once unpacked; docs/format.md. */
const kinds = { whole: 1, patch: 2, beginning: 3 } as const;

/** A blob's content once decrypted and decompressed. */
export type BlobFrame =
  | { readonly kind: "whole"; readonly payload: Uint8Array }
  | {
      readonly kind: "patch";
      /** A chain begins here: its base is the value where the previous chain began, not the parent's value. */
      readonly begins: boolean;
      readonly ops: Uint8Array;
      readonly literals: Uint8Array;
    };

/** A serialised value as one byte string: type name, then bytes. This is what is hashed and patched. */
export function payloadOf(type: string, bytes: Uint8Array): Uint8Array {
  return concat([payloadHead(type), bytes]);
}

/** The part of a payload before the value's bytes. */
export function payloadHead(type: string): Uint8Array {
  const name = utf8(type);
  return concat([varint(name.length), name]);
}

/** Type and bytes of a payload. @throws RangeError */
export function splitPayload(payload: Uint8Array): [type: string, bytes: Uint8Array] {
  const reader = new ByteReader(payload);
  const type = text(reader.take(reader.varint()));
  return [type, reader.rest()];
}

/** Frame of a value stored whole. */
export function wholeFrame(payload: Uint8Array): Uint8Array {
  return concat([Uint8Array.of(kinds.whole), payload]);
}

/** Frame of a patch. */
export function patchFrame(ops: Uint8Array, literals: Uint8Array, begins: boolean): Uint8Array {
  return concat([Uint8Array.of(begins ? kinds.beginning : kinds.patch), varint(ops.length), ops, literals]);
}

/** @throws CodecError `unknown-tag`; RangeError on a frame that ends early */
export function parseFrame(bytes: Uint8Array): BlobFrame {
  const reader = new ByteReader(bytes);
  const kind = reader.take(1)[0];
  if (kind === kinds.whole) return { kind: "whole", payload: reader.rest() };
  if (kind !== kinds.patch && kind !== kinds.beginning)
    throw new CodecError("unknown-tag", `Blob kind ${kind} is not known; a newer version wrote it.`);
  const ops = reader.take(reader.varint());
  return { kind: "patch", begins: kind === kinds.beginning, ops, literals: reader.rest() };
}
