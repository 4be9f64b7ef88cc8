import { blobClosure, namedBlobs } from "../contract/blobClosure.ts";
import { StaleReadError } from "../contract/errors.ts";
import { checkpointKey } from "../contract/keys.ts";
import type { Blob, BlobHash, BlobInfo, ListedCheckpoint, Tier } from "../contract/tier.ts";

/**
 * How much of a thread is read and appended together, in bytes. A checkpoint that has more goes alone. Most
 * threads are smaller, so they are one part.
 */
export const partBytes = 8 << 20;
/** Bytes that are added to the size of each checkpoint, so that a part can't hold too many small ones. */
const overhead = 512;
/** How often a part is listed at most, if somebody puts newer checkpoints meanwhile. */
const mostTries = 5;

/** Some checkpoints of a thread. */
export interface ThreadPart {
  /** Parents before children. */
  readonly checkpoints: readonly ListedCheckpoint[];
  readonly isLast: boolean;
}

/** A thread that is read as a whole, in parts of bounded size. */
export interface ThreadReading {
  /** The {@link checkpointKey} of every checkpoint. */
  readonly keys: ReadonlySet<string>;
  /** By namespace. */
  readonly heads: ReadonlyMap<string, string>;
  /** Stored bytes of records, pending writes and blobs. */
  readonly bytes: number;
  /** Whether it is all in one part. */
  readonly isSmall: boolean;
  /** From the oldest checkpoints to the newest. @throws StaleReadError if checkpoints were removed since this was made */
  parts(): AsyncIterable<ThreadPart>;
}

/**
 * Begins to read a whole thread. A thread that fits into one part is read here, by one listing. For a larger
 * thread only the outline is read here; each part is listed when it is asked for. Memory holds one part, and a
 * few hundred bytes for each checkpoint and blob.
 * @param isLarge whether it is known not to fit into one part
 * @returns undefined if the tier has no checkpoints of the thread
 */
export async function readInParts(
  tier: Tier,
  threadId: string,
  isLarge = false,
): Promise<ThreadReading | undefined> {
  const read = isLarge ? undefined : await readSmall(tier, threadId);
  const reading = read ?? (await readOutline(tier, threadId));
  return reading.keys.size === 0 ? undefined : reading;
}

/** Reads a thread that fits into one part. Undefined if it doesn't. */
async function readSmall(tier: Tier, threadId: string): Promise<ThreadReading | undefined> {
  const checkpoints: ListedCheckpoint[] = [];
  const heads = new Heads();
  const counted = new Set<BlobHash>();
  let bytes = 0;
  for await (const listed of tier.list({ threadId })) {
    bytes += bodyBytesOf(listed);
    for (const { hash, bytes: content } of blobsOf(listed, counted)) {
      counted.add(hash);
      bytes += content.length;
    }
    if (checkpoints.length > 0 && bytes + checkpoints.length * overhead > partBytes) return undefined;
    checkpoints.push(listed);
    heads.add(listed);
  }
  checkpoints.reverse();
  return {
    keys: new Set(checkpoints.map(({ record }) => checkpointKey(record))),
    heads: heads.found(),
    bytes,
    isSmall: true,
    async *parts() {
      yield { checkpoints, isLast: true };
    },
  };
}

/** A checkpoint in an outline. */
interface Outlined {
  readonly id: string;
  readonly key: string;
  readonly bytes: number;
  readonly blobs: readonly BlobInfo[];
}

/** Checkpoints that are listed together. */
interface Span {
  /** The oldest id of the next span: all ids of this span are older. Undefined for the span with the newest checkpoints. */
  readonly before: string | undefined;
  readonly keys: ReadonlySet<string>;
}

async function readOutline(tier: Tier, threadId: string): Promise<ThreadReading> {
  const infos = new Map<BlobHash, BlobInfo>();
  for (const info of await tier.blobs(threadId)) infos.set(info.hash, info);
  const keys = new Set<string>();
  const heads = new Heads();
  const newestFirst: Outlined[] = [];
  for await (const listed of tier.list({ threadId, recordsOnly: true })) {
    const { record, writes } = listed;
    const key = checkpointKey(record);
    keys.add(key);
    heads.add(listed);
    const blobs = [...namedBlobs(record, writes)].flatMap((hash) => infos.get(hash) ?? []);
    newestFirst.push({ id: record.checkpointId, key, bytes: bodyBytesOf(listed), blobs });
  }
  const { spans, bytes } = spansOf(newestFirst, infos);
  return {
    keys,
    heads: heads.found(),
    bytes,
    isSmall: false,
    async *parts() {
      for (const [place, span] of spans.entries()) {
        const checkpoints = await listSpan(tier, threadId, span);
        yield { checkpoints, isLast: place === spans.length - 1 };
      }
    },
  };
}

