// long file: one import of one thread, from what is there to its heads
import { StratigraphError } from "@stratigraph/core";
import {
  batchDigest,
  currentWrites,
  refuseEvicted,
  rewindMark,
  rewindTask,
  type CheckpointCoder,
  type EncodedCheckpoint,
  type Manifest,
  type ReadThroughStorage,
} from "@stratigraph/core/internal";
import type {
  Address,
  Appended,
  Blob,
  BlobHash,
  HeadMove,
  StoredWriteBatch,
  WriteBatch,
} from "@stratigraph/core/tier";
import { entryKey, parentKey } from "../contract/outline.ts";
import type { OutlineEntry, SourceCheckpoint, SourceThread } from "../contract/source.ts";
import { Appender } from "./appender.ts";
import { Digests, missingIn, type CheckpointDigest } from "./digest.ts";
import { placedWrites, planWrites, type PlacedWrite } from "./placedWrites.ts";
import type { Difference } from "./report.ts";
import { threadThere, type ThreadThere } from "./threadThere.ts";

/** The result of importing a thread. */
export interface ImportedThread {
  readonly checkpoints: number;
  readonly writes: number;
  /** Both this storage and the source have added to the thread since an earlier import. Nothing was changed. */
  readonly diverged: boolean;
  /** The source wrote to the thread while it was read. Its heads weren't moved. */
  readonly unsettled: boolean;
  readonly differences: readonly Difference[];
  /** Whether the thread has heads now, so that it can be read. */
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

const nothing = { checkpoints: 0, writes: 0, diverged: false, unsettled: false, differences: [] };

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
interface Compared {
  /** Undefined if only the pending writes are compared. */
  readonly digest: CheckpointDigest | undefined;
  readonly writes: readonly PlacedWrite[];
}

const nothingThere: Compared = { digest: undefined, writes: [] };

/** One import of one thread. */
class Bringing {
  readonly #storage: ReadThroughStorage;
  readonly #coder: CheckpointCoder;
  readonly #thread: SourceThread;
  readonly #there: ThreadThere;
  readonly #options: ImportThreadOptions;
  readonly #appender: Appender;
  readonly #manifests: Manifests;
  readonly #digests = new Digests();
  /** The imported checkpoints that will be compared with their copies, by key. */
  readonly #originals = new Map<string, Compared>();
  /** Values that the source itself lacks. */
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
  }

