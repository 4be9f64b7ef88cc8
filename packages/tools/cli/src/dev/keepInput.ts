import type { ApiRun } from "./internals.ts";
import type { LoadedApi } from "./langgraphApi.ts";
import type { StoredThreads } from "./storedThreads.ts";

/**
 * Puts what a stopped run was given into its thread, if it isn't there yet: a checkpoint that only holds an input is passed over by the next
 * input, and the message would be gone. No node begins.
 */
export async function keepInput(
  { getGraph }: LoadedApi,
  stored: StoredThreads,
  { run_id, thread_id, kwargs }: ApiRun,
): Promise<void> {
  const { input, command, config, context, temporary } = kwargs ?? {};
  const graphId = config?.configurable?.["graph_id"];
  // An answer to a question, and a run that goes on, bring nothing that the thread lacks.
  if (input === undefined || input === null || (command !== undefined && command !== null)) return;
  if (temporary === true || typeof graphId !== "string") return;
  const graph = await getGraph(graphId, config, { accessContext: "threads.create_run", context });
  const newest = await stored.newestOf(thread_id, run_id);
  const isStored = newest !== undefined;
  if (isStored) {
    const { next, config: at } = await graph.getState({ configurable: { thread_id } });
    if (next[0] !== "__start__" || at.configurable?.["checkpoint_id"] !== newest) return;
  }
  // The checkpoint that the run was to begin from is behind what it stored.
  const {
    checkpoint_id: _id,
    checkpoint_ns: _ns,
    checkpoint_map: _map,
    ...head
  } = config?.configurable ?? {};
  await graph.invoke(isStored ? null : input, {
    context,
    metadata: config?.metadata,
    callbacks: [],
    interruptBefore: "*",
    configurable: isStored ? head : config?.configurable,
  });
}
