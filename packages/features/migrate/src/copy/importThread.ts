// long file: one import of one thread, from what is there to its heads
import { StratigraphError } from "@stratigraph/core";
import {
  batchDigest,
  currentWrites,
  mergeWrites,
  refuseEvicted,
  rewindMark,
  rewindTask,
  type CheckpointCoder,
  type Consumed,
  type EncodedCheckpoint,
  type Manifest,
  type ReadThroughStorage,
} from "@stratigraph/core/internal";
import {
  isReserved,
  type Address,
  type Blob,
  type BlobHash,
  type HeadMove,
  type StoredWriteBatch,
  type WriteBatch,
} from "@stratigraph/core/tier";
import { batchIdOf, entryKey, parentKey } from "../contract/outline.ts";
import type { OutlineEntry, SourceBatch, SourceCheckpoint, SourceThread } from "../contract/source.ts";
import { Appender } from "./appender.ts";
import {
  digested,
  identityOf,
  madeDigest,
  missingBatches,
  pendingDigest,
  type DigestedBatch,
} from "./batches.ts";
import { Digests, missingIn, type CheckpointDigest } from "./digest.ts";
import { placedWrites, planWrites, type PlacedWrite } from "./placedWrites.ts";
import { Erasures } from "./erasures.ts";
import type { Difference } from "./report.ts";
import { bringTags } from "./tags.ts";
import { threadThere, type ThreadThere } from "./threadThere.ts";
import { headMoves, isOfImport, wentOn, type Side, type WentOn } from "./wentOn.ts";

/** The result of importing a thread. */
export interface ImportedThread {
  readonly checkpoints: number;
  readonly writes: number;
  /** Both this storage and the source have added to the thread since an earlier import. Nothing was changed. */
  readonly diverged: boolean;
  /** The source wrote to the thread while it was read. Its heads weren't moved. */
  readonly unsettled: boolean;
  /** How many entries of its journal lost values here, as the source had erased them since. */
  readonly erased: number;
  readonly differences: readonly Difference[];
  /** Whether the thread has a head of its root now, so that it can be read; any head if the source's has no root. */
  readonly served: boolean;
}

/** How a thread is imported. */
interface ImportThreadOptions {
  /** Whether the whole copy is read back and compared. A copy that differs gets no heads, so that nobody sees it. */
  readonly verify: boolean;
  /** Whether a thread gets heads even if the source lacks some of its values. If false, what an earlier attempt left is rewritten. */
  readonly takeLacking: boolean;
  /** Called after each imported checkpoint. */
  brought(): void;
}

/** The imports under way, by coder and thread. */
const underWay = new WeakMap<CheckpointCoder, Map<string, Promise<unknown>>>();

const nothing = { checkpoints: 0, writes: 0, diverged: false, unsettled: false, erased: 0, differences: [] };

/**
 * Imports a thread into a Stratigraph storage: writes the checkpoints and pending writes that aren't there yet, and rewrites what is
 * there but differs. The thread gets its heads last, once the copy was compared. May be interrupted at any moment and repeated, also by
 * two processes at once.
 * @throws StratigraphError if the source can't be read or the storage can't be written
 */
export async function importThread(
  storage: ReadThroughStorage,
  thread: SourceThread,
  options: ImportThreadOptions,
): Promise<ImportedThread> {
  // A coder takes what it encoded for stored. A second import with the same coder would rely on what the first hasn't stored yet.
  const threads = underWay.get(storage.coder) ?? new Map<string, Promise<unknown>>();
  underWay.set(storage.coder, threads);
  const before = threads.get(thread.threadId) ?? Promise.resolve();
  const importing = before.then(() => importAlone(storage, thread, options));
  const settled = importing.catch(() => undefined);
  threads.set(thread.threadId, settled);
  try {
    return await importing;
  } finally {
    if (threads.get(thread.threadId) === settled) threads.delete(thread.threadId);
  }
}

/** How many times an import is tried at most, if another process prunes the thread in this storage meanwhile. */
const mostTries = 3;

