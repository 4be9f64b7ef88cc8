import { edit, forkMany, type Fork, type ForkOptions } from "@stratigraph/branch";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import type { Address } from "@stratigraph/core/tier";
import { dueNodesOf } from "../read/nextNodes.ts";
import { rehearsal } from "../run/rehearse.ts";
import type { RunnableGraph } from "../run/runnableGraph.ts";
import { State } from "../values/state.ts";
import type { Complete } from "./complete.ts";

/** Describes forks that are to be made. */
export interface WantedFork {
  readonly point: Address;
  /** Ids of the new threads, or how many to make; "what-if": one thread, named after its source. */
  readonly to: readonly string[] | number | "what-if";
  readonly options: Omit<Complete<ForkOptions>, "to" | "message">;
  /** New values of channels, set without their reducers. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The node that counts as their writer: the nodes after it run next. */
  readonly as: { readonly node: string; readonly graph: RunnableGraph } | undefined;
}

/** Makes forks, and edits them. If an edit fails, all forks are deleted again. @throws as `forkMany`, `edit`; what `updateState` throws */
export async function editedForks(saver: TierSaver, wanted: WantedFork): Promise<Fork[]> {
  const forks = await namedForks(saver, wanted);
  try {
    for (const { threadId } of forks) await change(saver, threadId, wanted);
    return forks;
  } catch (error) {
    for (const { threadId } of forks) await saver.deleteThread(threadId).catch(() => undefined);
    throw error;
  }
}

/** The nodes that would run next in such a fork. If `as` is given, this is tried on a copy in memory. */
export async function nextInFork(saver: TierSaver, wanted: WantedFork): Promise<string[]> {
  const { point, as } = wanted;
  if (as === undefined) return await dueNodesOf(await State.read(saver, point));
  const { head } = await saver.tier.peek(point);
  const copy = await rehearsal(as.graph, saver, point, head === point.checkpointId);
  await change(copy.saver, copy.threadId, { ...wanted, as: { ...as, graph: copy.graph } });
  return [...(await copy.graph.getState(configOf(copy.threadId))).next];
}

/** The nodes that run next in a fork that was made. */
export async function nextOf(saver: TierSaver, threadId: string): Promise<string[]> {
  return await dueNodesOf(await State.read(saver, { threadId }));
}

/** The first free name that is made from the source's id, such as ada/what-if-1. A what-if of a what-if is named after the same source. */
export async function freeName(saver: TierSaver, threadId: string): Promise<string> {
  const source = threadId.replace(/\/what-if-\d+$/, "");
  for (let n = 1; ; n += 1) {
    const name = `${source}/what-if-${n}`;
    if ((await saver.tier.peek({ threadId: name, namespace: "" })).head === undefined) return name;
  }
}

async function namedForks(saver: TierSaver, { point, to, options }: WantedFork): Promise<Fork[]> {
  if (to !== "what-if") return await forkMany(saver, point, to, options);
  for (;;) {
    const name = await freeName(saver, point.threadId);
    try {
      return await forkMany(saver, point, [name], options);
    } catch (error) {
      // Somebody else took the name meanwhile: the next one is free.
      if (!StratigraphError.is(error, "THREAD_EXISTS")) throw error;
    }
  }
}

async function change(saver: TierSaver, threadId: string, { values, as }: WantedFork): Promise<void> {
  if (Object.keys(values).length > 0) await edit(saver, threadId, values);
  // The values are set already, without the reducers, so the node writes nothing more.
  if (as !== undefined) await as.graph.updateState(configOf(threadId), {}, as.node);
}

function configOf(threadId: string) {
  return { configurable: { thread_id: threadId } };
}
