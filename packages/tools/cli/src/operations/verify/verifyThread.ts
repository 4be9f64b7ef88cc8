// long file: looking at a thread and looking again until nobody writes are one procedure
import { StratigraphError } from "@stratigraph/core";
import { inspectsThreads } from "@stratigraph/core/internal";
import type { Address, BlobInfo, Leftover, ThreadInspection } from "@stratigraph/core/tier";
import { lineageSuspicions } from "./lineage.ts";
import type { OwnerView } from "./ownerView.ts";
import { refuseCircles } from "./refuseCircles.ts";
import { isOtherLife, otherLives, strangers } from "./lives.ts";
import { namedIn, orphanBlob, orphanWrites, unneeded } from "./orphans.ts";
import type { Place, Storage } from "./places.ts";
import { rethrowUnlessDamage, suspicionKey, undecodable, type Suspicion } from "./suspicion.ts";
import { ThreadScan, type Took } from "./threadScan.ts";

/** How many times something is looked at if the thread is written to meanwhile. */
const attempts = 8;

/** How a thread is looked at. */
export interface Look {
  /** Called with the number of bytes that were read. */
  readonly took: Took;
  /** When the thread was last written, if that is known. Milliseconds since 1970. */
  readonly writtenAtMs?: number | undefined;
}

/** How much was verified. */
export interface Counts {
  readonly checkpoints: number;
  readonly writes: number;
  readonly blobs: number;
  /** Stored bytes that were read and verified. */
  readonly bytes: number;
}

/** What was found out about a thread. */
export interface ThreadHealth extends Counts {
  readonly findings: readonly Suspicion[];
  /** Something looked wrong, but the thread was written to each time it was looked at again. */
  readonly unsettled: boolean;
  /** Hot tiers that couldn't be reached. */
  readonly unreachable: readonly string[];
}

interface View extends OwnerView {
  readonly infos: readonly BlobInfo[];
}

/**
 * Verifies a thread in all tiers, beside its writers. If somebody changed the thread meanwhile, it is read again, until no revision
 * changed during the reading: only then the findings count.
 * @throws StratigraphError if a tier that owns data can't be reached
 */
export async function verifyThread(storage: Storage, threadId: string, look: Look): Promise<ThreadHealth> {
  for (let attempt = 1; ; attempt += 1) {
    const health = await verifiedOnce(storage, threadId, look, attempt === attempts);
    if (health !== undefined) return health;
  }
}

/** Undefined if the thread was deleted and changed meanwhile, as when it was begun anew; never at the last attempt. */
async function verifiedOnce(
  storage: Storage,
  threadId: string,
  look: Look,
  isLast: boolean,
): Promise<ThreadHealth | undefined> {
  const places = [...storage.owners, ...storage.copies];
  const before = await revisionsOf(places, threadId);
  const owners: View[] = [];
  for (const place of storage.owners) owners.push(await viewOf(storage, place, threadId, look));
  const copies: ThreadScan[] = [];
  const unreachable: string[] = [];
  for (const place of storage.copies) {
    try {
      copies.push(await new ThreadScan(place, storage.coder, threadId, look.took).run());
    } catch (error) {
      // Runs go on without this tier, and it owns nothing.
      if (!StratigraphError.is(error)) throw error;
      unreachable.push(place.name);
    }
  }
  const scans = [...owners.map(({ scan }) => scan), ...copies];
  const counts = countsOf(scans);
  const left = await leftOfDeleted(owners, copies, threadId);
  if (left !== undefined) {
    const isSettled = isUnchanged(places, before, await revisionsOf(places, threadId));
    if (isSettled) return { findings: left, unsettled: false, unreachable, ...counts };
    return isLast ? { findings: [], unsettled: left.length > 0, unreachable, ...counts } : undefined;
  }
  const suspected = [
    ...suspicionsOf(owners, threadId, look),
    ...copies.flatMap((scan) => scan.suspicions.all),
  ];
  const after = await revisionsOf(places, threadId);
  const findings: Suspicion[] = [];
  let unsettled = false;
  for (const suspicion of suspected) {
    const isSettled = isUnchanged(relevantTo(storage, suspicion), before, after);
    const holds = isSettled || (await isFoundAgain(storage, threadId, suspicion, look));
    if (holds === true) findings.push(suspicion);
    unsettled ||= holds === undefined;
  }
  // If something is lost, unnamed blobs may belong to it: to a lost checkpoint, which a backup may bring back, or to a damaged row that
  // named them, or was named by them, before.
  const isLost = findings.some(({ severity }) => severity === "error");
  for (const view of isLost ? [] : owners) {
    const { place } = view;
    const orphans = await orphanBlobsOf(view, threadId, before.get(place.name) === after.get(place.name));
    if (orphans === undefined) unsettled = true;
    else findings.push(...orphans);
  }
  return { findings, unsettled, unreachable, ...counts };
}

