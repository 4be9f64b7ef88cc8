import type { PackedAppend } from "./packedAppend.ts";
import { Pieces } from "./pieces.ts";

/** Pieces of one row of each kind; see append_1. */
const width = { records: 7, blobs: 3, writes: 5, longIds: 2 } as const;

/** So many of them, the first ones, tell of requests; the rest tells what they write. */
export const requestParts = 3;

/**
 * The arguments of append_1 for many requests. Requests of one thread must be in different rounds; the answer has rows in the
 * order of the requests.
 */
export function appendValues(rounds: readonly (readonly PackedAppend[])[]): unknown[] {
  const requests = rounds.flat();
  const pieces = new Pieces();
  for (const { opening } of requests) pieces.all(opening);
  /** The number of its request, for each row of a kind. */
  const ownersOf = (kind: keyof typeof width): number[] =>
    requests.flatMap((request, i) => {
      pieces.all(request[kind]);
      return Array.from({ length: request[kind].lengths.length / width[kind] }, () => i + 1);
    });
  const records = ownersOf("records");
  const blobs = ownersOf("blobs");
  const writes = ownersOf("writes");
  const longIds = ownersOf("longIds");
  const heads: number[] = [];
  const headAt: number[] = [];
  const places: number[] = [];
  for (const [i, request] of requests.entries()) {
    for (const place of request.places) places.push(place === 0 ? 0 : heads.length + place);
    let at = pieces.lengths.length;
    for (const count of request.expected) {
      heads.push(i + 1);
      headAt.push(at);
      at += 2 + Math.max(0, count);
    }
    pieces.all(request.heads);
  }
  return [
    array(rounds.map(({ length }) => length)),
    array(requests.map(({ seen }) => seen ?? "null")),
    array(requests.map(({ flags }) => flags)),
    array(records),
    array(requests.flatMap(({ tags }) => tags)),
    array(places),
    array(blobs),
    array(writes),
    array(longIds),
    array(heads),
    array(headAt),
    array(requests.flatMap(({ expected }) => expected)),
    array(pieces.starts()),
    array(pieces.lengths),
    pieces.data(),
  ];
}

function array(values: readonly (number | string)[]): string {
  return `{${values.join(",")}}`;
}
