// long file: the walk over threads and items, and what is done with each, are best read together
import { threadNamedBy } from "../contract/threadNamedBy.ts";
import { checkedIds } from "../saver/arguments.ts";
import { refusePart } from "./archivedElsewhere.ts";
import { checkOptions, shown, type OptionAdvice, type OptionNames } from "../contract/checkOptions.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import type { Envelope } from "../encode/envelope.ts";
import { InvalidOptionError, StratigraphError } from "../contract/errors.ts";
import { keepsItems } from "../contract/items.ts";
import { isItemsPlace, reencryptItems, type ItemsPlace } from "./itemBytes.ts";
import { bytesOfThread, keyOf, unlistedOf } from "./keysInUse.ts";
import { isThreadInfo } from "./listThreads.ts";
import type { StoredBytes } from "../encode/ownBytes.ts";
import { type Tier } from "../contract/tier.ts";
import {
  ownersOf,
  replacesBytes,
  type BytesReplacer,
  type OwningTier,
  type ReplaceBytesRequest,
} from "../contract/tierExtensions.ts";
import { undecodable } from "../encode/valueErrors.ts";

/** Options of reencrypt. */
export interface ReencryptOptions {
  /** Only these threads. Default: all that have checkpoints, and then the items of stores and workspaces. */
  readonly threadIds?: readonly string[] | undefined;
  /** Stop after this many threads, or pages of up to 500 items or entries of logs; the report's `cursor` says where to go on. Default: no limit. */
  readonly limit?: number | undefined;
  /** `cursor` of an earlier report, with the same `threadIds`. */
  readonly cursor?: string | undefined;
}

/** What {@link reencrypt} did. */
export interface ReencryptReport {
  /** Threads that were gone through. In a stack, an archived thread that also has a part in the warm tier counts twice. */
  readonly threads: number;
  /** Checkpoints that were re-encrypted, without their values. */
  readonly records: number;
  /** Batches of pending writes that were re-encrypted. */
  readonly writes: number;
  /** Values and patches that were re-encrypted. */
  readonly blobs: number;
  /** Items of stores and workspaces, and entries of workspaces' logs, that were re-encrypted. An item that the log has counts as its entry. */
  readonly items: number;
  /** Blobs that were removed because no checkpoint named them any more. */
  readonly dropped: number;
  /** Blobs that no checkpoint named, but that stay under their key: the tier can't tell whether a pending write needs them. */
  readonly unlisted: number;
  /** The first hundred threads and items that failed, and why. They can be read and written as before. Of an item, only the error tells. */
  readonly failed: readonly { readonly threadId?: string | undefined; readonly error: StratigraphError }[];
  /** How many threads and items failed. */
  readonly failures: number;
  /** Where the next call goes on; absent if all is done. */
  readonly cursor?: string | undefined;
}

/** How many bytes, and how many pieces, one step replaces at most. A larger piece has a step of its own. */
const mostBytes = 4 * 1024 * 1024;
const mostPieces = 500;
/** How often a thread is gone through at most, if somebody writes to it meanwhile. */
const attempts = 8;
/** How many failures a report lists at most. */
const mostTold = 100;

const names: OptionNames<ReencryptOptions> = { threadIds: true, limit: true, cursor: true };
const advice: OptionAdvice = {
  key: "The key is encryption.activeKey of the saver.",
  activeKey: "It is an option of the saver: encryption.activeKey.",
  batch: "Write limit, and go on with the report's cursor.",
};

/** Where to go on: the index of the tier among those that own data, and the place among its threads. After all of them come the items. */
interface Cursor {
  readonly owner: number;
  readonly items?: ItemsPlace | undefined;
  readonly after?: Parameters<Tier["threads"]>[0]["after"];
  /** How many of `threadIds` are done. */
  readonly done?: number;
}

type Replacing = OwningTier & BytesReplacer;
type Counts = {
  -readonly [Name in "records" | "writes" | "blobs" | "items" | "dropped" | "unlisted"]: number;
};
type Pieces = {
  -readonly [Name in "records" | "writes" | "blobs"]: ReplaceBytesRequest[Name][number][];
};

/**
 * Re-encrypts all that isn't encrypted with the active key, thread by thread and then the items of stores and workspaces, while others read
 * and write. It works in small atomic steps, none of which a writer undoes. Contents, ids and hashes stay the same, and nothing is
 * decompressed. A second call reads everything and changes nothing. A thread that fails for a reason of its own, or of which a part is in
 * an archive that isn't open, is reported, and the work goes on.
 * @throws InvalidOptionError if there is no encryption, or the tier can't replace bytes; StratigraphError "KEY_UNAVAILABLE",
 * "UNAVAILABLE": call again
 */