async function importAlone(
  storage: ReadThroughStorage,
  thread: SourceThread,
  options: ImportThreadOptions,
): Promise<ImportedThread> {
  const { threadId } = thread;
  for (let tries = 1; ; tries += 1) {
    try {
      // The coder may remember blobs that another process has pruned since.
      storage.coder.forgetThread(threadId);
      await refuseEvicted(storage.tier, threadId);
      const there = await threadThere(storage.tier, threadId);
      return await new Bringing(storage, thread, there, options).run();
    } catch (error) {
      const again = tries < mostTries && thread.once !== true && StratigraphError.is(error, "STALE_READ");
      if (!again) throw error;
    } finally {
      // The coder may remember blobs of this import that were never stored.
      storage.coder.forgetThread(threadId);
    }
  }
}

/** The parts of a checkpoint that are compared. */
interface Compared extends Parts {
  /** Undefined if only the pending writes are compared. */
  readonly digest: CheckpointDigest | undefined;
  /** Pending writes without the id of a batch: from a source that has none. */
  readonly writes: readonly PlacedWrite[];
}

/** What DeltaChannels are rebuilt from. */
interface Parts {
  readonly batches: readonly DigestedBatch[];
  readonly consumed: Consumed;
}

const nothingThere: Compared = { digest: undefined, writes: [], batches: [], consumed: undefined };

type EncodedBatch = Awaited<ReturnType<CheckpointCoder["writes"]["encode"]>>;

/** One import of one thread. */
class Bringing {
  readonly #storage: ReadThroughStorage;
  readonly #coder: CheckpointCoder;
  readonly #thread: SourceThread;
  readonly #there: ThreadThere;
  readonly #options: ImportThreadOptions;
  readonly #appender: Appender;
  readonly #manifests: Manifests;
  readonly #erasures: Erasures;
  readonly #digests = new Digests();
  /** The imported checkpoints that will be compared with their copies, by key. */
  readonly #originals = new Map<string, Compared>();
  /** Batches of the source and of the copy, by checkpoint: only if the source is Stratigraph's and everything is compared. */
  readonly #parts = { source: new Map<string, Parts>(), copy: new Map<string, Parts>() };
  /** Whether the source has the batches of pending writes, and not only the writes. */
  readonly #isOurs: boolean;
  #wentOn = false;
  /** Values that the source itself lacks, and tags that this storage can't find. */
  readonly #lacking: Difference[] = [];
  /** Differences between the copy and the source. */
  readonly #differing: Difference[] = [];

  constructor(
    storage: ReadThroughStorage,
    thread: SourceThread,
    there: ThreadThere,
    options: ImportThreadOptions,
  ) {
    this.#storage = storage;
    this.#coder = storage.coder;
    this.#thread = thread;
    this.#there = there;
    this.#options = options;
    this.#appender = new Appender(storage.tier, thread.threadId, there);
    this.#manifests = new Manifests(storage, thread);
    this.#erasures = new Erasures(storage, thread.threadId, there.records);
    this.#isOurs = thread.outline.some(({ batchIds }) => batchIds !== undefined);
  }

