import { MemorySaver, type BaseCheckpointSaver, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import { entryKey, parentsFirst } from "../contract/outline.ts";
import { isOurs } from "../copy/checkArguments.ts";
import { Digests } from "../copy/digest.ts";
import { readAt } from "./decode.ts";
import { tierSource } from "./tierSource.ts";
import { isOfDriver, sourceError, throughSaver } from "./sourceError.ts";
import type {
  OutlineEntry,
  Plan,
  SourceCheckpoint,
  SourceThread,
  SourceWrite,
  SourceSelection,
  ThreadSource,
} from "../contract/source.ts";

/** The limit that is passed to `list`. Without one, some savers return only ten. */
const limit = 1_000_000;

/**
 * Makes a source of any saver. One of Stratigraph is read whole: with its calls, events, tags, and what each checkpoint was made from. Others
 * are read with their public methods only: `list` returns the checkpoints, `getTuple` their contents. For the official savers, reading
 * their storage directly is safer, as `openSource` does: some of their lists leave things out. Closing the source doesn't close the saver.
 */
export function saverSource(saver: BaseCheckpointSaver): ThreadSource {
  if (isOurs(saver)) return ownSource(saver);
  const counted = new Map<string, number>();
  const count = async (): Promise<ReadonlyMap<string, number>> => {
    if (counted.size === 0)
      for (const [threadId, entries] of await listed(saver, {})) counted.set(threadId, entries.length);
    return counted;
  };
  return {
    name: saver.constructor.name,
    plan: async (): Promise<Plan> => {
      const counts = [...(await count()).values()];
      return { threads: counts.length, checkpoints: counts.reduce((sum, each) => sum + each, 0) };
    },
    threads: (selection) => threadsOf(saver, count, selection),
    thread: (threadId) => threadOf(saver, threadId),
    close: async () => undefined,
  };
}

function ownSource(saver: TierSaver): ThreadSource {
  const source = tierSource(saver);
  return {
    ...source,
    name: saver.constructor.name,
    thread: async (threadId) => {
      const thread = await source.thread!(threadId);
      if (thread !== undefined) return thread;
      // The saver may itself bring a thread from elsewhere at its first read.
      const tuple = await saver.getTuple({ configurable: { thread_id: threadId } });
      return tuple === undefined ? undefined : await source.thread!(threadId);
    },
  };
}

async function* threadsOf(
  saver: BaseCheckpointSaver,
  count: () => Promise<ReadonlyMap<string, number>>,
  { threadIds, after }: SourceSelection = {},
): AsyncGenerator<SourceThread> {
  if (threadIds !== undefined) {
    for (const threadId of threadIds) {
      const thread = await threadOf(saver, threadId);
      if (thread !== undefined) yield thread;
    }
    return;
  }
  const counts = await count();
  for (const threadId of [...counts.keys()].sort()) {
    if (after !== undefined && threadId <= after) continue;
    const thread = await threadOf(saver, threadId);
    const found = thread?.outline.length ?? 0;
    // If there are more, the thread has continued. If there are fewer, the list leaves things out.
    if (found < counts.get(threadId)!)
      throw leavesOut(
        saver,
        `${counts.get(threadId)} checkpoints of thread ${JSON.stringify(threadId)}, and then ${found}`,
      );
    yield thread!;
  }
}

async function threadOf(saver: BaseCheckpointSaver, threadId: string): Promise<SourceThread | undefined> {
  const entries = (await listed(saver, { thread_id: threadId })).get(threadId);
  if (entries === undefined) return undefined;
  const outline = parentsFirst(entries);
  const heads = await headsOf(saver, threadId, outline);
  /** For each checkpoint, the pending writes that were read. Nothing else of a checkpoint ever changes. */
  const read = new Map<string, string>();
  const digests = new Digests();
  return {
    threadId,
    outline,
    heads,
    mixedUp: [],
    checkpoints: async function* () {
      for await (const each of checkpointsOf(saver, threadId, outline)) {
        read.set(entryKey(each), await writesDigest(digests, each));
        yield each;
      }
    },
    isUnchanged: async () => {
      const now = (await listed(saver, { thread_id: threadId })).get(threadId) ?? [];
      if (JSON.stringify(now) !== JSON.stringify(entries)) return false;
      for await (const each of checkpointsOf(saver, threadId, outline))
        if (read.get(entryKey(each)) !== (await writesDigest(digests, each))) return false;
      const headsNow = await headsOf(saver, threadId, outline);
      return [...heads].every(([namespace, head]) => headsNow.get(namespace) === head);
    },
    close: async () => undefined,
  };
}

async function headsOf(
  saver: BaseCheckpointSaver,
  threadId: string,
  outline: readonly OutlineEntry[],
): Promise<Map<string, string>> {
  const heads = new Map<string, string>();
  for (const checkpoint_ns of new Set(outline.map(({ namespace }) => namespace))) {
    const head = await tupleOf(saver, { thread_id: threadId, checkpoint_ns });
    if (head !== undefined) heads.set(checkpoint_ns, idsIn(head).checkpointId);
  }
  return heads;
}

async function writesDigest(digests: Digests, each: SourceCheckpoint): Promise<string> {
  return JSON.stringify((await digests.of(each)).writes);
}

/** The checkpoints that `list` returns, by thread, oldest first. */
async function listed(
  saver: BaseCheckpointSaver,
  configurable: Record<string, unknown>,
): Promise<Map<string, OutlineEntry[]>> {
  const threads = new Map<string, Map<string, OutlineEntry>>();
  let count = 0;
  try {
    for await (const tuple of saver.list({ configurable }, { limit })) {
      count += 1;
      const { threadId, ...entry } = idsIn(tuple);
      const entries = threads.get(threadId) ?? new Map<string, OutlineEntry>();
      threads.set(threadId, entries.set(entryKey(entry), entry));
    }
  } catch (error) {
    throw isOfDriver(error) ? sourceError(saver.constructor.name, error) : unlistable(saver, error);
  }
  if (count >= limit)
    throw leavesOut(saver, `${count} checkpoints, which is the limit that it was asked for`);
  return new Map([...threads].map(([threadId, entries]) => [threadId, [...entries.values()].sort(byId)]));
}

function byId(a: OutlineEntry, b: OutlineEntry): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.checkpointId < b.checkpointId ? -1 : 1;
}

