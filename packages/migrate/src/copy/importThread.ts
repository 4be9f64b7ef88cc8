import type { CheckpointCoder, HeadMove, Manifest, ReadThroughStorage } from "@stratigraph/core";
import { entryKey, parentKey } from "../contract/outline.ts";
import type { SourceCheckpoint, SourceThread, SourceWrite } from "../contract/source.ts";
import { Appender } from "./appender.ts";
import { Digests, missingIn, type CheckpointDigest } from "./digest.ts";
import type { Difference } from "./report.ts";
import { threadThere, type ThreadThere } from "./threadThere.ts";

/** What became of a thread. */
export interface ImportedThread {
  readonly checkpoints: number;
  readonly writes: number;
  /** It went on here and in the source since an earlier import. Nothing was changed. */
  readonly diverged: boolean;
  readonly differences: readonly Difference[];
}

/** How a thread is imported. */
interface ImportThreadOptions {
  /** Whether all of it is read back and compared. */
  readonly verify: boolean;
  /**
   * What becomes of a thread that isn't here as it is in the source. "report": it is here, and the differences are told. "refuse": it
   * gets no heads, so that nobody sees it; what an earlier attempt left of it is written anew.
   */
  readonly onDifferences: "report" | "refuse";
  /** Called after each checkpoint that was brought. */
  brought(): void;
}

/** The imports under way, by coder and thread. */
const underWay = new WeakMap<CheckpointCoder, Map<string, Promise<unknown>>>();

const nothing = { checkpoints: 0, writes: 0, diverged: false, differences: [] };

/**
 * Brings a thread into a storage of ours: the checkpoints that aren't there yet, with their pending writes. The thread gets its
 * heads with the last of them. May be interrupted at any moment and repeated, also by two processes at once.
 * @throws StratigraphError where the source can't be read or the storage not be written
 */
