import type { Bytes } from "../checkpointKeys.ts";

/** Encodes vectors of one length. */
export function encodeVectors(vectors: readonly Float32Array[] = []): Bytes {
  if (vectors.length === 0) return "";
  const numbers = vectors.map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  return Buffer.concat([Buffer.from(`${vectors[0]!.length}:`), ...numbers]);
}

/** The largest sum of products of a vector and one of the encoded ones; -Infinity if these have another length, or there are none. */
export function similarityOf(encoded: Buffer | null, vector: Float32Array): number {
  const colon = encoded?.indexOf(58) ?? -1;
  if (encoded === null || Number(encoded.toString("latin1", 0, colon)) !== vector.length) return -Infinity;
  const numbers = new Float32Array(new Uint8Array(encoded.subarray(colon + 1)).buffer);
  let best = -Infinity;
  for (let at = 0; at < numbers.length; at += vector.length) {
    let sum = 0;
    for (let n = 0; n < vector.length; n += 1) sum += numbers[at + n]! * vector[n]!;
    best = Math.max(best, sum);
  }
  return best;
}
