import { NotFoundError, type StratigraphError, type TierSaver } from "@stratigraph/core";
import {
  batchesOfChild,
  currentWrites,
  headlessError,
  mergeWrites,
  pendingBatches,
  refusePart,
  rewindMark,
  type Consumed,
  type RevivedBatch,
} from "@stratigraph/core/internal";
import { reservedNamespaces, type ListedCheckpoint, type StoredWriteBatch } from "@stratigraph/core/tier";
import type { CallsElsewhere } from "../contract/calls.ts";
import { isOfOneThread } from "../copy/isOfOneThread.ts";
import { ownThreads } from "../copy/ownThreads.ts";
import { revisionOf } from "../copy/revisionOf.ts";
import { tagsOf } from "../copy/tags.ts";
import { batchIdOf, entryKey, isCopied, lineOf, parentKey, parentsFirst } from "../contract/outline.ts";
import type {
  OutlineEntry,
  Plan,
  SourceBatch,
  SourceCheckpoint,
  SourceThread,
  SourceSelection,
  ThreadSource,
} from "../contract/source.ts";
import { callsElsewhere, callsOf, OpenCalls } from "./openCalls.ts";

/** How many times a thread's outline is read at most, if the thread is written to meanwhile. */
const mostTries = 5;

/** What decides which of its parent's batches a checkpoint was made from. */
interface Child {
  readonly checkpointId: string;
  readonly consumed: Consumed;
}

/** A Stratigraph storage as a source. Closing it doesn't close the saver. @param elsewhere what `thread` tells of other journals */
export function tierSource(saver: TierSaver, elsewhere?: CallsElsewhere): ThreadSource {
  return {
    name: saver.tier.name,
    plan: () => planOf(saver),
    threads: (selection) => threadsOf(saver, selection),
    thread: (threadId) => threadOf(saver, threadId, elsewhere),
    close: async () => undefined,
  };
}

async function planOf({ tier }: TierSaver): Promise<Plan> {
  return { threads: (await ownThreads(tier)).length };
}

async function* threadsOf(saver: TierSaver, selection?: SourceSelection): AsyncGenerator<SourceThread> {
  // Who reads all threads, reads all journals.
  const elsewhere = selection?.threadIds === undefined ? "own" : await callsElsewhere(saver);
  let all: Promise<CallsElsewhere> | undefined;
  // Of a journal that can't be read, nobody knows whose calls it has.
  const allElsewhere = () => (all ??= callsElsewhere(saver));
  const unnamed: StratigraphError[] = [];
  const wanted = await ownThreads(saver.tier, selection, unnamed);
  for (const error of unnamed) yield unread("", error, allElsewhere);
  for (const threadId of wanted) {
    const thread = await threadOf(saver, threadId, elsewhere).catch((error: unknown) =>
      unread(threadId, error, allElsewhere),
    );
    if (thread !== undefined) yield thread;
  }
}

/** A thread that can't be read: whoever reads its checkpoints is told, and the others can be copied. */
function unread(
  threadId: string,
  error: unknown,
  elsewhere: NonNullable<SourceThread["elsewhere"]>,
): SourceThread {
  if (!isOfOneThread(error)) throw error;
  const checkpoints = (): never => {
    throw error;
  };
  const nothing = { outline: [], heads: new Map(), mixedUp: [], close: async () => undefined };
  return { threadId, ...nothing, elsewhere, checkpoints };
}

async function threadOf(
  saver: TierSaver,
  threadId: string,
  others?: CallsElsewhere | "own",
): Promise<SourceThread | undefined> {
  const { tier } = saver;
  for (let tries = 1; ; tries += 1) {
    const revision = await revisionOf(tier, threadId);
    await refusePart(tier, { threadId });
    const found = await outlineOf(saver, threadId, others === "own" ? undefined : others);
    if (found === undefined) return undefined;
    const tags = await tagsOf(saver, threadId);
    const isUnchanged = async () => (await revisionOf(tier, threadId)) === revision;
    if (tries < mostTries && !(await isUnchanged())) continue;
    const { outline, heads, children, calls, ...told } = found;
    const elsewhere = async () =>
      others === "own"
        ? calls.ofOthers()
        : new Map([[threadId, callsOf(threadId, others ?? (await callsElsewhere(saver)))]]);
    const root = { threadId, namespace: "" };
    if (!heads.has("") && (await tier.peek(root)).headless === true) throw headlessError(root);
    // An import under way, whose heads come last.
    if (heads.size === 0) return undefined;
    return {
      threadId,
      outline,
      heads,
      mixedUp: [],
      tags,
      ...told,
      elsewhere,
      checkpoints: () => checkpointsOf(saver, threadId, outline, children),
      isUnchanged,
      close: async () => undefined,
    };
  }
}