export async function importThread(
  storage: ReadThroughStorage,
  thread: SourceThread,
  options: ImportThreadOptions,
): Promise<ImportedThread> {
  // A coder remembers what it encoded as stored, so that a second import through it would rely on what the first hasn't stored yet.
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

async function importAlone(
  storage: ReadThroughStorage,
  thread: SourceThread,
  options: ImportThreadOptions,
): Promise<ImportedThread> {
  const found = await threadThere(storage.tier, thread.threadId);
  const isAnew = options.onDifferences === "refuse" && found.heads.size === 0;
  const there: ThreadThere = isAnew ? { ...found, records: new Map() } : found;
  const wanted = new Set(thread.outline.map(entryKey));
  const missing = new Set([...wanted].filter((key) => !there.records.has(key)));
  const wentOn = [...there.records.keys()].some((key) => !wanted.has(key));
  if (wentOn && missing.size > 0) return { ...nothing, diverged: true };
  const isComplete = missing.size === 0 && there.heads.size > 0;
  if (isComplete && !options.verify) return nothing;
  const bringing = new Bringing(storage, thread, there, missing);
  try {
    return await bringing.run(wentOn, options);
  } finally {
    // What was remembered of the thread was for this import. A part of it may not have been stored.
    storage.coder.forgetThread(thread.threadId);
  }
}

/** One import of one thread. */
class Bringing {
  readonly #storage: ReadThroughStorage;
  readonly #coder: CheckpointCoder;
  readonly #thread: SourceThread;
  readonly #there: ThreadThere;
  readonly #missing: ReadonlySet<string>;
  readonly #appender: Appender;
  readonly #manifests: Manifests;
  readonly #digests = new Digests();
  readonly #originals = new Map<string, CheckpointDigest>();
  readonly #lacking: Difference[] = [];

  constructor(
    storage: ReadThroughStorage,
    thread: SourceThread,
    there: ThreadThere,
    missing: ReadonlySet<string>,
  ) {
    this.#storage = storage;
    this.#coder = storage.coder;
    this.#thread = thread;
    this.#there = there;
    this.#missing = missing;
    this.#appender = new Appender(storage.tier, thread.threadId, there);
    this.#manifests = new Manifests(storage, thread);
  }

  async run(
    wentOn: boolean,
    { verify, onDifferences, brought }: ImportThreadOptions,
  ): Promise<ImportedThread> {
    for await (const each of this.#thread.checkpoints()) {
      this.#noteLacking(each);
      if (verify) this.#originals.set(entryKey(each), await this.#digests.of(each));
      if (this.#missing.has(entryKey(each))) {
        await this.#bring(each);
        brought();
      } else if (!wentOn && this.#isHead(each)) await this.#bringLateWrites(each);
    }
    const heads = wentOn ? [] : this.#heads();
    await this.#appender.end(onDifferences === "report" ? heads : []);
    const differences = [...this.#lacking, ...(verify ? await this.#verify() : [])];
    if (onDifferences === "refuse" && differences.length === 0) await this.#appender.end(heads);
    return { ...this.#appender.appended, diverged: false, differences };
  }

  #noteLacking({ namespace, checkpointId, lacking = [] }: SourceCheckpoint): void {
    const { threadId } = this.#thread;
    for (const channel of lacking) {
      const what = `the source names a value of channel ${JSON.stringify(channel)} and doesn't have it`;
      this.#lacking.push({ threadId, namespace, checkpointId, what });
    }
  }

  #isHead({ namespace, checkpointId }: SourceCheckpoint): boolean {
    return this.#thread.heads.get(namespace) === checkpointId;
  }

  /** A head that is there moves only from where an earlier import left it: somebody may go on with the thread meanwhile. */
  #heads(): HeadMove[] {
    return [...this.#thread.heads].flatMap(([namespace, to]) => {
      const now = this.#there.heads.get(namespace);
      return now === to ? [] : [{ namespace, to, expected: now === undefined ? [] : [now] }];
    });
  }

  async #bring(each: SourceCheckpoint): Promise<void> {
    const { checkpoint, metadata, parentId, lostTo, runId } = each;
    const at = this.#address(each);
    const parent = await this.#manifests.parentOf(each);
    const newVersions = Object.fromEntries(
      [...new Set([...Object.keys(checkpoint.channel_versions), ...Object.keys(checkpoint.channel_values)])]
        .map((channel) => [channel, checkpoint.channel_versions[channel] ?? 0] as const)
        .filter(([channel, version]) => parent?.get(channel)?.version !== version),
    );
    const put = { checkpoint, metadata, newVersions, runId: runId ?? runIdIn(metadata) };
    const encoded = await this.#coder.encode(at, { parentId, parent, again: undefined }, put);
    for (const value of encoded.values) this.#coder.blobs.remember(at.threadId, value);
    this.#manifests.set(each, encoded.manifest);
    const writes = await this.#encodeWrites(each, each.writes);
    await this.#appender.add({
      at: each,
      record: lostTo === undefined ? encoded.record : { ...encoded.record, lostTo },
      blobs: [...encoded.blobs, ...writes.blobs],
      writes: writes.batches,
      writeCount: each.writes.length,
      relies: encoded.relies || writes.relies,
    });
  }

  /** Pending writes that the source's head got since an earlier import. */
  async #bringLateWrites(each: SourceCheckpoint): Promise<void> {
    if (each.writes.length === 0) return;
    const at = this.#address(each);
    const { checkpoint: stored } = await this.#storage.tier.read(at);
    if (stored === undefined) return;
    const known = await this.#coder.writes.decode(at, stored.writes, stored.blobs);
    const isKnown = (write: SourceWrite): boolean =>
      known.some(({ taskId, channel }) => taskId === write.taskId && channel === write.channel);
    const late = each.writes.filter((write) => !isKnown(write));
    if (late.length === 0) return;
    const { blobs, batches, relies } = await this.#encodeWrites(each, late);
    await this.#appender.add({ at: each, blobs, writes: batches, writeCount: late.length, relies });
  }

  async #encodeWrites(each: SourceCheckpoint, writes: readonly SourceWrite[]) {
    const at = this.#address(each);
    const byTask = new Map<string, SourceWrite[]>();
    for (const write of writes) byTask.set(write.taskId, [...(byTask.get(write.taskId) ?? []), write]);
    const encoded = [];
    for (const [taskId, ofTask] of byTask) {
      const origin = { taskPath: ofTask[0]?.taskPath ?? "", writer: undefined };
      const pairs = ofTask.map(({ channel, value }): [string, unknown] => [channel, value]);
      const captured = this.#coder.writes.capture(at, taskId, origin, pairs);
      const placed = captured.writes.map((write, n) => ({
        ...write,
        index: ofTask[n]?.index ?? write.index,
      }));
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

  #address({ namespace, checkpointId }: SourceCheckpoint) {
    return { threadId: this.#thread.threadId, namespace, checkpointId };
  }

  async #verify(): Promise<Difference[]> {
    const { threadId } = this.#thread;
    const left = new Map(this.#originals);
    const differences: Difference[] = [];
    const series = new Map();
    for await (const stored of this.#storage.tier.list({ threadId })) {
      const { record } = stored;
      const original = left.get(entryKey(record));
      if (original === undefined) continue;
      left.delete(entryKey(record));
      const body = await this.#coder.decodeBody(record);
      const copy = await this.#digests.of({
        ...record,
        checkpoint: await this.#coder.checkpoint(stored, body, { series }),
        metadata: await this.#coder.metadata(record, body),
        writes: await this.#coder.writes.decode(record, stored.writes, stored.blobs),
      });
      const { namespace, checkpointId } = record;
      for (const what of missingIn(copy, original))
        differences.push({ threadId, namespace, checkpointId, what });
    }
    for (const key of left.keys()) {
      const [namespace, checkpointId] = JSON.parse(key) as [string, string];
      differences.push({ threadId, namespace, checkpointId, what: "it is missing" });
    }
    return differences;
  }
}