function countsOf(scans: readonly ThreadScan[]): Counts {
  const sum = (count: (scan: ThreadScan) => number): number =>
    scans.reduce((all, scan) => all + count(scan), 0);
  return {
    checkpoints: sum(({ seen }) => seen.size),
    writes: sum((scan) => scan.writes),
    blobs: sum(({ named }) => named.size),
    bytes: sum(({ bytes }) => bytes),
  };
}

/**
 * Looks again at the checkpoints of a suspicion, and repeats this until nobody writes meanwhile.
 * @returns whether it is still so; undefined if somebody wrote each time
 */
export async function isFoundAgain(
  storage: Storage,
  threadId: string,
  suspicion: Suspicion,
  look: Look,
): Promise<boolean | undefined> {
  const key = suspicionKey(suspicion, suspicion.place.name);
  const relevant = relevantTo(storage, suspicion);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const before = await revisionsOf(relevant, threadId);
    const found = await suspectedAmong(storage, threadId, suspicion, look);
    const after = await revisionsOf(relevant, threadId);
    if (isUnchanged(relevant, before, after))
      return found.some((each) => suspicionKey(each, each.place.name) === key);
  }
  return undefined;
}

async function suspectedAmong(
  storage: Storage,
  threadId: string,
  { kind, place, part, channel, hash, involved }: Suspicion,
  look: Look,
): Promise<readonly Suspicion[]> {
  if (part === "blob" && involved.length === 0) {
    const infos = await place.tier.blobs(threadId);
    const named = await namedIn(place, threadId, await straysIn(place, threadId));
    return unneeded(infos, named).flatMap((each) => (each === hash ? [orphanBlob(place, each, 0)] : []));
  }
  // Whether the head needs it shows only with all that is between.
  const isOfWhole = part === "thread" || (kind === "gap" && channel !== undefined);
  const only = isOfWhole ? undefined : involved;
  if (place.role === "hot")
    return (await new ThreadScan(place, storage.coder, threadId, look.took).run(only)).suspicions.all;
  const owners: View[] = [];
  for (const owner of storage.owners) owners.push(await viewOf(storage, owner, threadId, look, only));
  return suspicionsOf(owners, threadId, look);
}

function suspicionsOf(owners: readonly View[], threadId: string, { writtenAtMs }: Look): Suspicion[] {
  return [
    ...owners.flatMap(({ scan }) => scan.suspicions.all),
    ...lineageSuspicions(ofThread(owners), threadId).all,
    ...orphanWrites(owners, writtenAtMs, Date.now()),
    ...otherLives(owners),
    ...strangers(ofThread(owners)),
  ];
}

/** The owners, without what an archive has of another life of the thread. */
function ofThread([main, ...archives]: readonly View[]): readonly OwnerView[] {
  if (main === undefined) return [];
  return [
    main,
    ...archives.map((view) => (isOtherLife(main, view) ? { ...view, scan: view.scan.empty() } : view)),
  ];
}

async function viewOf(
  storage: Storage,
  place: Place,
  threadId: string,
  look: Look,
  only?: readonly Address[],
): Promise<View> {
  const scan = new ThreadScan(place, storage.coder, threadId, look.took);
  // Blobs are listed before the checkpoints: later blobs may belong to checkpoints that aren't seen.
  const infos = await scan.guarded([], () => place.tier.blobs(threadId));
  // A tier may follow a circle of patches without end.
  await scan.guarded(undefined, async () => {
    refuseCircles(infos);
    await scan.run(only);
  });
  // Asked last, as a checkpoint may come after its pending writes were seen.
  const inspection = await scan.guarded(undefined, () => inspected(place, threadId));
  if (inspection?.contradictions !== undefined) scan.contradicted(inspection.contradictions);
  scan.lostWrites(inspection?.lostWrites ?? []);
  await scan.guarded(undefined, () => scan.runStrays(inspection?.strays ?? []));
  const isHeaded = (inspection?.heads ?? scan.heads).has("");
  const root = isHeaded
    ? undefined
    : await scan.guarded(undefined, () => place.tier.peek({ threadId, namespace: "" }));
  return { place, scan, infos, inspection, unfinished: root !== undefined && root.headless !== true };
}

async function inspected({ tier }: Place, threadId: string): Promise<ThreadInspection | undefined> {
  return inspectsThreads(tier) ? await tier.inspect(threadId) : undefined;
}

async function straysIn(place: Place, threadId: string): Promise<readonly Address[]> {
  return (await inspected(place, threadId))?.strays ?? [];
}