function idsIn({ config, parentConfig }: CheckpointTuple): OutlineEntry & { readonly threadId: string } {
  const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable as Record<string, string>;
  return {
    threadId: thread_id!,
    namespace: checkpoint_ns ?? "",
    checkpointId: checkpoint_id!,
    parentId: parentConfig?.configurable?.["checkpoint_id"] as string | undefined,
  };
}

async function* checkpointsOf(
  saver: BaseCheckpointSaver,
  threadId: string,
  outline: readonly OutlineEntry[],
): AsyncGenerator<SourceCheckpoint> {
  const { name } = saver.constructor;
  for (const entry of outline)
    yield await readAt(name, threadId, entry, async () => {
      const ids = { thread_id: threadId, checkpoint_ns: entry.namespace, checkpoint_id: entry.checkpointId };
      const tuple = await tupleOf(saver, ids);
      if (tuple === undefined) {
        const message = `Thread ${JSON.stringify(threadId)}: the source lists checkpoint ${entry.checkpointId}, but doesn't have it any more. Repeat the call.`;
        throw new NotFoundError(message, { threadId, ...entry });
      }
      const { checkpoint, metadata = noMetadata } = tuple;
      return { ...entry, checkpoint, metadata, writes: writesIn(saver, threadId, entry, tuple) };
    });
}

/**
 * A checkpoint's pending writes. The saver returns them in the order in which they are applied. Copies keep this order by the paths of
 * the tasks, but only LangGraph's MemorySaver shows these. For other savers, a path that gives the order is made up.
 */
function writesIn(
  saver: BaseCheckpointSaver,
  threadId: string,
  { namespace, checkpointId }: OutlineEntry,
  { pendingWrites = [] }: CheckpointTuple,
): SourceWrite[] {
  const key = JSON.stringify([threadId, namespace, checkpointId]);
  const stored = saver instanceof MemorySaver ? Object.values(saver.writes[key] ?? {}) : [];
  // LangGraph before 1.5 doesn't keep paths.
  const paths = new Map(
    stored.map(([taskId, , , ...path]: readonly unknown[]) => [taskId, String(path[0] ?? "")]),
  );
  const tasks = [...new Set(pendingWrites.map(([taskId]) => taskId))];
  const places = tasks.map((taskId) => `${paths.get(taskId) ?? ""}\0${taskId}`);
  const isOrdered = places.every((place, n) => n === 0 || places[n - 1]! < place);
  if (!isOrdered) for (const [n, taskId] of tasks.entries()) paths.set(taskId, String(n).padStart(6, "0"));
  return pendingWrites.map(([taskId, channel, value]) => {
    const taskPath = paths.get(taskId);
    return { taskId, channel, value, ...(taskPath === undefined ? {} : { taskPath }) };
  });
}

async function tupleOf(
  saver: BaseCheckpointSaver,
  configurable: Record<string, string>,
): Promise<CheckpointTuple | undefined> {
  return await throughSaver(saver, () => saver.getTuple({ configurable }));
}

const noMetadata = { source: "update", step: 0, parents: {} } as const;

function unlistable(saver: BaseCheckpointSaver, cause: unknown): StratigraphError {
  if (StratigraphError.is(cause)) return cause;
  const name = saver.constructor.name;
  const why = messageOf(cause);
  const message =
    `${name} can't list its checkpoints: ${why.replace(/\.$/, "")}. A checkpoint that it can't decode ends its list. Read its storage ` +
    `directly, with openSource(url), which tells which checkpoint it is.`;
  return new StratigraphError("CORRUPT", message, { source: name }, cause);
}

function leavesOut(saver: BaseCheckpointSaver, what: string): StratigraphError {
  const name = saver.constructor.name;
  const message =
    `${name} listed ${what}: its list can't be trusted to name everything, so nothing of it was copied. ` +
    `Pass the ids of the threads (threadIds), or read its storage directly, with openSource(url).`;
  return new StratigraphError("MISCONFIGURED", message, { source: name });
}
