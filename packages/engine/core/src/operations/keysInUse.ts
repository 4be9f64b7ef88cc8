import { checkedIds } from "../saver/arguments.ts";
import { checkOptions, type OptionNames } from "../contract/checkOptions.ts";
import { keyIdOf } from "../codec/index.ts";
import { bytesOfCheckpoint, bytesOfWrites, type StoredBytes } from "../encode/ownBytes.ts";
import { StratigraphError, type ErrorCode } from "../contract/errors.ts";
import { keepsItems } from "../contract/items.ts";
import { type Tier } from "../contract/tier.ts";
import { ownersOf, type OwningTier } from "../contract/tierExtensions.ts";
import { allKeys } from "./itemBytes.ts";
import { undecodable } from "../encode/valueErrors.ts";
import { refusePart } from "./archivedElsewhere.ts";

/** Options of keysInUse. */
export interface KeysInUseOptions {
  /** Only these threads. Default: all that have checkpoints, and the items of stores and workspaces. */
  readonly threadIds?: readonly string[] | undefined;
  /**
   * Called with the error of each damaged thread, which `data.threadId` names, or item, which `data.namespace` and `data.key` name. Nothing
   * of it is counted, and it may hold something under any key. Default: the first such error is thrown.
   */
  readonly onDamaged?: ((error: StratigraphError) => void) | undefined;
}

/** How much is stored under one key. */
export interface KeyUse {
  /** Absent for data that isn't encrypted. */
  readonly keyId?: string | undefined;
  /** Threads that hold something under it. In a stack, an archived thread that also has a part in the warm tier counts twice. */
  readonly threads: number;
  /** Checkpoints without their values. */
  readonly records: number;
  /** Batches of pending writes. */
  readonly writes: number;
  /** Values, and patches. */
  readonly blobs: number;
  /** Items of stores and workspaces, and entries of workspaces' logs. An item that the log has counts as its entry. */
  readonly items: number;
}

/** What {@link keysInUse} finds. */
export interface KeysInUse {
  /** Ordered by key id; data that isn't encrypted comes first. */
  readonly keys: readonly KeyUse[];
  /** Blobs that no checkpoint names any more. They can't be read, so their key is unknown. `reencrypt` removes them if it can. */
  readonly unlisted: number;
}

type Counts = { -readonly [Name in keyof Omit<KeyUse, "keyId">]: number };

const names: OptionNames<KeysInUseOptions> = { threadIds: true, onDamaged: true };
const counted = { record: "records", write: "writes", blob: "blobs" } as const;
const none: Counts = { threads: 0, records: 0, writes: 0, blobs: 0, items: 0 };

/**
 * Which keys a tier's data is encrypted with. Reads everything once, a page at a time, and decrypts nothing. In a stack it asks
 * the tiers that own data, not those that hold copies.
 * @throws InvalidOptionError, InvalidAddressError; StratigraphError "NEWER_FORMAT"; CorruptionError, unless there is `onDamaged`
 */
export async function keysInUse(tier: Tier, options: KeysInUseOptions = {}): Promise<KeysInUse> {
  checkOptions("keysInUse", options, names);
  const { threadIds, onDamaged } = options;
  const only = threadIds === undefined ? undefined : checkedIds("threadIds", threadIds);
  const found = new Map<string | undefined, Counts>();
  let unlisted = 0;
  const unlessDamaged = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (onDamaged === undefined || !isDamage(error)) throw error;
      onDamaged(error);
    }
  };
  for (const owner of ownersOf(tier)) {
    for await (const threadId of threadsOf(owner, only, onDamaged))
      await unlessDamaged(async () => {
        await refusePart(tier, { threadId });
        const thread = await ofThread(owner, threadId);
        for (const [keyId, counts] of thread.counts) found.set(keyId, sum(counts, found.get(keyId)));
        unlisted += thread.unlisted;
      });
  }
  if (only === undefined && keepsItems(tier))
    for await (const keysOf of allKeys(tier))
      await unlessDamaged(() => {
        for (const keyId of keysOf()) found.set(keyId, sum({ ...none, items: 1 }, found.get(keyId)));
      });
  const keys = [...found].map(([keyId, counts]): KeyUse =>
    keyId === undefined ? counts : { keyId, ...counts },
  );
  return { keys: keys.sort((a, b) => ((a.keyId ?? "") < (b.keyId ?? "") ? -1 : 1)), unlisted };
}

async function ofThread(
  owner: OwningTier,
  threadId: string,
): Promise<{ readonly counts: ReadonlyMap<string | undefined, Counts>; readonly unlisted: number }> {
  const counts = new Map<string | undefined, Counts>();
  const seen = new Set<string>();
  for await (const stored of bytesOfThread(owner, threadId, seen)) {
    const keyId = keyOf(stored);
    const ofKey = counts.get(keyId) ?? { ...none, threads: 1 };
    counts.set(keyId, ofKey);
    ofKey[counted[stored.kind]] += 1;
  }
  return { counts, unlisted: (await unlistedOf(owner, threadId, seen)).length };
}

function sum(a: Counts, b: Counts | undefined): Counts {
  if (b === undefined) return a;
  return {
    threads: a.threads + b.threads,
    records: a.records + b.records,
    writes: a.writes + b.writes,
    blobs: a.blobs + b.blobs,
    items: a.items + b.items,
  };
}

const damage: readonly ErrorCode[] = ["CORRUPT", "NEWER_FORMAT", "EVICTED"];

function isDamage(error: unknown): error is StratigraphError {
  return damage.some((code) => StratigraphError.is(error, code));
}

/** The id of the key that a piece is encrypted with; undefined for none. @throws as {@link keysInUse} */
export function keyOf({ at, bytes }: StoredBytes): string | undefined {
  try {
    return keyIdOf(bytes);
  } catch (cause) {
    throw undecodable(at, undefined, "the key of what it holds can't be told", cause);
  }
}

/** The threads that were asked for, or else all threads of a tier. */
async function* threadsOf(
  owner: OwningTier,
  only: readonly string[] | undefined,
  onDamaged: KeysInUseOptions["onDamaged"],
): AsyncGenerator<string> {
  if (only !== undefined) yield* only;
  else {
    const told = (error: Error): void => {
      if (!isDamage(error)) throw error;
      onDamaged!(error);
    };
    const query = onDamaged === undefined ? {} : { onDamaged: told };
    for await (const { threadId } of owner.threads(query)) yield threadId;
  }
}

/** Everything that a tier holds of a thread, including pending writes without a checkpoint. Adds the hashes of blobs to `seen`. */
export async function* bytesOfThread(
  owner: OwningTier,
  threadId: string,
  seen: Set<string>,
): AsyncGenerator<StoredBytes> {
  for await (const listed of owner.list({ threadId })) yield* bytesOfCheckpoint(listed, seen);
  if (owner.strays === undefined) return;
  for (const at of await owner.strays(threadId)) yield* bytesOfWrites(at, (await owner.peek(at)).writes);
}

/** Hashes of a thread's blobs that aren't in `seen`. */
export async function unlistedOf(
  owner: OwningTier,
  threadId: string,
  seen: ReadonlySet<string>,
): Promise<string[]> {
  const infos = await owner.blobs(threadId);
  return infos.map(({ hash }) => hash).filter((hash) => !seen.has(hash));
}
