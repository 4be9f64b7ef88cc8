import type { Leftover } from "@stratigraph/core/tier";
import type { ListedObject, ObjectStore } from "./objectStore.ts";
import { headKey, packPrefix, revisionOf, threadOfPrefix } from "./threadKey.ts";

/** How old all packs must be before a missing head counts as lost: a writer stores a thread's first pack before its head. Milliseconds. */
const longestWaitMs = 10 * 60_000;

/** Whether packs without a head are old enough for the head to be lost. */
function areLeft(packs: readonly ListedObject[], now: number): boolean {
  return packs.length > 0 && packs.every(({ modifiedMs }) => now - modifiedMs >= longestWaitMs);
}

/** Whether a thread without a head has lost it: there are packs. */
export async function hasLostHead(store: ObjectStore, threadId: string, now: number): Promise<boolean> {
  const packs: ListedObject[] = [];
  for await (const object of store.list(packPrefix(threadId))) {
    // It was written meanwhile.
    if (object.key === headKey(threadId)) return false;
    if (object.key.endsWith(".pack")) packs.push(object);
  }
  return areLeft(packs, now);
}

/** Finds threads that have packs but no head: nothing else leads to them. */
export async function* lostHeads(store: ObjectStore, now: number): AsyncGenerator<Leftover> {
  let prefix: string | undefined;
  let packs: ListedObject[] = [];
  let hasHead = false;
  const lost = (): Leftover[] => {
    if (prefix === undefined || hasHead || !areLeft(packs, now)) return [];
    const threadId = threadOfPrefix(prefix);
    const newest = Math.max(...packs.map(({ key }) => revisionOf(key)));
    return [
      {
        id: prefix,
        kind: "lost",
        ...(threadId === undefined ? {} : { threadId }),
        what: `${packs.length} packs, up to revision ${newest}`,
        restore: `the object ${prefix}/head`,
      },
    ];
  };
  for await (const object of store.list("")) {
    const at = object.key.lastIndexOf("/");
    const own = object.key.slice(0, Math.max(0, at));
    if (own !== prefix) {
      yield* lost();
      [prefix, packs, hasHead] = [own, [], false];
    }
    if (object.key.endsWith("/head")) hasHead = true;
    else if (object.key.endsWith(".pack")) packs.push(object);
  }
  yield* lost();
}
