import { NotFoundError, type TierSaver } from "@stratigraph/core";
import { isReserved } from "@stratigraph/core/tier";
import { ownThreads } from "../copy/ownThreads.ts";
import { entryKey, lastOfEach, lineOf, parentKey, parentsFirst } from "../contract/outline.ts";
import type {
  OutlineEntry,
  Plan,
  SourceCheckpoint,
  SourceThread,
  SourceSelection,
  ThreadSource,
} from "../contract/source.ts";

interface OwnEntry extends OutlineEntry {
  readonly lostTo: string | undefined;
}

/** A thread of a Stratigraph storage, with more information than those of other sources. */
export interface OwnThread extends SourceThread {
  readonly outline: readonly OwnEntry[];
}

/** A Stratigraph storage as a source. Closing it doesn't close the saver. */
export function tierSource(saver: TierSaver): ThreadSource {
  return {
    name: saver.tier.name,
    plan: () => planOf(saver),
    threads: (selection) => threadsOf(saver, selection),
    thread: (threadId) => threadOf(saver, threadId),
    close: async () => undefined,
  };
}

async function planOf({ tier }: TierSaver): Promise<Plan> {
  return { threads: (await ownThreads(tier)).length };
}

async function* threadsOf(saver: TierSaver, selection?: SourceSelection): AsyncGenerator<SourceThread> {
  for (const threadId of await ownThreads(saver.tier, selection)) {
    const thread = await threadOf(saver, threadId);
    if (thread !== undefined) yield thread;
  }
}

async function threadOf(saver: TierSaver, threadId: string): Promise<OwnThread | undefined> {
  const entries: OwnEntry[] = [];
  const heads = new Map<string, string>();
  for await (const { record, head } of saver.tier.list({ threadId, recordsOnly: true })) {
    const { namespace, checkpointId, parentId, lostTo } = record;
    if (isReserved(namespace)) continue;
    entries.push({ namespace, checkpointId, parentId, lostTo });
    if (head !== undefined) heads.set(namespace, head);
  }
  if (entries.length === 0) return undefined;
  // The listing is newest first, with the namespaces mixed.
  const outline = parentsFirst(entries.reverse().toSorted(byNamespace));
  return {
    threadId,
    outline,
    heads: heads.size > 0 ? heads : lastOfEach(outline),
    mixedUp: [],
    checkpoints: () => checkpointsOf(saver, threadId, outline, childrenOnLine(outline, heads)),
    close: async () => undefined,
  };
}

function byNamespace(a: OutlineEntry, b: OutlineEntry): number {
  return a.namespace === b.namespace ? 0 : a.namespace < b.namespace ? -1 : 1;
}

/** One child of each checkpoint that has any, by the checkpoint's key: the one on the line to the head, otherwise the first. */
function childrenOnLine(
  outline: readonly OutlineEntry[],
  heads: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const children = new Map<string, string>();
  const byKey = new Map(outline.map((entry) => [entryKey(entry), entry]));
  const met = new Set<string>();
  const lines = [...heads].flatMap(([namespace, checkpointId]) =>
    lineOf(byKey, byKey.get(entryKey({ namespace, checkpointId })), met),
  );
  for (const entry of [...lines, ...outline]) {
    const parent = parentKey(entry);
    if (parent !== undefined && !children.has(parent)) children.set(parent, entry.checkpointId);
  }
  return children;
}

async function* checkpointsOf(
  { tier, coder }: TierSaver,
  threadId: string,
  outline: readonly OutlineEntry[],
  children: ReadonlyMap<string, string>,
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
    yield {
      namespace,
      checkpointId,
      parentId: record.parentId,
      checkpoint: await coder.checkpoint(stored, body, { remember: true }),
      metadata: await coder.metadata(record, body),
      writes: await coder.writes.forCopy(record, stored.writes, stored.blobs, async () => {
        const child = children.get(entryKey(record));
        const { checkpoint } =
          child === undefined ? {} : await tier.read({ threadId, namespace, checkpointId: child });
        return checkpoint && (await coder.decodeBody(checkpoint.record));
      }),
      stateVersion: body.stateVersion,
      lostTo: record.lostTo,
      runId: record.runId,
    };
  }
}
