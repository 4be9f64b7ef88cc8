import { isRootedMark, markedCopy, markOf } from "@stratigraph/core/internal";
import { checkpointKey, reservedNamespaces, type CheckpointRecord } from "@stratigraph/core/tier";
import type { OwnerView } from "./ownerView.ts";
import type { Place, Storage } from "./places.ts";
import { remove, type Case, type Remedy } from "./remedy.ts";
import type { Suspicion } from "./suspicion.ts";

// An archive may have something else under a thread's id: a life of the thread that was deleted, or the thread of another database. Nothing
// of it belongs to this thread.

/** What tells whether two tiers have the same life of a thread. */
interface Life {
  /** Undefined if nobody began to archive the thread, or a version that knew no lives did. */
  readonly life: string | undefined;
  /** Its checkpoints, their parents, and those that its heads name, by `checkpointKey`. */
  readonly keys: ReadonlySet<string>;
}

/** Whether an archive has another life of a thread than the tier that owns its heads, and no checkpoint of it. */
function isOther(owner: Life, archive: Life): boolean {
  if (archive.keys.size === 0 || (archive.life !== undefined && archive.life === owner.life)) return false;
  for (const key of archive.keys) if (owner.keys.has(key)) return false;
  return true;
}

/** The owners that have this thread. The first is the one that owns its heads. */
export async function ownersOf({ owners }: Storage, threadId: string): Promise<readonly Place[]> {
  const [main, ...archives] = owners;
  if (main === undefined || archives.length === 0) return owners;
  const life = await lifeIn(main, threadId);
  const same: Place[] = [main];
  for (const place of archives) if (!isOther(life, await lifeIn(place, threadId))) same.push(place);
  return same;
}

async function lifeIn({ tier }: Place, threadId: string): Promise<Life> {
  const { head: life } = await tier.peek({ threadId, namespace: reservedNamespaces.life });
  const keys = new Set<string>();
  const { head: checkpointId } = await tier.peek({ threadId, namespace: "" });
  if (checkpointId !== undefined) keys.add(checkpointKey({ namespace: "", checkpointId }));
  for await (const { record } of tier.list({ threadId, recordsOnly: true })) addTo(keys, record);
  return { life, keys };
}

function addTo(keys: Set<string>, { namespace, checkpointId, parentId }: Omit<Linked, "lostTo">): void {
  keys.add(checkpointKey({ namespace, checkpointId }));
  if (parentId !== undefined) keys.add(checkpointKey({ namespace, checkpointId: parentId }));
}

/** As {@link ownersOf}, by what was seen. */
export function isOtherLife(main: OwnerView, archive: OwnerView): boolean {
  return isOther(seenLife(main), seenLife(archive));
}

function seenLife({ scan, inspection }: OwnerView): Life {
  const keys = new Set<string>();
  for (const seen of scan.seen.values()) addTo(keys, seen);
  const heads = inspection?.heads ?? scan.heads;
  const checkpointId = heads.get("");
  if (checkpointId !== undefined) keys.add(checkpointKey({ namespace: "", checkpointId }));
  return { life: heads.get(reservedNamespaces.life), keys };
}

/** Finds archives that have only checkpoints of another life of a thread. */
export function* otherLives([main, ...archives]: readonly OwnerView[]): Generator<Suspicion> {
  for (const view of main === undefined ? [] : archives) {
    const { place, scan } = view;
    const [one] = scan.seen.values();
    if (one === undefined || !isOtherLife(main!, view)) continue;
    yield {
      kind: "orphan",
      severity: "info",
      part: "thread",
      place,
      namespace: "",
      involved: [one],
      concerns: scan.seen.size,
      meaning: `Tier ${place.name} has checkpoints of another life of this thread, and nothing is taken from them. ${otherLifeAdvice(one.threadId)}`,
    };
  }
}

/** What a person can do about an archive that has another life of a thread that isn't archived. */
export function otherLifeAdvice(threadId: string): string {
  return (
    "If the thread was deleted here and begun anew, maintenance deletes them within a day. If they are still there then, this database was restored to a " +
    "time before it had them, or the archive is that of another database, and the thread can't be archived (CORRUPT). Then name the right archive. Or, if " +
    `nobody needs them, delete the thread in the archive alone: stratigraph delete ${JSON.stringify(threadId)} --url URL_OF_THE_ARCHIVE. To keep them, move ` +
    "them from there to another storage first."
  );
}

/**
 * Why a thread's head isn't set: a part of the thread is in an archive that isn't open, or what is open has another life of it. Undefined if
 * the whole thread is open.
 */