  async run(): Promise<ImportedThread> {
    const { verify, takeLacking } = this.#options;
    const { records, heads: before } = this.#there;
    const served = before.size > 0;
    const wanted = new Set(this.#thread.outline.map(entryKey));
    const lacks = [...wanted].some((key) => !records.has(key));
    const wentOn = [...records.keys()].some((key) => !wanted.has(key)) || (await this.#wroteHere());
    const diverged = { ...nothing, diverged: true, served };
    if (wentOn && lacks) return diverged;
    const isAnew = !takeLacking && !served;
    const copies = new Map<string, Compared>();
    if (verify && !isAnew) for await (const [key, copy] of this.#compared(wanted)) copies.set(key, copy);
    for await (const each of this.#thread.checkpoints()) {
      this.#noteLacking(each);
      const key = entryKey(each);
      const copy = copies.get(key) ?? (await this.#writesThere(each));
      if (!wentOn) await this.#bring(each, copy, records.has(key) && !isAnew);
      else if (!(await this.#hasWrites(each, copy))) return diverged;
    }
    const unsettled = (await this.#thread.isUnchanged?.()) === false;
    const heads = wentOn || unsettled ? [] : this.#heads();
    // If the copy has to be checked first, it gets its heads only afterwards, so that nobody sees it before.
    const isLookedAt = verify || !takeLacking;
    const moved = [...(await this.#appender.end(isLookedAt ? [] : heads))];
    if (verify && !unsettled) await this.#compare();
    const isGood = this.#differing.length === 0 && (takeLacking || this.#lacking.length === 0);
    if (isLookedAt && isGood) moved.push(...(await this.#appender.end(heads)));
    return {
      ...this.#appender.appended,
      diverged: await this.#isElsewhere(moved),
      unsettled,
      served: served || (isGood && heads.length > 0),
      differences: [...this.#lacking, ...this.#differing],
    };
  }

  #noteLacking({ namespace, checkpointId, lacking = [] }: SourceCheckpoint): void {
    const { threadId } = this.#thread;
    for (const channel of lacking) {
      const what = `the source names a value of channel ${JSON.stringify(channel)} and doesn't have it`;
      this.#lacking.push({ threadId, namespace, checkpointId, what });
    }
  }

  /** The heads to move. An existing head moves only if nobody has moved it since it was read. */
  #heads(): HeadMove[] {
    return [...this.#thread.heads].flatMap(([namespace, to]) => {
      const now = this.#there.heads.get(namespace);
      return now === to ? [] : [{ namespace, to, expected: now === undefined ? [] : [now] }];
    });
  }

  /** Whether a head didn't move because this storage continued the thread meanwhile, but not from the imported head. */
  async #isElsewhere(moves: Appended["heads"]): Promise<boolean> {
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

  /** Whether a run has continued here: some pending writes aren't from an import. Imported writes have no writer. */
  async #wroteHere(): Promise<boolean> {
    for (const [key, batches] of this.#there.writes) {
      if (batches.some(({ taskId }) => isForeignMark(taskId))) return true;
      const record = this.#there.records.get(key)!;
      const opened = await this.#coder.writes.open(record, batches);
      if (opened.some(({ batchId }) => batchId !== undefined)) return true;
    }
    return false;
  }

  /** The pending writes of earlier imports. */
  async #writesThere(at: OutlineEntry): Promise<Compared> {
    const batches = this.#there.writes.get(entryKey(at)) ?? [];
    if (batches.length === 0) return nothingThere;
    const blobs = batches.some(({ blobs: names }) => names.length > 0)
      ? (await this.#storage.tier.read(this.#address(at))).checkpoint?.blobs
      : new Map<BlobHash, Blob>();
    if (blobs === undefined) return nothingThere;
    return { digest: undefined, writes: await this.#broughtWrites(at, batches, blobs) };
  }

  async #broughtWrites(
    at: OutlineEntry,
    batches: readonly StoredWriteBatch[],
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<PlacedWrite[]> {
    const address = this.#address(at);
    const counted = currentWrites(batches.filter(({ taskId }) => !isForeignMark(taskId)));
    const opened = await this.#coder.writes.open(address, counted);
    const brought = opened.filter(({ batchId }) => batchId === undefined);
    const decoded = await this.#coder.writes.pending(address, brought, blobs);
    return await placedWrites(this.#digests, decoded, []);
  }

  async #original(each: SourceCheckpoint, copy: Compared): Promise<Compared> {
    const digest = this.#options.verify ? await this.#digests.of({ ...each, writes: [] }) : undefined;
    return { digest, writes: await placedWrites(this.#digests, each.writes, copy.writes) };
  }

  /** Whether the copy of a checkpoint has all pending writes of the source. It may have more, from runs that continued here. */
  async #hasWrites(each: SourceCheckpoint, copy: Compared): Promise<boolean> {
    const original = await this.#original(each, copy);
    this.#differing.push(...this.#differences(each, { ...copy, writes: original.writes }, original));
    return planWrites(copy.writes, original.writes).late.length === 0;
  }

  /** Imports the new and changed parts of a checkpoint. */
  async #bring(each: SourceCheckpoint, copy: Compared, isThere: boolean): Promise<void> {
    const original = await this.#original(each, copy);
    const { late, replaces } = planWrites(copy.writes, original.writes);
    const isSame = isThere && (copy.digest === undefined || isSameValue(copy.digest, original.digest!));
    if (isSame && late.length === 0) return;
    if (this.#options.verify) this.#originals.set(entryKey(each), original);
    const record = isSame ? undefined : await this.#encode(each);
    const writes = await this.#encodeWrites(each, replaces ? original.writes : late);
    await this.#appender.add({
      at: each,
      ...(record === undefined ? {} : { record: record.record }),
      blobs: [...(record?.blobs ?? []), ...writes.blobs],
      writes: [...(replaces ? await this.#replacing(each) : []), ...writes.batches],
      writeCount: late.length,
      relies: record?.relies === true || writes.relies,
    });
    if (record !== undefined) this.#options.brought();
  }

  async #encode(each: SourceCheckpoint): Promise<EncodedCheckpoint> {
    const { checkpoint, metadata, parentId, lostTo, runId, stateVersion = 1 } = each;
    const at = this.#address(each);
    const parent = await this.#manifests.parentOf(each);
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
    const put = { checkpoint, metadata, newVersions, runId: runId ?? runIdIn(metadata), stateVersion };
    const encoded = await this.#coder.encode(at, { parentId, parent, again: undefined }, put);
    for (const value of encoded.values) this.#coder.blobs.remember(at.threadId, value);
    this.#manifests.set(each, encoded);
    return lostTo === undefined ? encoded : { ...encoded, record: { ...encoded.record, lostTo } };
  }

  /** A rewind mark: of the checkpoint's pending writes, only those after it count. */
  async #replacing(each: SourceCheckpoint): Promise<(Address & WriteBatch)[]> {
    const at = this.#address(each);
    const before = currentWrites(this.#there.writes.get(entryKey(each)) ?? []).map(batchDigest);
    const mark = rewindTask({ made: [], before, keep: [] });
    return [{ ...at, ...(await this.#coder.writes.encodeMark(at, mark)) }];
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
      const writes = await this.#broughtWrites(record, stored.writes, stored.blobs);
      yield [entryKey(record), { digest, writes }];
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
      this.#differing.push(...this.#differences(entryOf(key), copy, original));
    }
    for (const key of left.keys()) this.#differing.push({ threadId, ...entryOf(key), what: "it is missing" });
  }

  #differences(at: OutlineEntry, copy: Compared, original: Compared): Difference[] {
    const { late } = planWrites(copy.writes, original.writes);
    const lost = late.length === 0 ? [] : [`${late.length} pending writes are missing`];
    const values = copy.digest === undefined ? [] : missingIn(copy.digest, original.digest!);
    return [...values, ...lost].map((what) => ({ ...this.#address(at), what }));
  }
}

interface Has {
  has(key: string): boolean;
}

function entryOf(key: string): OutlineEntry {
  const [namespace, checkpointId] = JSON.parse(key) as [string, string];
  return { namespace, checkpointId };
}

/** Whether a batch is a rewind mark, other than those with which imports replace earlier imported writes. */
function isForeignMark(taskId: string): boolean {
  const mark = rewindMark(taskId);
  return mark !== undefined && (mark.made.length > 0 || mark.undoable === true);
}

function isSameValue(copy: CheckpointDigest, original: CheckpointDigest): boolean {
  return missingIn(copy, original).length === 0;
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

function runIdIn(metadata: object): string | undefined {
  const { run_id } = metadata as { readonly run_id?: unknown };
  return typeof run_id === "string" && run_id !== "" ? run_id : undefined;
}