export async function reencrypt(
  tier: Tier,
  envelope: Envelope,
  options: ReencryptOptions = {},
): Promise<ReencryptReport> {
  const { only, limit } = checked(options);
  const owners = replacingOwners(tier, envelope);
  const keeper = only === undefined && keepsItems(tier) ? tier : undefined;
  const from: Cursor =
    options.cursor === undefined
      ? { owner: 0 }
      : decodeCursor(
          options.cursor,
          isPlaceAmong(owners.length, keeper),
          "Pass the cursor of an earlier report as it was.",
        );
  const counts: Counts = { records: 0, writes: 0, blobs: 0, items: 0, dropped: 0, unlisted: 0 };
  const failed: { threadId?: string; error: StratigraphError }[] = [];
  let [threads, failures] = [0, 0];
  const note = (error: unknown, threadId = threadNamedBy(error)): void => {
    if (!isOfOne(error)) throw error;
    failures += 1;
    if (failed.length < mostTold) failed.push(threadId === undefined ? { error } : { threadId, error });
  };
  for await (const { owner, threadId, next } of work(owners, only, from, note)) {
    threads += 1;
    try {
      await reencryptThread(owners[owner]!, envelope, threadId, counts);
      await refusePart(tier, { threadId });
    } catch (error) {
      note(error, threadId);
    }
    if (threads === limit) return { threads, ...counts, failed, failures, cursor: encodeCursor(next) };
  }
  let steps = threads;
  for await (const page of keeper === undefined
    ? []
    : reencryptItems(keeper, envelope, from.items, isOfOne)) {
    counts.items += page.items;
    for (const error of page.failed) note(error);
    const next = { owner: owners.length, items: page.next };
    if ((steps += 1) === limit && page.next !== undefined)
      return { threads, ...counts, failed, failures, cursor: encodeCursor(next) };
  }
  return { threads, ...counts, failed, failures };
}

function checked(options: ReencryptOptions): {
  only: readonly string[] | undefined;
  limit: number | undefined;
} {
  checkOptions("reencrypt", options, names, advice);
  const { threadIds, limit } = options;
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 1))
    throw new InvalidOptionError("limit", shown(limit), "Use a whole number, 1 or more, or leave it out.");
  return {
    only: threadIds === undefined ? undefined : checkedIds("threadIds", threadIds),
    limit,
  };
}

function replacingOwners(tier: Tier, envelope: Envelope): readonly Replacing[] {
  if (envelope.activeKey === undefined) {
    const message = "There is no key to encrypt with. Open the saver with the option encryption.";
    throw new InvalidOptionError("encryption", "undefined", message);
  }
  return ownersOf(tier).map((owner) => {
    if (replacesBytes(owner)) return owner;
    const message = "It has no replaceBytes(), so that what it holds can't be encrypted anew in place.";
    throw new InvalidOptionError("tier", owner.name, message);
  });
}

/** The threads of each owner, and where to go on after each. */
async function* work(
  owners: readonly Replacing[],
  only: readonly string[] | undefined,
  from: Cursor,
  onDamaged: (error: Error) => void,
): AsyncGenerator<{ owner: number; threadId: string; next: Cursor }> {
  for (let owner = from.owner; owner < owners.length; owner += 1) {
    const begin: Cursor = owner === from.owner ? from : { owner };
    if (only === undefined) {
      for await (const info of owners[owner]!.threads({ after: begin.after, onDamaged }))
        yield { owner, threadId: info.threadId, next: { owner, after: info } };
      continue;
    }
    for (let done = begin.done ?? 0; done < only.length; done += 1)
      yield { owner, threadId: only[done]!, next: { owner, done: done + 1 } };
  }
}

/** Whether an error concerns one thread or item alone, so that the work can go on. An outage concerns all. */
function isOfOne(error: unknown): error is StratigraphError {
  return (
    StratigraphError.is(error) && (!error.retryable || error.code === "OVERLOADED") && error.code !== "CLOSED"
  );
}

async function reencryptThread(
  tier: Replacing,
  envelope: Envelope,
  threadId: string,
  counts: Counts,
): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1)
    if (await wholeThread(tier, envelope, threadId, counts)) return;
  throw new StratigraphError(
    "OVERLOADED",
    `Thread ${JSON.stringify(threadId)} was written to during each of ${attempts} attempts to encrypt it anew. Repeat the call when it is idle.`,
    { threadId },
  );
}

