import type { ItemAddress } from "@stratigraph/core/tier";
import type { Bytes } from "../checkpointKeys.ts";

// How addresses of items are stored; lua/space.lua says how. They sort by the UTF-8 of their labels, then of their keys.

/** A range of a sorted set in the order of its bytes. */
export type ByteRange = readonly [from: Buffer, to: Buffer];

/** The labels of a namespace, as addresses in it begin. */
export function encodeLabels(namespace: readonly string[]): string {
  return namespace.map((label) => `\u0001${label}\0`).join("");
}

/** Encodes an address. */
export function encodeAddress({ namespace, key }: ItemAddress): Bytes {
  const begin = `${encodeLabels(namespace)}\0`;
  if (!key.includes("\0")) return begin + key;
  // No UTF-8 has this byte.
  const parts = key.split("\0").flatMap((part, n) => [...(n === 0 ? [] : [escapedNul]), Buffer.from(part)]);
  return Buffer.concat([Buffer.from(begin), ...parts]);
}

const escapedNul = Buffer.from([0, 0xff]);

/** The labels with which encoded bytes begin, and where they end. */
export function decodeLabels(bytes: Buffer): { readonly namespace: string[]; readonly end: number } {
  const namespace: string[] = [];
  let end = 0;
  while (bytes[end] === 1) {
    const last = bytes.indexOf(0, end + 1);
    namespace.push(bytes.toString("utf8", end + 1, last));
    end = last + 1;
  }
  return { namespace, end };
}

/** The inverse of {@link encodeAddress}. */
export function decodeAddress(bytes: Buffer): ItemAddress {
  const { namespace, end } = decodeLabels(bytes);
  const key = bytes.subarray(end + 1);
  if (!key.includes(0)) return { namespace, key: key.toString() };
  return { namespace, key: Buffer.from(key.filter((byte) => byte !== 0xff)).toString() };
}

/**
 * The addresses below prefixes, in order. What goes on with an empty label isn't below.
 * @param before what precedes each address
 */
export function rangesBelow(prefixes: readonly (readonly string[])[], before = ""): ByteRange[] {
  return prefixes
    .flatMap((prefix) => {
      const begin = before + encodeLabels(prefix);
      return [rangeOf(`${begin}\0`, `${begin}\u0001`), rangeOf(`${begin}\u0001\u0001`, `${begin}\u0002`)];
    })
    .toSorted(([one], [other]) => Buffer.compare(one, other));
}

/** The addresses that begin with prefixes, whatever follows. */
export function rangesOf(prefixes: readonly (readonly string[])[], before: string): ByteRange[] {
  return prefixes.map((prefix) => {
    const begin = before + encodeLabels(prefix);
    return rangeOf(`${begin}\0`, `${begin}\u0002`);
  });
}

/** All addresses. */
export const allAddresses: ByteRange = rangeOf("\0", "\u0002");

/** What of ranges comes at or after certain bytes. */
export function rangesFrom(ranges: readonly ByteRange[], from: Buffer): ByteRange[] {
  return ranges.flatMap(([begin, end]): ByteRange[] => {
    if (Buffer.compare(from, end) >= 0) return [];
    return [[Buffer.compare(from, begin) > 0 ? from : begin, end]];
  });
}

function rangeOf(from: string, to: string): ByteRange {
  return [Buffer.from(from), Buffer.from(to)];
}

/** Arguments of a script for ranges. */
export function rangeArgs(ranges: readonly ByteRange[]): (Bytes | number)[] {
  return [
    ranges.length,
    ...ranges.flatMap(([from, to]) => [Buffer.concat([Buffer.from("["), from]), exclusive(to)]),
  ];
}

function exclusive(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from("("), bytes]);
}