/** Manifests of checkpoints whose children are still to come: a child shares the values that didn't change. */
class Manifests {
  readonly #storage: ReadThroughStorage;
  readonly #threadId: string;
  readonly #children = new Map<string, number>();
  readonly #known = new Map<string, Manifest>();

  constructor(storage: ReadThroughStorage, { threadId, outline }: SourceThread) {
    this.#storage = storage;
    this.#threadId = threadId;
    for (const entry of outline) {
      const parent = parentKey(entry);
      if (parent !== undefined) this.#children.set(parent, (this.#children.get(parent) ?? 0) + 1);
    }
  }

  set(entry: SourceCheckpoint, manifest: Manifest): void {
    const key = entryKey(entry);
    if ((this.#children.get(key) ?? 0) > 0) this.#known.set(key, manifest);
  }

  /** The parent's manifest; undefined where there is no parent, or it isn't here. */
  async parentOf(entry: SourceCheckpoint): Promise<Manifest | undefined> {
    const key = parentKey(entry);
    if (key === undefined) return undefined;
    const manifest = this.#known.get(key) ?? (await this.#read(entry));
    const left = (this.#children.get(key) ?? 1) - 1;
    this.#children.set(key, left);
    if (left === 0) this.#known.delete(key);
    else if (manifest !== undefined) this.#known.set(key, manifest);
    return manifest;
  }

  async #read({ namespace, parentId }: SourceCheckpoint): Promise<Manifest | undefined> {
    if (parentId === undefined) return undefined;
    const { tier, coder } = this.#storage;
    const { checkpoint } = await tier.read({ threadId: this.#threadId, namespace, checkpointId: parentId });
    if (checkpoint === undefined) return undefined;
    const { manifest } = await coder.decodeBody(checkpoint.record);
    await coder.remember(checkpoint.record, manifest, checkpoint.blobs);
    return manifest;
  }
}

function runIdIn(metadata: object): string | undefined {
  const { run_id } = metadata as { readonly run_id?: unknown };
  return typeof run_id === "string" && run_id !== "" ? run_id : undefined;
}