/** Goes through a thread once. Returns false if somebody else changed it meanwhile; what was replaced by then stays replaced. */
async function wholeThread(
  tier: Replacing,
  envelope: Envelope,
  threadId: string,
  counts: Counts,
): Promise<boolean> {
  let { revision } = await tier.peek({ threadId, namespace: "" });
  let pieces: Pieces = { records: [], writes: [], blobs: [] };
  let bytes = 0;
  const sizeOf = ({ records, writes, blobs }: Pieces): number =>
    records.length + writes.length + blobs.length;
  const replace = async (): Promise<boolean> => {
    if (sizeOf(pieces) === 0) return true;
    const now = await tier.replaceBytes({ threadId, revision, ...pieces });
    if (now === undefined) return false;
    for (const kind of ["records", "writes", "blobs"] as const) counts[kind] += pieces[kind].length;
    revision = now;
    pieces = { records: [], writes: [], blobs: [] };
    bytes = 0;
    return true;
  };
  const seen = new Set<string>();
  for await (const stored of bytesOfThread(tier, threadId, seen)) {
    if (keyOf(stored) === envelope.activeKey) continue;
    const sealed = await resealed(envelope, stored);
    if (bytes + sealed.length > mostBytes || sizeOf(pieces) >= mostPieces)
      if (!(await replace())) return false;
    add(pieces, stored, sealed);
    bytes += sealed.length;
  }
  return (await replace()) && (await dropUnlisted(tier, threadId, revision, seen, counts));
}

function add({ records, writes, blobs }: Pieces, stored: StoredBytes, bytes: Uint8Array): void {
  const { at } = stored;
  if (stored.kind === "record") records.push({ ...at, body: bytes });
  else if (stored.kind === "write") writes.push({ ...at, place: stored.place, body: bytes });
  else blobs.push({ hash: stored.hash, bytes });
}

async function resealed(envelope: Envelope, stored: StoredBytes): Promise<Uint8Array> {
  const { at, bytes, boundTo } = stored;
  try {
    return await envelope.reseal(bytes, boundTo, stored.kind === "write" ? stored.name : undefined);
  } catch (cause) {
    throw undecodable(at, undefined, "it can't be encrypted anew", cause);
  }
}

/**
 * Removes blobs that nothing names: they can't be read, so they can't be re-encrypted. Leaves blobs that a pending write may need.
 * Returns false if somebody else changed the thread meanwhile.
 */
async function dropUnlisted(
  tier: Replacing,
  threadId: string,
  revision: number,
  seen: ReadonlySet<string>,
  counts: Counts,
): Promise<boolean> {
  const unlisted = await unlistedOf(tier, threadId, seen);
  if (unlisted.length === 0) return true;
  const named = await namedByStrays(tier, threadId);
  const dropBlobs = named === undefined ? [] : unlisted.filter((hash) => !named.has(hash));
  counts.unlisted += unlisted.length - dropBlobs.length;
  if (dropBlobs.length === 0) return true;
  const nothing = { checkpoints: [], replaceBlobs: [], heads: [] };
  if (!(await tier.remove({ threadId, revision, dropBlobs, ...nothing }))) return false;
  counts.dropped += dropBlobs.length;
  return true;
}

/** Blobs that pending writes without a checkpoint name; undefined if the tier can't say. */
async function namedByStrays(tier: OwningTier, threadId: string): Promise<Set<string> | undefined> {
  if (tier.strays === undefined) return undefined;
  const named = new Set<string>();
  for (const at of await tier.strays(threadId))
    for (const { blobs } of (await tier.peek(at)).writes) for (const hash of blobs) named.add(hash);
  return named;
}

/** Makes the check of a cursor. With a cursor that names an owner that doesn't exist, the work would end at once, as if all were done. */
function isPlaceAmong(owners: number, keeper: Tier | undefined): (place: unknown) => place is Cursor {
  return (place): place is Cursor => {
    const { owner, after, items, done = 0 } = (place ?? {}) as Partial<Cursor>;
    if (items !== undefined) return owner === owners && keeper !== undefined && isItemsPlace(items, keeper);
    const isOwner = owner !== undefined && Number.isInteger(owner) && owner >= 0 && owner < owners;
    return isOwner && (after === undefined || isThreadInfo(after)) && Number.isInteger(done) && done >= 0;
  };
}