export async function whyNotWhole(storage: Storage, threadId: string): Promise<string | undefined> {
  const [main, ...archives] = storage.owners;
  const mark = await main!.tier.peek({ threadId, namespace: reservedNamespaces.archived });
  if (mark.head === undefined || (await ownersOf(storage, threadId)).length > 1) return undefined;
  if (archives.length === 0)
    return "A part of this thread is in an archive that isn't open here, and its head may be there. Nothing is changed. Open the storage together with the archive, and verify and repair again.";
  return (
    `This thread was archived, and tier ${archives.map(({ name }) => name).join(", ")} has another life of it, or another database's thread: nothing is taken from there. ` +
    `Nothing is changed. ${nameArchive}`
  );
}

const nameArchive =
  "Name the archive that it was archived to, or restore that archive from a backup, and verify again. If it is lost for good, open the database without an " +
  "archive and delete the thread.";

/** What is known of a checkpoint to see from what it descends. */
type Linked = Pick<CheckpointRecord, "namespace" | "checkpointId" | "parentId" | "lostTo">;

/** An archived thread that has checkpoints of the main line that don't descend from what was archived. */
interface Strangers<T> {
  readonly all: readonly T[];
  /** Whether the head is one of them. */
  readonly haveHead: boolean;
  /** The newest checkpoint of the main line that was archived. */
  readonly archived: string;
}

/** Whether a checkpoint is among those that were archived, or descends from one of them. @param byId those of the same namespace */
export function descends(
  byId: ReadonlyMap<string, Pick<Linked, "parentId">>,
  archived: ReadonlySet<string>,
  from: string,
): boolean {
  const met = new Set<string>();
  for (let id: string | undefined = from; id !== undefined && !met.has(id); id = byId.get(id)?.parentId) {
    if (archived.has(id)) return true;
    met.add(id);
  }
  return false;
}

/**
 * Finds checkpoints of the root namespace beside an archived thread that have nothing in common with what was archived: those of another
 * conversation. Other namespaces begin anew with each run.
 */
function strangersAmong<T extends Linked>(
  owner: readonly T[],
  archive: readonly Linked[],
  head: string | undefined,
): Strangers<T> | undefined {
  const isMain = ({ namespace, lostTo }: Linked): boolean => namespace === "" && lostTo === undefined;
  const archived = new Set(
    archive.filter(({ namespace }) => namespace === "").map((each) => each.checkpointId),
  );
  const newest = archive
    .filter(isMain)
    .map((each) => each.checkpointId)
    .sort()
    .at(-1);
  if (newest === undefined) return undefined;
  const byId = new Map(
    owner.filter(({ namespace }) => namespace === "").map((each) => [each.checkpointId, each]),
  );
  const all = [...byId.values()].filter(
    (each) => isMain(each) && !descends(byId, archived, each.checkpointId),
  );
  if (all.length === 0) return undefined;
  return { all, haveHead: all.some(({ checkpointId }) => checkpointId === head), archived: newest };
}

/** Finds what other conversations left in an archived thread. */
export function* strangers([main, ...archives]: readonly OwnerView[]): Generator<Suspicion> {
  const heads = main?.inspection?.heads ?? main?.scan.heads;
  if (heads?.has(reservedNamespaces.archived) !== true) return;
  const { place, scan } = main!;
  const older = archives.find(
    ({ inspection }) =>
      inspection?.heads.has(reservedNamespaces.life) === true &&
      inspection.heads.get(reservedNamespaces.life) === heads.get(reservedNamespaces.life) &&
      inspection.revision < markedCopy(heads.get(reservedNamespaces.archived)),
  );
  const head = checkpointKey({ namespace: "", checkpointId: heads.get("") ?? "" });
  const isGone = archives.every(({ scan: { seen, partial } }) => seen.size === 0 && !partial);
  // A head that is nowhere is told by itself.
  const lack =
    older !== undefined
      ? `Tier ${older.place.name} has an older copy of this thread than the one that was archived: it was restored from an older backup.`
      : archives.length > 0 && isGone && scan.seen.has(head)
        ? `This thread was archived, and tier ${archives.map((each) => each.place.name).join(", ")} doesn't have it: it is another archive, or was restored from an older backup. Runs continue.`
        : undefined;
  if (lack !== undefined) {
    yield {
      kind: "gap",
      severity: "error",
      part: "thread",
      place,
      namespace: "",
      involved: [],
      concerns: 1,
      meaning: `${lack} ${refusedMeanwhile}`,
    };
    return;
  }
  // Pruning keeps a checkpoint with a waiting interrupt without those after it.
  const archive = archives.flatMap(({ scan: { seen } }) =>
    [...seen.values()].filter(({ interrupted }) => !interrupted),
  );
  const found = strangersAmong([...scan.seen.values()], archive, heads.get(""));
  if (found === undefined) return;
  const { all, haveHead, archived } = found;
  const { threadId, checkpointId } = all.reduce((a, b) => (b.checkpointId > a.checkpointId ? b : a));
  yield {
    ...(haveHead
      ? { kind: "wrong-head", target: archived, meaning: strangerIsHead(archived) }
      : { kind: "orphan", meaning: `${strangersBeside} The newest of them is ${checkpointId}.` }),
    severity: "warning",
    part: "thread",
    place,
    namespace: "",
    checkpointId,
    involved: [{ threadId, namespace: "", checkpointId }],
    concerns: all.length,
  };
}

