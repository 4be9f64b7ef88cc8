import type { TierSaver, TierStore } from "@stratigraph/core";
import { StratigraphError } from "@stratigraph/core";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { GraphStorage } from "./internals.ts";
import { removeRun } from "./removeRun.ts";
import type { RunsUnderWay } from "./runsUnderWay.ts";

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

/** What the server's storages do in the place of LangGraph's: nothing is read from files, or written to them later. */
const opening: Methods = {
  initialize: () => Promise.resolve({ flush: () => Promise.resolve() }),
};

/** Copies and deletions that the server began without waiting for them. */
export class Unawaited {
  readonly #changes = new Map<string, Promise<unknown>>();

  /** Keeps a change of a thread or run, until somebody waits for it. */
  began(id: string, change: Promise<unknown>): void {
    // Whoever waits learns of the error.
    change.catch(() => undefined);
    this.#changes.set(id, change);
  }

  /** Waits for the change of a thread or run. */
  async ended(id: string): Promise<void> {
    const change = this.#changes.get(id);
    this.#changes.delete(id);
    await change;
  }
}

/**
 * Lets the server's checkpointer be ours. The server hands this very object to every graph, so its methods are replaced: all of the saver's, and
 * those that the server alone calls. Checkpoints have the graph's name and the metadata of the run, as LangGraph's own server stores them, and
 * threads have the tag `graph_id`.
 */
export function useSaver(
  checkpointer: GraphStorage,
  saver: TierSaver,
  unawaited: Unawaited,
  runs: RunsUnderWay,
  written: (threadId: string) => void,
): void {
  const tag = tagger(saver);
  const deleted = async (threadId: string): Promise<void> => {
    const closed = runs.close(runs.of(threadId));
    await runs.changing(threadId, async () => {
      await closed;
      await saver.deleteThread(threadId);
      tag.forget(threadId);
    });
  };
  replace(checkpointer, saver, {
    ...opening,
    getTuple: (config: RunnableConfig) => runs.call(config, () => saver.getTuple(config)),
    put: (
      config: RunnableConfig,
      checkpoint: Parameters<TierSaver["put"]>[1],
      metadata: CheckpointMetadata,
      newVersions: Parameters<TierSaver["put"]>[3],
    ) =>
      runs.call(config, async () => {
        const stored = await saver.put(
          config,
          checkpoint,
          { ...runMetadata(config), ...metadata } as CheckpointMetadata,
          newVersions,
        );
        written(stored.configurable!["thread_id"] as string);
        await tag(config);
        return stored;
      }),
    putWrites: (...args: Parameters<TierSaver["putWrites"]>) =>
      runs.call(args[0], () => saver.putWrites(...args)),
    delete: (threadId: string, runId: string | null) => {
      if (runId === null || runId === undefined) unawaited.began(threadId, deleted(threadId));
      else unawaited.began(runId, closed(saver, runs, threadId, runId));
    },
    copy: (from: string, to: string) => unawaited.began(to, copy(saver, from, to)),
    clear: refuseClear,
  });
}

/** Lets the server's store be ours. */
export function useStore(store: GraphStorage, ours: TierStore): void {
  replace(store, ours, { ...opening, clear: refuseClear });
}

/** @throws StratigraphError always: a storage that others may use isn't emptied by a request */
export function refuseClear(): never {
  throw new StratigraphError(
    "ACCESS_DENIED",
    "The server doesn't empty a storage that others may use. Delete threads by their ids, or with stratigraph delete.",
    { operation: "truncate" },
  );
}

/** Gives an object all methods and properties of another one, and some of its own. */
function replace(object: GraphStorage, by: object, own: Methods): void {
  for (const name of Object.keys(object)) delete (object as Record<string, unknown>)[name];
  const names = new Set<string>();
  for (let each: object = by; each !== Object.prototype; each = Object.getPrototypeOf(each) as object)
    for (const name of Object.getOwnPropertyNames(each)) names.add(name);
  names.delete("constructor");
  for (const name of names)
    Object.defineProperty(object, name, {
      configurable: true,
      get: () => {
        const value = (by as Record<string, unknown>)[name];
        return typeof value === "function" ? (value.bind(by) as unknown) : value;
      },
      // The server gives itself and graphs what they have already.
      set() {},
    });
  for (const [name, value] of Object.entries(own))
    Object.defineProperty(object, name, { configurable: true, writable: true, value });
}

/** Removes what a run stored. One that is under way stores nothing afterwards. */
async function closed(saver: TierSaver, runs: RunsUnderWay, threadId: string, runId: string): Promise<void> {
  await runs.close([runId]);
  await removeRun(saver, threadId, runId);
}

async function copy(saver: TierSaver, from: string, to: string): Promise<void> {
  const { head } = await saver.tier.peek({ threadId: from, namespace: "" });
  // A thread that was never run has nothing to copy.
  if (head !== undefined) await saver.copyThread(from, to);
}

/** Metadata that LangGraph and its server add to each run, and that says nothing of the thread. */
const ofEveryRun =
  /^(?:__|langgraph_|ls_|LANGSMITH_|checkpoint_|stratigraph:|(?:thread_id|run_id|run_attempt|revision_id)$)/;

/** What is stored with each checkpoint of a run besides its graph: the assistant, and what clients said of thread and run. */
function runMetadata({ configurable, metadata }: RunnableConfig): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(metadata ?? {}))
    if (!ofEveryRun.test(name) && ["string", "number", "boolean"].includes(typeof value)) found[name] = value;
  const assistant: unknown = configurable?.["assistant_id"];
  return typeof assistant === "string" ? { ...found, assistant_id: assistant } : found;
}

/** Tags threads with their graph, once in this process. */
function tagger(saver: TierSaver): {
  (config: RunnableConfig): Promise<void>;
  forget(threadId: string): void;
} {
  const tagged = new Map<string, unknown>();
  const tag = async ({ configurable }: RunnableConfig): Promise<void> => {
    const { thread_id: threadId, graph_id: graph } = (configurable ?? {}) as Record<string, unknown>;
    if (typeof threadId !== "string" || typeof graph !== "string" || tagged.get(threadId) === graph) return;
    try {
      await saver.tagThread(threadId, { graph_id: graph });
      tagged.set(threadId, graph);
    } catch (error) {
      // The thread was deleted meanwhile, or the storage keeps no tags.
      if (!StratigraphError.is(error, "NOT_FOUND") && !StratigraphError.is(error, "INVALID_OPTION"))
        throw error;
    }
  };
  return Object.assign(tag, { forget: (threadId: string) => void tagged.delete(threadId) });
}