  async run(): Promise<ImportedThread> {
    const { verify, takeLacking } = this.#options;
    const { records, heads: before } = this.#there;
    // Calls that were recorded here before the thread was brought have a head of their own.
    const served = this.#thread.heads.has("") ? before.has("") : before.size > 0;
    const { outline } = this.#thread;
    const wanted = new Map(outline.map((entry) => [entryKey(entry), entry]));
    const { target: here, source: there } = await this.#since(this.#there);
    this.#wentOn = here;
    const diverged = { ...nothing, diverged: true, served };
    if (here && there) return { ...diverged, differences: await this.#keptHere() };
    await this.#tag();
    const isAnew = !takeLacking && !served;
    const copies = new Map<string, Compared>();
    if (verify && !isAnew) for await (const [key, copy] of this.#compared(wanted)) copies.set(key, copy);
    if (this.#isOurs) for (const [key, copy] of copies) this.#parts.copy.set(key, copy);
    for await (const each of this.#thread.checkpoints()) {
      this.#noteLacking(each);
      const key = entryKey(each);
      const copy = copies.get(key) ?? (await this.#writesThere(each));
      if (!here) await this.#bring(each, copy, records.has(key) && !isAnew);
      else if (records.has(key) && !(await this.#hasWrites(each, copy))) return diverged;
    }
    const unsettled = (await this.#thread.isUnchanged?.()) === false;
    const heads = here || unsettled ? [] : headMoves(this.#thread.heads, wanted, before);
    // If the copy has to be checked first, it gets its heads only afterwards, so that nobody sees it before.
    const isLookedAt = verify || !takeLacking;
    const overtaken = here ? undefined : await this.#overtaken(heads);
    if (overtaken !== undefined)
      return { ...nothing, ...this.#appender.appended, diverged: overtaken, served };
    const moved = [...(await this.#appender.end(isLookedAt ? [] : heads))];
    if (!here) await this.#erasures.drop();
    if (verify && !unsettled) await this.#compare();
    if (verify && !unsettled && this.#isOurs) this.#compareMade();
    const isGood = this.#differing.length === 0 && (takeLacking || this.#lacking.length === 0);
    const overtakenLate = isLookedAt && !here ? await this.#overtaken(heads) : undefined;
    if (isLookedAt && isGood && overtakenLate === undefined) moved.push(...(await this.#appender.end(heads)));
    return {
      ...this.#appender.appended,
      diverged: overtakenLate ?? (await this.#isElsewhere(moved)),
      unsettled,
      erased: here ? 0 : this.#erasures.entries,
      served: served || (isGood && heads.length > 0),
      differences: [...this.#lacking, ...this.#differing],
    };
  }

  /** What the source erased since, and this storage keeps, as the thread went on here. */
  async #keptHere(): Promise<Difference[]> {
    const { threadId } = this.#thread;
    if (this.#erasures.mayBe)
      for await (const each of this.#thread.checkpoints()) await this.#noteErased(each);
    return this.#erasures.kept().map((what) => ({ threadId, what }));
  }

  async #noteErased(each: SourceCheckpoint): Promise<boolean> {
    return await this.#erasures.note(each, ...valuesOf(each));
  }

  #noteLacking({ namespace, checkpointId, lacking = [] }: SourceCheckpoint): void {
    const { threadId } = this.#thread;
    for (const channel of lacking) {
      const what = `the source names a value of channel ${JSON.stringify(channel)} and doesn't have it`;
      this.#lacking.push({ threadId, namespace, checkpointId, what });
    }
  }

  /** Before anything is stored, so that the thread can always be found by its tags. */
  async #tag(): Promise<void> {
    const { threadId, tags = [] } = this.#thread;
    for (const what of await bringTags(this.#storage, threadId, tags)) this.#lacking.push({ threadId, what });
  }

  /**
   * Looks once more before heads move. Undefined: they may move.
   * @returns if somebody continued the thread here since it was read first: whether that was elsewhere than from the source's heads
   */
  async #overtaken(heads: readonly HeadMove[]): Promise<boolean | undefined> {
    if (this.#there.heads.size === 0 || !(await this.#appender.isDisturbed())) return undefined;
    const now = await threadThere(this.#storage.tier, this.#thread.threadId);
    const { target, source } = await this.#since(now);
    if (!target) return undefined;
    const present = heads.map(({ namespace }) => ({ namespace, head: now.heads.get(namespace) }));
    return source || (await this.#isElsewhere(present));
  }

  /** Whether a head didn't move because this storage continued the thread meanwhile, but not from the imported head. */
  async #isElsewhere(
    moves: readonly { readonly namespace: string; readonly head: string | undefined }[],
  ): Promise<boolean> {
    const elsewhere = moves.filter(({ namespace, head }) => head !== this.#thread.heads.get(namespace));
    if (elsewhere.length === 0) return false;
    const { records } = await threadThere(this.#storage.tier, this.#thread.threadId);
    return elsewhere.some(({ namespace, head }) => {
      const wanted = this.#thread.heads.get(namespace);
      let next: string | undefined = head;
      while (next !== undefined && next !== wanted)
        next = records.get(entryKey({ namespace, checkpointId: next }))?.parentId;
      return next === undefined;
    });
  }

  /**
   * What was added here, and in the source, since an earlier import. Batches from a source without ids have none, so those that have one
   * are a run's that continued here, or were imported from another storage of Stratigraph.
   */
  async #since({ records, heads, writes }: ThreadThere): Promise<WentOn> {
    const { outline } = this.#thread;
    const [all, ofRuns] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
    for (const [key, batches] of writes) {
      const marks = batches.filter(({ taskId }) => rewindMark(taskId) !== undefined);
      const written = batches.filter((batch) => !marks.includes(batch));
      const opened = await this.#coder.writes.open(records.get(key)!, written);
      all.set(key, idsOf([...marks, ...opened]));
      ofRuns.set(key, idsOf([...marks.filter(({ taskId }) => !isOfImport(taskId)), ...opened]));
    }
    const source: Side = {
      entries: new Map(outline.map((entry) => [entryKey(entry), entry])),
      heads: this.#thread.heads,
      batches: new Map(outline.map((entry) => [entryKey(entry), new Set(entry.batchIds)])),
    };
    return wentOn(source, { entries: records, heads, batches: all }, ofRuns);
  }

  /** The pending writes of earlier imports. */
  async #writesThere(at: OutlineEntry): Promise<Compared> {
    const batches = this.#there.writes.get(entryKey(at)) ?? [];
    if (batches.length === 0) return nothingThere;
    const blobs = batches.some(({ blobs: names }) => names.length > 0)
      ? (await this.#storage.tier.read(this.#address(at))).checkpoint?.blobs
      : new Map<BlobHash, Blob>();
    if (blobs === undefined) return nothingThere;
    return { ...nothingThere, ...(await this.#batches(at, batches, blobs)) };
  }

  async #batches(
    at: OutlineEntry,
    stored: readonly StoredWriteBatch[],
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<Pick<Compared, "writes" | "batches">> {
    const revived = await this.#coder.writes.revived(this.#address(at), stored, blobs);
    const counted = currentWrites(
      revived.filter(({ taskId }) => rewindMark(taskId) === undefined || isOfImport(taskId)),
    );
    const brought = mergeWrites(counted.filter(({ batchId }) => batchId === undefined));
    return {
      writes: await placedWrites(this.#digests, brought, []),
      batches: await digested(this.#digests, revived),
    };
  }

  async #original(each: SourceCheckpoint, copy: Compared): Promise<Compared> {
    const digest = this.#options.verify ? await this.#digests.of({ ...each, writes: [] }) : undefined;
    if (each.batches === undefined)
      return { ...nothingThere, digest, writes: await placedWrites(this.#digests, each.writes, copy.writes) };
    const batches = await digested(this.#digests, each.batches);
    if (this.#options.verify) this.#parts.source.set(entryKey(each), { batches, consumed: each.consumed });
    return { digest, writes: [], batches, consumed: each.consumed };
  }

  /** Whether the copy of a checkpoint has all pending writes of the source. It may have more, from runs that continued here. */
  async #hasWrites(each: SourceCheckpoint, copy: Compared): Promise<boolean> {
    const original = await this.#original(each, copy);
    const { writes, batches } = original;
    if (!(await this.#erasures.areHere(each, ...valuesOf(each))))
      this.#differing.push(...this.#differences(each, { ...copy, writes, batches }, original));
    return planWrites(copy.writes, writes).late.length + missingBatches(copy.batches, batches).length === 0;
  }

  /** Imports the new and changed parts of a checkpoint. */
  async #bring(each: SourceCheckpoint, copy: Compared, isThere: boolean): Promise<void> {
    const original = await this.#original(each, copy);
    const { late, replaces } = planWrites(each.batches === undefined ? copy.writes : [], original.writes);
    const missing = new Set(missingBatches(copy.batches, original.batches).map(({ name }) => name));
    const isErased = await this.#noteErased(each);
    const isSame = isThere && !isErased && (copy.digest === undefined || isSameRecord(copy, original, each));
    if (isSame && late.length === 0 && missing.size === 0) return;
    if (this.#options.verify) this.#originals.set(entryKey(each), original);
    const record = isSame ? undefined : await this.#encode(each);
    const writes =
      each.batches === undefined
        ? await this.#encodeWrites(each, replaces ? original.writes : late)
        : await this.#encodeBatches(each, each.batches, missing, { copy, original });
    await this.#appender.add({
      at: each,
      ...(record === undefined ? {} : { record: record.record }),
      blobs: [...(record?.blobs ?? []), ...writes.blobs],
      writes: [...(replaces ? await this.#replacing(each) : []), ...writes.batches],
      writeCount: late.length + writes.batchWrites,
      relies: record?.relies === true || writes.relies,
    });
    if (record !== undefined) this.#options.brought();
  }

  async #encode(each: SourceCheckpoint): Promise<EncodedCheckpoint> {
    const { checkpoint, metadata, parentId, lostTo, runId, stateVersion = 1, consumed, terms } = each;
    const at = this.#address(each);
    // Calls and events carry all of their values, so that those can be erased.
    const parent = isReserved(each.namespace) ? undefined : await this.#manifests.parentOf(each);
    const newVersions = Object.fromEntries(
      [...new Set([...Object.keys(checkpoint.channel_versions), ...Object.keys(checkpoint.channel_values)])]
        .map((channel) => [channel, checkpoint.channel_versions[channel] ?? 0] as const)
        .filter(([channel, version]) => {
          const before = parent?.get(channel);
          // The snapshot of a DeltaChannel isn't repeated in the next checkpoint, although that has the same version of the channel.
          const isTaken = before?.value !== undefined && !Object.hasOwn(checkpoint.channel_values, channel);
          return before?.version !== version || isTaken;
        }),
    );
    const put = {
      checkpoint,
      metadata,
      newVersions,
      runId: runId ?? runIdIn(metadata),
      stateVersion,
      consumed,
    };
    const encoded = await this.#coder.encode(at, { parentId, parent, again: undefined }, put);
    for (const value of encoded.values) this.#coder.blobs.remember(at.threadId, value);
    this.#manifests.set(each, encoded);
    const record = { ...encoded.record, ...(lostTo === undefined ? {} : { lostTo }) };
    return { ...encoded, record: terms === undefined ? record : { ...record, terms } };
  }

  /** A rewind mark: of the checkpoint's pending writes, only those after it count. */
  async #replacing(each: SourceCheckpoint): Promise<(Address & WriteBatch)[]> {
    const at = this.#address(each);
    const before = currentWrites(this.#there.writes.get(entryKey(each)) ?? []).map(batchDigest);
    const mark = rewindTask({ made: [], before, keep: [] });
    return [{ ...at, ...(await this.#coder.writes.encodeMark(at, mark)) }];
  }

  /**
   * Encodes the batches of a source that the copy lacks. Rewind marks name batches by their bytes, which are others here.
   * @param missing names of the source's batches
   */
  async #encodeBatches(
    each: SourceCheckpoint,
    batches: readonly SourceBatch[],
    missing: ReadonlySet<string>,
    { copy, original }: { readonly copy: Compared; readonly original: Compared },
  ) {
    const at = this.#address(each);
    const wanted = new Map(original.batches.map((batch) => [identityOf(batch), batch.name]));
    const names = new Map(copy.batches.map((batch) => [wanted.get(identityOf(batch)), batch.name]));
    const here = (of: readonly string[]): string[] => of.map((name) => names.get(name) ?? name);
    const encoded: EncodedBatch[] = [];
    // An import from a file of version 1 left writes that count for every child.
    const before = currentWrites(copy.batches)
      .filter((batch) => batchIdOf(batch) === undefined && !wanted.has(identityOf(batch)))
      .map(({ name }) => name);
    if (before.length > 0 && missing.size > 0) {
      const batch = await this.#coder.writes.encodeMark(at, rewindTask({ made: [], before, keep: [] }));
      encoded.push({ batch, values: [], relies: false });
    }
    let batchWrites = 0;
    for (const { name, taskId, taskPath, batchId, omitted, stateVersion, writes } of batches) {
      if (!missing.has(name)) continue;
      const mark = rewindMark(taskId);
      if (mark !== undefined) {
        const marked = { ...mark, before: here(mark.before), keep: here(mark.keep) };
        const batch = await this.#coder.writes.encodeMark(at, rewindTask(marked));
        encoded.push({ batch, values: [], relies: false });
        continue;
      }
      const pairs = writes.map(({ channel, value }): [string, unknown] => [channel, value]);
      const captured = this.#coder.writes.capture(
        at,
        taskId,
        { taskPath, batchId, omitted, stateVersion },
        pairs,
      );
      const placed = captured.writes.map((write, n) => ({ ...write, index: writes[n]!.index }));
      const one = await this.#coder.writes.encode(at, { ...captured, writes: placed }, false);
      names.set(name, batchDigest(one.batch));
      batchWrites += writes.length;
      encoded.push(one);
    }
    return { ...this.#stored(at, encoded), batchWrites };
  }

  async #encodeWrites(each: SourceCheckpoint, writes: readonly PlacedWrite[]) {
    const at = this.#address(each);
    const batches = new Map<string, PlacedWrite[]>();
    for (const write of writes) {
      const key = `${write.stateVersion ?? 1} ${write.taskId}`;
      batches.set(key, [...(batches.get(key) ?? []), write]);
    }
    const encoded = [];
    for (const ofTask of batches.values()) {
      const { taskId, taskPath = "", stateVersion = 1 } = ofTask[0]!;
      const origin = { taskPath, batchId: undefined, stateVersion };
      const pairs = ofTask.map(({ channel, value }): [string, unknown] => [channel, value]);
      const captured = this.#coder.writes.capture(at, taskId, origin, pairs);
      const placed = captured.writes.map((write, n) => ({ ...write, index: ofTask[n]!.index }));
      encoded.push(await this.#coder.writes.encode(at, { ...captured, writes: placed }, false));
    }
    return { ...this.#stored(at, encoded), batchWrites: 0 };
  }

  /** The parts of an append that store encoded batches. */
  #stored(at: Address, encoded: readonly EncodedBatch[]) {
    const values = encoded.flatMap((one) => one.values);
    for (const value of values) this.#coder.blobs.remember(at.threadId, value);
    return {
      batches: encoded.map(({ batch }) => ({ ...at, ...batch })),
      blobs: values.flatMap(({ blob }) => (blob === undefined ? [] : [blob])),
      relies: encoded.some(({ relies }) => relies),
    };
  }

  #address({ namespace, checkpointId }: OutlineEntry): Address {
    return { threadId: this.#thread.threadId, namespace, checkpointId };
  }

  /** The stored copies of the wanted checkpoints, by key. */
  async *#compared(wanted: Has): AsyncGenerator<[key: string, Compared]> {
    const { threadId } = this.#thread;
    const series = new Map();
    for await (const stored of this.#storage.tier.list({ threadId })) {
      const { record } = stored;
      if (!wanted.has(entryKey(record))) continue;
      const body = await this.#coder.decodeBody(record);
      const digest = await this.#digests.of({
        ...record,
        stateVersion: body.stateVersion,
        checkpoint: await this.#coder.checkpoint(stored, body, { series }),
        metadata: await this.#coder.metadata(record, body),
        writes: [],
      });
      const { consumed } = body;
      yield [
        entryKey(record),
        { digest, consumed, ...(await this.#batches(record, stored.writes, stored.blobs)) },
      ];
    }
  }

  /** Compares the imported checkpoints with what is stored now. */
  async #compare(): Promise<void> {
    const { threadId } = this.#thread;
    const left = new Map(this.#originals);
    if (left.size === 0) return;
    for await (const [key, copy] of this.#compared(this.#originals)) {
      const original = left.get(key)!;
      left.delete(key);
      if (this.#isOurs) this.#parts.copy.set(key, copy);
      this.#differing.push(...this.#differences(entryOf(key), copy, original));
    }
    for (const key of left.keys()) this.#differing.push({ threadId, ...entryOf(key), what: "it is missing" });
  }

  /**
   * Compares what LangGraph is shown of every checkpoint beside its stored values: what is pending, and what its DeltaChannels are rebuilt
   * from. The stored batches are chosen as a read chooses them.
   */
  #compareMade(): void {
    const { source, copy } = this.#parts;
    for (const entry of this.#thread.outline) {
      const [mine, theirs] = [copy.get(entryKey(entry)), source.get(entryKey(entry))];
      if (mine === undefined || theirs === undefined) continue;
      if (!this.#wentOn && pendingDigest(mine.batches) !== pendingDigest(theirs.batches))
        this.#differing.push({ ...this.#address(entry), what: "its pending writes differ" });
      const parent = parentKey(entry);
      const [from, to] = [source.get(parent ?? ""), copy.get(parent ?? "")];
      if (from === undefined || to === undefined) continue;
      const { checkpointId } = entry;
      const original = madeDigest(from.batches, { checkpointId, consumed: theirs.consumed });
      if (madeDigest(to.batches, { checkpointId, consumed: mine.consumed }) !== original)
        this.#differing.push({
          ...this.#address(entry),
          what: "what its DeltaChannels are rebuilt from differs",
        });
    }
  }

  #differences(at: OutlineEntry, copy: Compared, original: Compared): Difference[] {
    const late = [
      ...planWrites(original.writes.length === 0 ? [] : copy.writes, original.writes).late,
      ...missingBatches(copy.batches, original.batches).flatMap(({ writes }) => writes),
    ];
    const lost = late.length === 0 ? [] : [`${late.length} pending writes are missing`];
    const values = copy.digest === undefined ? [] : missingIn(copy.digest, original.digest!);
    return [...values, ...lost].map((what) => ({ ...this.#address(at), what }));
  }
}

function idsOf(batches: readonly { readonly taskId: string }[]): Set<string> {
  return new Set(batches.flatMap((batch) => batchIdOf(batch) ?? []));
}

interface Has {
  has(key: string): boolean;
}

function entryOf(key: string): OutlineEntry {
  const [namespace, checkpointId] = JSON.parse(key) as [string, string];
  return { namespace, checkpointId };
}

function isSameRecord(copy: Compared, original: Compared, { batches }: SourceCheckpoint): boolean {
  const isSameMade = batches === undefined || String(copy.consumed) === String(original.consumed);
  return isSameMade && missingIn(copy.digest!, original.digest!).length === 0;
}

/** What is remembered of a checkpoint that others share values with. */
type Known = Pick<EncodedCheckpoint, "manifest" | "stateVersion">;

/** Manifests of checkpoints whose children are still to come: a child shares the values that didn't change. */
class Manifests {
  readonly #storage: ReadThroughStorage;
  readonly #threadId: string;
  readonly #children = new Map<string, number>();
  readonly #known = new Map<string, Known>();

  constructor(storage: ReadThroughStorage, { threadId, outline }: SourceThread) {
    this.#storage = storage;
    this.#threadId = threadId;
    for (const entry of outline) {
      const parent = parentKey(entry);
      if (parent !== undefined) this.#children.set(parent, (this.#children.get(parent) ?? 0) + 1);
    }
  }

  set(entry: SourceCheckpoint, { manifest, stateVersion }: Known): void {
    const key = entryKey(entry);
    if ((this.#children.get(key) ?? 0) > 0) this.#known.set(key, { manifest, stateVersion });
  }

  /**
   * The parent's manifest; undefined if there is no parent, or if it isn't in this storage. A parent of another version of the state has
   * other values under the same versions: they can be patched, and not carried over.
   */
  async parentOf(entry: SourceCheckpoint): Promise<Manifest | undefined> {
    const key = parentKey(entry);
    if (key === undefined) return undefined;
    const known = this.#known.get(key) ?? (await this.#read(entry));
    const left = (this.#children.get(key) ?? 1) - 1;
    this.#children.set(key, left);
    if (left === 0) this.#known.delete(key);
    else if (known !== undefined) this.#known.set(key, known);
    if (known === undefined || known.stateVersion === (entry.stateVersion ?? 1)) return known?.manifest;
    return new Map([...known.manifest].map(([channel, each]) => [channel, { ...each, version: undefined }]));
  }

  async #read({ namespace, parentId }: SourceCheckpoint): Promise<Known | undefined> {
    if (parentId === undefined) return undefined;
    const { tier, coder } = this.#storage;
    const { checkpoint } = await tier.read({ threadId: this.#threadId, namespace, checkpointId: parentId });
    if (checkpoint === undefined) return undefined;
    const { manifest, stateVersion } = await coder.decodeBody(checkpoint.record);
    await coder.remember(checkpoint.record, manifest, checkpoint.blobs);
    return { manifest, stateVersion };
  }
}

function valuesOf({ metadata, checkpoint }: SourceCheckpoint): [metadata: unknown, names: readonly string[]] {
  return [metadata, Object.keys(checkpoint.channel_values)];
}

function runIdIn(metadata: object): string | undefined {
  const { run_id } = metadata as { readonly run_id?: unknown };
  return typeof run_id === "string" && run_id !== "" ? run_id : undefined;
}