/** What is read of a thread before its values. */
async function outlineOf(saver: TierSaver, threadId: string, others?: CallsElsewhere) {
  const entries: OutlineEntry[] = [];
  const heads = new Map<string, string>();
  const made = new Map<string, Consumed>();
  const calls = new OpenCalls(saver, threadId);
  let newestState = 1;
  for await (const listed of saver.tier.list({ threadId, recordsOnly: true })) {
    const { record, head } = listed;
    const { namespace, checkpointId, parentId, lostTo } = record;
    if (!isCopied(namespace)) continue;
    const { consumed, opened, current, stateVersion } = await openedOf(saver, listed);
    newestState = Math.max(newestState, stateVersion, ...opened.map((batch) => batch.stateVersion));
    const batchIds = [...marksOf(listed.writes), ...opened].flatMap((batch) => batchIdOf(batch) ?? []);
    entries.push({ namespace, checkpointId, parentId, lostTo, batchIds });
    made.set(entryKey(record), consumed);
    if (namespace === reservedNamespaces.calls) await calls.add(record);
    else calls.ended(record, current);
    if (head !== undefined) heads.set(namespace, head);
  }
  if (entries.length === 0) return undefined;
  // The listing is newest first, with the namespaces mixed.
  const outline = parentsFirst(entries.reverse().toSorted(byNamespace));
  const children = childrenOnLine(outline, heads, made);
  const openCalls = await calls.told(saver, heads, callsOf(threadId, others));
  return { outline, heads, openCalls, calls, newestState, children };
}

function marksOf(batches: readonly StoredWriteBatch[]): readonly StoredWriteBatch[] {
  return batches.filter(({ taskId }) => rewindMark(taskId) !== undefined);
}

/** What a checkpoint was made from, and its batches. A damaged one is met when its values are read, and told then. */
async function openedOf({ coder }: TierSaver, { record, writes }: ListedCheckpoint) {
  try {
    const { consumed, stateVersion } = await coder.decodeBody(record);
    const open = async (batches: readonly StoredWriteBatch[]) =>
      await coder.writes.open(
        record,
        batches.filter(({ taskId }) => rewindMark(taskId) === undefined),
      );
    const opened = await open(writes);
    const current = currentWrites(writes);
    // What was wound back, a run makes again.
    return { consumed, stateVersion, opened, current: current === writes ? opened : await open(current) };
  } catch {
    return { consumed: undefined, stateVersion: 1, opened: [], current: [] };
  }
}

function byNamespace(a: OutlineEntry, b: OutlineEntry): number {
  return a.namespace === b.namespace ? 0 : a.namespace < b.namespace ? -1 : 1;
}

/**
 * One child of each checkpoint that has any, by the checkpoint's key: the one on the line to the head, otherwise the first. None of a
 * head, as a run goes on from what is pending there.
 */
function childrenOnLine(
  outline: readonly OutlineEntry[],
  heads: ReadonlyMap<string, string>,
  made: ReadonlyMap<string, Consumed>,
): ReadonlyMap<string, Child> {
  const children = new Map<string, Child>();
  const byKey = new Map(outline.map((entry) => [entryKey(entry), entry]));
  const met = new Set<string>();
  const lines = [...heads].flatMap(([namespace, checkpointId]) =>
    lineOf(byKey, byKey.get(entryKey({ namespace, checkpointId })), met),
  );
  for (const entry of [...lines, ...outline]) {
    const parent = parentKey(entry);
    if (parent === undefined || children.has(parent)) continue;
    children.set(parent, { checkpointId: entry.checkpointId, consumed: made.get(entryKey(entry)) });
  }
  for (const [namespace, checkpointId] of heads) children.delete(entryKey({ namespace, checkpointId }));
  return children;
}

/**
 * The batches whose writes are shown to formats that keep one list of writes for all children: those that the chosen child was made from.
 * What is pending beside these are questions and errors, which no child is made of.
 */
function counting(batches: readonly RevivedBatch[], child: Child | undefined): SourceBatch[] {
  const pending = pendingBatches(currentWrites(batches));
  const counted = new Set(
    child === undefined
      ? pending
      : [
          ...batchesOfChild(batches, child),
          ...pending.filter(({ writes }) => writes.every(({ index }) => index < 0)),
        ],
  );
  return batches.map((batch) => ({ ...batch, counts: counted.has(batch) }));
}

async function* checkpointsOf(
  { tier, coder }: TierSaver,
  threadId: string,
  outline: readonly OutlineEntry[],
  children: ReadonlyMap<string, Child>,
): AsyncGenerator<SourceCheckpoint> {
  for (const { namespace, checkpointId } of outline) {
    const at = { threadId, namespace, checkpointId };
    const { checkpoint: stored } = await tier.read(at);
    if (stored === undefined)
      throw new NotFoundError(
        `Thread ${JSON.stringify(threadId)}: checkpoint ${checkpointId} was removed while the thread was read. Repeat the call.`,
        at,
      );
    const { record } = stored;
    const body = await coder.decodeBody(record);
    const revived = await coder.writes.revived(record, stored.writes, stored.blobs);
    const batches = counting(revived, children.get(entryKey(record)));
    yield {
      namespace,
      checkpointId,
      parentId: record.parentId,
      checkpoint: await coder.checkpoint(stored, body, { remember: true }),
      metadata: await coder.metadata(record, body),
      writes: mergeWrites(batches.filter(({ counts }) => counts)),
      batches,
      consumed: body.consumed,
      terms: record.terms,
      stateVersion: body.stateVersion,
      lostTo: record.lostTo,
      runId: record.runId,
    };
  }
}
