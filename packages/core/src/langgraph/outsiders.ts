import { uuid5 } from "@langchain/langgraph-checkpoint";

/**
 * Ids under which LangGraph writes to a checkpoint what none of its tasks wrote: input, and updateState.
 * @param updates most updates that were made at once: from LangGraph 1.5 on they are numbered
 */
export function outsiders(checkpointId: string, updates: number): Set<string> {
  const named = ["__input__", "__interrupt__"];
  // Updates made at once are numbered.
  for (let n = 1; n < updates; n += 1) named.push(`__interrupt__:${n}`);
  return new Set(named.map((name) => uuidOf(name, checkpointId)));
}

/** As LangGraph makes it; a checkpoint id that is no UUID was made by none of its graphs, and nor were such tasks. */
function uuidOf(name: string, checkpointId: string): string {
  try {
    return uuid5(name, checkpointId);
  } catch {
    return "";
  }
}
