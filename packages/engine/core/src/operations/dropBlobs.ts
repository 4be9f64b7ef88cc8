import { blobClosure, namedBlobs } from "../contract/blobClosure.ts";
import { StratigraphError } from "../contract/errors.ts";
import { checkpointKey } from "../contract/keys.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { Address, BlobHash, BlobInfo, Tier } from "../contract/tier.ts";
import { layersOf } from "./holding.ts";
import { straysOf } from "./straysOf.ts";

/** How many attempts to drop blobs there are at most, if the thread is written to meanwhile. */
const attempts = 20;

/**
 * Drops those blobs that nothing in the thread needs any more, and removes records in the same step.
 * @param candidates "all": all blobs that are there, including what storages keep of replaced records
 * @param removed records, or a function that returns them. It is called in each attempt, when the thread's revision is known
 * @throws StratigraphError "OVERLOADED" if the thread is written to during every attempt
 */
export async function dropUnneeded(
  { tier }: { readonly tier: Tier },
  threadId: string,
  candidates: ReadonlySet<BlobHash> | "all",
  removed: readonly Address[] | (() => Promise<readonly Address[]>) = [],
): Promise<void> {
  const isNone = candidates !== "all" && candidates.size === 0;
  if (isNone && removed.length === 0) return;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const { revision, head } = await tier.peek({ threadId, namespace: reservedNamespaces.calls });
    const checkpoints = typeof removed === "function" ? await removed() : removed;
    const gone = new Set(checkpoints.map(checkpointKey));
    const infos = new Map((isNone ? [] : await tier.blobs(threadId)).map((info) => [info.hash, info]));
    const needed = isNone ? new Set<BlobHash>() : await neededBlobs(tier, threadId, gone, infos);
    const dropBlobs = [...(candidates === "all" ? infos.keys() : candidates)].filter(
      (hash) => !needed.has(hash),
    );
    // An empty removal makes storages drop the bytes of replaced records, and copies that wait in this process.
    const isNothing = dropBlobs.length === 0 && checkpoints.length === 0;
    if (isNothing && (candidates !== "all" || head === undefined)) return;
    if (await tier.remove({ threadId, revision, checkpoints, dropBlobs, replaceBlobs: [], heads: [] }))
      return;
  }
  throw new StratigraphError(
    "OVERLOADED",
    `Thread ${JSON.stringify(threadId)} was written to during each of ${attempts} attempts to remove values from it. Repeat it when the thread is idle.`,
    { threadId },
  );
}

/** Blobs that the thread's records and pending writes need, with the bases of patches. Records in `gone` don't count. */
export async function neededBlobs(
  tier: Tier,
  threadId: string,
  gone: ReadonlySet<string>,
  infos: ReadonlyMap<BlobHash, BlobInfo>,
): Promise<ReadonlySet<BlobHash>> {
  const named = new Set<BlobHash>();
  const add = (hashes: Iterable<BlobHash>): void => {
    for (const hash of hashes) named.add(hash);
  };
  for await (const { record, writes } of tier.list({ threadId, recordsOnly: true }))
    if (!gone.has(checkpointKey(record))) add(namedBlobs(record, writes));
  for (const stray of await straysOf(tier, threadId))
    add(namedBlobs(undefined, (await tier.peek(stray)).writes));
  const there = [...named].filter((hash) => infos.has(hash));
  // It isn't known which blobs damaged patches need.
  return new Set(blobClosure(there, infos)?.keys() ?? infos.keys());
}

/** Removes a stack's copies of a thread from storages before the one that owns it. The thread is copied again when it is read. */
export async function dropCopies({ tier }: { readonly tier: Tier }, threadId: string): Promise<void> {
  for (const layer of layersOf(tier)) if (layer.role === "hot") await layer.tier.deleteThread(threadId);
}