const refusedMeanwhile =
  "Lists, copies and archiving are refused (EVICTED), so that no shorter history is taken for the whole one. Name the right archive, or restore what was written to it after that backup, and verify again.";

/** Takes an older copy in the archive for what was archived. */
export async function acceptOlder({ storage, threadId }: Case): Promise<Remedy> {
  const [main, ...archives] = await ownersOf(storage, threadId);
  const namespace = reservedNamespaces.archived;
  const lifeOf = async ({ tier }: Place) => await tier.peek({ threadId, namespace: reservedNamespaces.life });
  const { head: life } = await lifeOf(main!);
  const copies = (await Promise.all(archives.map(lifeOf))).filter(
    ({ head }) => head !== undefined && head === life,
  );
  if (copies.length === 0) return { impossible: nameArchive };
  const { head: mark } = await main!.tier.peek({ threadId, namespace });
  const to = markOf("set back", Math.max(...copies.map(({ revision }) => revision)), isRootedMark(mark));
  return {
    does: "Take what the archive has for all of it, and give up what is missing there. Nothing is removed.",
    apply: (revision) => remove(main!, { threadId, revision, heads: [{ namespace, to }] }),
  };
}

const strangersBeside =
  "There are checkpoints beside this archived thread that don't descend from what was archived: an import or a move that ran without the archive left " +
  "another conversation here. The thread itself can be read and continued as before.";
const strangerIsHead = (archived: string): string =>
  `The head doesn't descend from what was archived, whose newest checkpoint is ${archived}: another conversation was made the head, by a repair with another ` +
  "archive or without one. Nothing of the thread itself is lost. (If deleteForRuns() removed what was between them, all is well.)";

/** How a thread gets its own head back. */
export const takeBackAdvice = (threadId: string, archived: string): string => {
  const at = JSON.stringify(`${threadId}@${archived}`);
  return (
    `Look at what was archived: stratigraph show ${at}. If the head is another conversation, make the thread's own newest checkpoint the head again: ` +
    `stratigraph promote ${at}. Nothing is removed by that. Then verify and repair again, which marks the other conversation as a side branch.`
  );
};

/** Marks checkpoints of another conversation as a side branch. */
export async function markStrangers({
  storage,
  threadId,
  suspicion: { checkpointId },
}: Case): Promise<Remedy> {
  const [main, ...archives] = storage.owners;
  const read = async ({ tier }: Place): Promise<CheckpointRecord[]> => {
    const records: CheckpointRecord[] = [];
    for await (const { record } of tier.list({ threadId, namespace: "", recordsOnly: true }))
      records.push(record);
    return records;
  };
  const { head } = await main!.tier.peek({ threadId, namespace: "" });
  const found = strangersAmong(await read(main!), (await Promise.all(archives.map(read))).flat(), head);
  const fork = `stratigraph fork ${JSON.stringify(`${threadId}@${checkpointId}`)}`;
  return {
    does: `Mark them as a side branch. Nothing is removed: ${fork} makes a thread of their own of them, and stratigraph prune removes them.`,
    async apply(revision) {
      if (found === undefined || found.haveHead || head === undefined) return false;
      const records = found.all.map((record) => ({ ...record, lostTo: head }));
      const request = { threadId, records, blobs: [], heads: [], seen: revision } as const;
      if ((await main!.tier.peek({ threadId, namespace: "" })).revision !== revision) return false;
      await storage.tier.append({ ...request, onConflict: "refuse" });
      return true;
    },
  };
}
