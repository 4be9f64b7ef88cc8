import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { Address, Tier } from "../contract/tier.ts";
import type { StackLayer } from "../contract/tierExtensions.ts";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { dropCopies, dropUnneeded, neededBlobs } from "./dropBlobs.ts";
import { layersOf } from "./holding.ts";

interface Storage {
  readonly tier: Tier;
  readonly coder: CheckpointCoder;
}

/**
 * Drops what no entry needs any more: values, and stale entries of copies in other storages. The archive comes first, as its entries may
 * need values that the owner's don't.
 * @throws StratigraphError "OVERLOADED"; errors of any storage that has a part of the thread
 */
export async function dropLeftovers(saver: Storage, threadId: string): Promise<void> {
  for (const { role, tier } of await copiesOf(saver, threadId))
    if (role === "cold")
      await dropUnneeded({ tier }, threadId, "all", () => staleEntries(saver, tier, threadId));
  await dropUnneeded(saver, threadId, "all");
  await dropCopies(saver, threadId);
}

/**
 * Name of a storage that has values which no entry of a thread and no checkpoint needs. Undefined if none has.
 * @throws errors of any storage that has a part of the thread
 */
export async function leftoversIn(saver: Storage, threadId: string): Promise<string | undefined> {
  const { tier } = saver;
  const copies = await copiesOf(saver, threadId);
  // Listed before the entries that need them, so that values written meanwhile count as needed.
  const held = await Promise.all(
    [tier, ...copies.map((copy) => copy.tier)].map((each) => each.blobs(threadId)),
  );
  const needed = await neededBlobs(
    tier,
    threadId,
    new Set(),
    new Map(held[0]!.map((info) => [info.hash, info])),
  );
  const place = held.findIndex((blobs) => blobs.some(({ hash }) => !needed.has(hash)));
  if (place >= 0) return place === 0 ? tier.name : copies[place - 1]!.tier.name;
  for (const copy of copies)
    if ((await staleEntries(saver, copy.tier, threadId)).length > 0) return copy.tier.name;
  return undefined;
}

/** The storages that may have copies of a thread. The archive is left out if nobody began to archive the thread. */
async function copiesOf({ tier }: Storage, threadId: string): Promise<readonly StackLayer[]> {
  const copies = layersOf(tier).filter(({ role }) => role !== "warm");
  if (copies.every(({ role }) => role === "hot")) return copies;
  const marks = [reservedNamespaces.life, reservedNamespaces.archived];
  const states = await Promise.all(marks.map((namespace) => tier.peek({ threadId, namespace })));
  return states.some(({ head }) => head !== undefined) ? copies : copies.filter(({ role }) => role === "hot");
}

/** Entries of which a copy has more values than the thread itself, or which the thread no longer has. */
async function staleEntries(saver: Storage, copy: Tier, threadId: string): Promise<readonly Address[]> {
  const stale = new Map<string, { readonly at: Address; readonly values: number }>();
  // The copy is read first: whatever it gets meanwhile, the thread had before.
  for await (const { at, values } of valuesIn(saver, copy, threadId))
    if (values > 0) stale.set(at.checkpointId, { at, values });
  for await (const { at, values } of valuesIn(saver, saver.tier, threadId))
    if (values >= (stale.get(at.checkpointId)?.values ?? 0)) stale.delete(at.checkpointId);
  return [...stale.values()].map(({ at }) => at);
}

/** The entries that a tier has of a journal, and how many values are stored with each. */
async function* valuesIn(
  { coder }: Storage,
  tier: Tier,
  threadId: string,
): AsyncGenerator<{ readonly at: Address; readonly values: number }> {
  for await (const { record } of tier.list({
    threadId,
    namespace: reservedNamespaces.calls,
    recordsOnly: true,
  })) {
    const { namespace, checkpointId } = record;
    const { manifest } = await coder.decodeBody(record);
    const values = [...manifest.values()].filter(({ value }) => value !== undefined).length;
    yield { at: { threadId, namespace, checkpointId }, values };
  }
}
