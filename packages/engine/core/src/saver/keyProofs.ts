import { contentHash, CodecError, keyIdOf, type Cipher } from "../codec/index.ts";
import { keepsItems } from "../contract/items.ts";
import type { Tier } from "../contract/tier.ts";
import type { KeyCheckKeeper } from "../contract/tierExtensions.ts";
import { BlobEncoder } from "../encode/blobEncoder.ts";
import { utf8 } from "../encode/bytes.ts";
import { Envelope } from "../encode/envelope.ts";
import { bytesOfCheckpoint } from "../encode/ownBytes.ts";
import { itemBinding } from "../encode/storedBody.ts";

/** How many threads are looked at on each side: the most recently and the least recently written ones. Of items, twice as many. */
const sampled = 16;

/** What some of a storage's threads and items show about keys. Keys are given by their ids; undefined stands for the hash key. */
export interface Proofs {
  readonly proven: ReadonlySet<string | undefined>;
  /** Keys under which something is stored, but none of it opens, or none has the name that the hash key gives it. */
  readonly refuted: readonly (string | undefined)[];
}

/**
 * Tries keys on the data of some threads, and then of some items, until all are proven. Data that doesn't open may be damaged, so one piece that opens is enough.
 * @param keys ids; undefined for the hash key
 */
export async function proofsOf(
  tier: Tier & KeyCheckKeeper,
  { cipher, maxValueBytes }: { readonly cipher: Cipher; readonly maxValueBytes: number },
  keys: readonly (string | undefined)[],
): Promise<Proofs> {
  const [proven, failed] = [new Set<string | undefined>(), new Set<string | undefined>()];
  const note = (key: string | undefined, isProof: boolean | undefined): void => {
    if (isProof !== undefined) (isProof ? proven : failed).add(key);
  };
  const { hashKey } = cipher;
  const values = { patchMemory: 0, maxValueBytes, hashKey };
  for await (const threadId of sampleOf(tier)) {
    const { checkpoint } = await tier.read({ threadId, namespace: "" });
    if (checkpoint === undefined) continue;
    for (const { bytes, boundTo } of bytesOfCheckpoint(checkpoint, new Set())) {
      const id = idIn(bytes, keys);
      if (id !== undefined) note(id, await opens(cipher, bytes, boundTo));
    }
    const encoder = new BlobEncoder(new Envelope(cipher, maxValueBytes), values);
    for (const hash of checkpoint.record.blobs)
      note(undefined, await isNamed(hash, hashKey, () => encoder.payload(hash, checkpoint.blobs)));
    if (keys.every((key) => proven.has(key))) break;
  }
  if (keepsItems(tier) && !keys.every((key) => proven.has(key))) {
    const { items } = await tier.items.all({ limit: 2 * sampled });
    for (const item of items) {
      const id = idIn(item.value, keys);
      if (id !== undefined) note(id, await opens(cipher, item.value, itemBinding(item)));
    }
  }
  return { proven, refuted: keys.filter((key) => failed.has(key) && !proven.has(key)) };
}

async function* sampleOf(tier: Tier & KeyCheckKeeper): AsyncGenerator<string> {
  if (tier.someThreads !== undefined) {
    yield* tier.someThreads(2 * sampled);
    return;
  }
  const query = { limit: sampled, includeEvicted: false, onDamaged: () => {} };
  for (const order of ["newest", "oldest"] as const)
    for await (const { threadId } of tier.threads({ ...query, order })) yield threadId;
}

/** The key that bytes name, if it is one of these. */
function idIn(bytes: Uint8Array, keys: readonly (string | undefined)[]): string | undefined {
  try {
    const id = keyIdOf(bytes);
    return keys.includes(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Whether bytes open. Undefined if the key can't be fetched. */
async function opens(cipher: Cipher, bytes: Uint8Array, boundTo: string): Promise<boolean | undefined> {
  try {
    await cipher.open(bytes, utf8(boundTo));
    return true;
  } catch (error) {
    if (!CodecError.is(error)) throw error;
    return error.reason === "tampered" ? false : undefined;
  }
}

/** Whether content has the name that the hash key gives it. Undefined if it doesn't open, or was named without a key. */
async function isNamed(
  hash: string,
  hashKey: Uint8Array,
  payload: () => Promise<Uint8Array>,
): Promise<boolean | undefined> {
  try {
    return contentHash(await payload(), hashKey) === hash ? true : undefined;
  } catch (error) {
    return error instanceof RangeError ? false : undefined;
  }
}