async function orphanBlobsOf(
  { place, scan, infos }: View,
  threadId: string,
  isSettled: boolean,
): Promise<readonly Suspicion[] | undefined> {
  // Something that couldn't be read may name these blobs.
  if (scan.partial) return [];
  const sizes = new Map(infos.map(({ hash, size }) => [hash, size]));
  const found = (hashes: readonly string[]): Suspicion[] =>
    hashes.map((hash) => orphanBlob(place, hash, sizes.get(hash) ?? 0));
  const candidates = unneeded(infos, scan.named);
  if (candidates.length === 0 || isSettled) return found(candidates);
  const suspected = new Set(candidates);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const before = await revisionOf(place, threadId);
    const now = await place.tier.blobs(threadId);
    const left = now.filter(({ hash }) => suspected.has(hash));
    if (left.length === 0) return [];
    const named = await namedIn(place, threadId, await straysIn(place, threadId));
    if ((await revisionOf(place, threadId)) === before)
      return found(unneeded(now, named).filter((hash) => suspected.has(hash)));
  }
  return undefined;
}

/** What is left of a thread that was deleted, in tiers that own it and in copies of it. Undefined if it wasn't deleted. */
async function leftOfDeleted(
  owners: readonly View[],
  copies: readonly ThreadScan[],
  threadId: string,
): Promise<Suspicion[] | undefined> {
  const [main] = owners;
  if (main === undefined || !(await isDeleted(main.place, threadId))) return undefined;
  const left = owners.filter(
    ({ scan, infos, inspection }) =>
      scan.seen.size > 0 || unneeded(infos, scan.named).length > 0 || (inspection?.heads.size ?? 0) > 0,
  );
  const copied = copies.filter(({ seen }) => seen.size > 0);
  return [...left.map(({ place }) => place), ...copied.map(({ place }) => place)].map((place) =>
    leak(place, undefined),
  );
}

/** What is left of a deleted thread in a tier. */
export function leak(place: Place, detail: string | undefined): Suspicion {
  return {
    kind: "tombstone-leak",
    severity: "warning",
    part: "thread",
    place,
    namespace: "",
    ...(detail === undefined ? {} : { detail }),
    involved: [],
    concerns: 0,
    meaning: `The thread was deleted, but parts of it are left in tier ${place.name}, where nobody deletes them.`,
  };
}

/** A thread of which a tier has everything except the thread's id. */
export function lost(place: Place, { what, restore, heads }: Leftover): Suspicion {
  const head = heads?.get("");
  const newest = head === undefined ? "" : ` Its head is ${head}.`;
  return {
    kind: "lost-thread",
    severity: "error",
    part: "thread",
    place,
    namespace: "",
    detail: `${what}.${newest}${restore === undefined ? "" : ` To restore: ${restore}.`}`,
    involved: [],
    concerns: 0,
    meaning: `Nobody deleted this thread, and tier ${place.name} has lost the entry that leads to it: it looks as if it had never existed.`,
  };
}

/** Whether the tier says that a thread was deleted. */
export async function isDeleted(place: Place, threadId: string): Promise<boolean> {
  try {
    return (await inspected(place, threadId))?.deleted === true;
  } catch (error) {
    rethrowUnlessDamage(error);
    return false;
  }
}

/** Verifies a thread so that a damaged one doesn't keep the others from being verified. @throws if a tier can't be reached */
export async function healthOf(storage: Storage, threadId: string, look: Look): Promise<ThreadHealth> {
  try {
    return await verifyThread(storage, threadId, look);
  } catch (error) {
    const finding = unlisted(storage.owners[0]!, error);
    const nothing = { checkpoints: 0, writes: 0, blobs: 0, bytes: 0, unreachable: [], unsettled: false };
    return { ...nothing, findings: [finding] };
  }
}

/** A thread that a tier can't list, because its own fields of the thread are damaged. @throws the error, if it is no damage */
export function unlisted(place: Place, error: unknown): Suspicion {
  return {
    ...undecodable(error),
    severity: "error",
    part: "thread",
    place,
    namespace: "",
    involved: [],
    concerns: 0,
    meaning: `A thread in tier ${place.name} can't be listed: the fields that the tier keeps about the thread itself are damaged.`,
  };
}

/** The tiers that a suspicion depends on. */
function relevantTo({ owners }: Storage, { place }: Suspicion): readonly Place[] {
  return place.role === "hot" ? [place] : owners;
}

function isUnchanged(
  places: readonly Place[],
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): boolean {
  return places.every(({ name }) => before.get(name) === after.get(name));
}

async function revisionsOf(places: readonly Place[], threadId: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const place of places) found.set(place.name, await revisionOf(place, threadId));
  return found;
}

/** The revision of a thread in a tier; -1 if the tier can't read it, or is a hot one that can't be reached. */
export async function revisionOf({ tier, role }: Place, threadId: string): Promise<number> {
  try {
    return (await tier.peek({ threadId, namespace: "" })).revision;
  } catch (error) {
    if (role !== "hot") rethrowUnlessDamage(error);
    return -1;
  }
}