/** Divides checkpoints into spans of bounded size, the oldest first. Those with the same id, of several namespaces, stay together. */
function spansOf(
  newestFirst: readonly Outlined[],
  infos: ReadonlyMap<BlobHash, BlobInfo>,
): { readonly spans: readonly Span[]; readonly bytes: number } {
  const spans: Span[] = [];
  const counted = new Set<BlobInfo>();
  let keys = new Set<string>();
  let [all, inSpan] = [0, 0];
  for (let end = newestFirst.length; end > 0;) {
    const { id } = newestFirst[end - 1]!;
    let begin = end;
    let bytes = 0;
    for (; begin > 0 && newestFirst[begin - 1]!.id === id; begin -= 1) {
      const { bytes: bodies, blobs } = newestFirst[begin - 1]!;
      bytes += bodies;
      for (const blob of blobs)
        for (let next: BlobInfo | undefined = blob; next !== undefined && !counted.has(next);) {
          counted.add(next);
          bytes += next.size;
          next = next.base === undefined ? undefined : infos.get(next.base);
        }
    }
    const weight = bytes + (end - begin) * overhead;
    if (keys.size > 0 && inSpan + weight > partBytes) {
      spans.push({ before: id, keys });
      keys = new Set();
      inSpan = 0;
    }
    all += bytes;
    inSpan += weight;
    for (const { key } of newestFirst.slice(begin, end)) keys.add(key);
    end = begin;
  }
  if (keys.size > 0) spans.push({ before: undefined, keys });
  return { spans, bytes: all };
}

/** Lists the checkpoints of a span, the oldest first. */
async function listSpan(
  tier: Tier,
  threadId: string,
  { before, keys }: Span,
): Promise<readonly ListedCheckpoint[]> {
  let later = 0;
  for (let tries = 1; tries <= mostTries; tries += 1) {
    const found: ListedCheckpoint[] = [];
    let others = 0;
    const listing = tier.list({
      threadId,
      limit: keys.size + later,
      ...(before === undefined ? {} : { before }),
    });
    for await (const listed of listing) {
      if (keys.has(checkpointKey(listed.record))) found.push(listed);
      else others += 1;
    }
    if (found.length === keys.size) return found.reverse();
    if (others <= later) break;
    // Somebody put newer checkpoints since the outline was read, and these used up a part of the limit.
    later = others;
  }
  throw new StaleReadError(threadId);
}

/**
 * The heads of a thread, as the pages of a listing report them. If a head moves between two pages, the head whose checkpoint was listed
 * counts.
 */
class Heads {
  readonly #told = new Map<string, Set<string>>();
  readonly #listed = new Set<string>();

  add({ record: { namespace, checkpointId }, head }: ListedCheckpoint): void {
    if (head === undefined) return;
    const told = this.#told.get(namespace) ?? new Set();
    this.#told.set(namespace, told.add(head));
    if (told.has(checkpointId)) this.#listed.add(checkpointKey({ namespace, checkpointId }));
  }

  found(): Map<string, string> {
    return new Map(
      [...this.#told].map(([namespace, told]) => {
        const heads = [...told];
        const isListed = (checkpointId: string): boolean =>
          this.#listed.has(checkpointKey({ namespace, checkpointId }));
        return [namespace, heads.findLast(isListed) ?? heads.at(-1)!];
      }),
    );
  }
}

function bodyBytesOf({ record, writes }: ListedCheckpoint): number {
  return writes.reduce((sum, { body }) => sum + body.length, record.body.length);
}

/** The blobs of a checkpoint that aren't known yet, and the blobs that these are patches on. Missing blobs are left out. */
export function blobsOf(
  { record, writes, blobs }: ListedCheckpoint,
  known: { has(hash: BlobHash): boolean },
): Blob[] {
  const found = new Map<BlobHash, Blob>();
  for (const name of namedBlobs(record, writes))
    for (let next: BlobHash | undefined = name; next !== undefined && !known.has(next) && !found.has(next);) {
      const blob = blobs.get(next);
      if (blob === undefined) break;
      found.set(next, blob);
      next = blob.base;
    }
  return [...found.values()];
}

/** Whether all blobs of a checkpoint are there. */
export function isComplete({ record, writes, blobs }: ListedCheckpoint): boolean {
  return blobClosure(namedBlobs(record, writes), blobs) !== undefined;
}
