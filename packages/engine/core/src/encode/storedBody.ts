import type { Envelope } from "./envelope.ts";
import type { ItemAddress } from "../contract/items.ts";
import type { Address, BlobHash } from "../contract/tier.ts";
import { notEncoded } from "./valueErrors.ts";
import { createHash } from "node:crypto";

/** The owner of a body or batch. The checksum covers the owner, so that a row that ended up elsewhere is noticed. */
export function ownerOf(at: Address, more: string): string[] {
  return [at.namespace, at.checkpointId, more];
}

/** The address that encryption binds a body to. The thread isn't part of it, so that a thread can be copied as bytes. */
export function bodyAddress(owner: readonly string[]): string {
  return JSON.stringify(owner);
}

/** What encryption binds an item's value to; of a workspace's item, the address among {@link Items}. No checkpoint's body is bound to it. */
export function itemBinding({ namespace, key }: ItemAddress): string {
  return `item${JSON.stringify([...namespace, key])}`;
}

/** What encryption binds the note of an item's change to. No value is bound to it. */
export function noteBinding({ namespace, key }: ItemAddress): string {
  return `note${JSON.stringify([...namespace, key])}`;
}

/**
 * A body as it is stored. Returns no promise if nothing has to be waited for.
 * @throws StratigraphError "KEY_UNAVAILABLE", "UNAVAILABLE"
 */
export function wrapBody(
  envelope: Envelope,
  at: Address,
  owner: readonly string[],
  content: Uint8Array,
): Uint8Array | Promise<Uint8Array> {
  const refuse = (cause: unknown): never => {
    throw notEncoded(at, undefined, cause);
  };
  try {
    const wrapped = envelope.wrap(content, bodyAddress(owner));
    return wrapped instanceof Promise ? wrapped.catch(refuse) : wrapped;
  } catch (cause) {
    return refuse(cause);
  }
}

/** Length of the checksum inside bodies and write batches, in bytes. */
const checksumLength = 8;

/**
 * First 8 bytes of SHA-256 over the owner of the bytes, the blobs that they name, and the bytes. It detects a flipped bit, a row that ended
 * up under another checkpoint, and values that changed places. The thread isn't part of it, so that threads can be copied as bytes.
 */
function checksum(owner: readonly string[], blobs: readonly BlobHash[], content: Uint8Array): Uint8Array {
  const bound = JSON.stringify([...owner, ...blobs]);
  return createHash("sha256").update(bound).update(content).digest().subarray(0, checksumLength);
}

/** Appends a checksum that binds `content` to its owner and to the blobs that it names by their positions. */
export function withChecksum(
  owner: readonly string[],
  blobs: readonly BlobHash[],
  content: Uint8Array,
): Uint8Array {
  const joined = new Uint8Array(content.length + checksumLength);
  joined.set(content);
  joined.set(checksum(owner, blobs, content), content.length);
  return joined;
}

/** The content, if its checksum holds. @throws RangeError if it doesn't */
export function verified(
  owner: readonly string[],
  blobs: readonly BlobHash[],
  bytes: Uint8Array,
): Uint8Array {
  if (bytes.length < checksumLength) throw new RangeError("too short for a checksum");
  const content = bytes.subarray(0, bytes.length - checksumLength);
  const found = bytes.subarray(bytes.length - checksumLength);
  if (Buffer.compare(checksum(owner, blobs, content), found) !== 0)
    throw new RangeError("the checksum doesn't match");
  return content;
}
