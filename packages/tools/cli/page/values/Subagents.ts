import { createContext } from "preact";
import { useMemo } from "preact/hooks";
import { call } from "../api/client.ts";
import { useResource } from "../api/resource.ts";
import type { OutputOf } from "../../src/operations/index.ts";

/** A subagent or another subgraph of a thread. */
export type Subagent = OutputOf<"subagents">["items"][number] & { readonly thread: string };

/** How many of a thread's subagents the page knows at most: those written last. */
const mostKnown = 200;

/** The subagents of the thread that is shown, by the ids of the tool calls that they were run for. */
export const Subagents = createContext<ReadonlyMap<string, Subagent>>(new Map());

/** Loads the subagents of a thread. @param version changes where there may be more of them */
export function useSubagents(thread: string, version = ""): readonly Subagent[] {
  const { data } = useResource(JSON.stringify(["subagents", thread, version]), (signal) =>
    call("subagents", { thread, limit: mostKnown }, { signal }),
  );
  return useMemo(() => (data?.items ?? []).map((each) => ({ ...each, thread })), [data, thread]);
}

/** Subagents by the ids of their calls. */
export function byCall(found: readonly Subagent[]): ReadonlyMap<string, Subagent> {
  return new Map(found.flatMap((each) => (each.call?.id === undefined ? [] : [[each.call.id, each]])));
}
