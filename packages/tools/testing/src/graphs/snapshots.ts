import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { CheckpointListOptions } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";

/** The parts of a compiled graph that read state. */
export interface ReadableGraph {
  getState(config: RunnableConfig, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
  getStateHistory(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncIterableIterator<StateSnapshot>;
}

/** The checkpoint id in a config. Throws if there is none. */
export const idOf = (config: RunnableConfig | undefined): string => {
  const id: unknown = config?.configurable?.["checkpoint_id"];
  if (typeof id !== "string") throw new Error(`No checkpoint_id in ${JSON.stringify(config?.configurable)}`);
  return id;
};

/** Everything that `getStateHistory` yields, newest first. */
export const historyOf = async (
  graph: ReadableGraph,
  config: RunnableConfig,
  options?: CheckpointListOptions,
): Promise<StateSnapshot[]> => {
  const found: StateSnapshot[] = [];
  for await (const snapshot of graph.getStateHistory(config, options)) found.push(snapshot);
  return found;
};

/** A snapshot and its ancestors, newest first. Each ancestor is read by the parent id that its child names. */
export const chainOf = async (graph: ReadableGraph, config: RunnableConfig): Promise<StateSnapshot[]> => {
  const chain: StateSnapshot[] = [];
  let next: RunnableConfig | undefined = config;
  while (next !== undefined) {
    const snapshot: StateSnapshot = await graph.getState(next);
    if (chain.some((seen) => idOf(seen.config) === idOf(snapshot.config)))
      throw new Error("A chain in a circle");
    chain.push(snapshot);
    next = snapshot.parentConfig;
  }
  return chain;
};

/** Asserts that a whole history is one unbroken line, newest first, and returns its ids. */
export const expectUnbrokenHistory = (history: readonly StateSnapshot[]): string[] => {
  const ids = history.map((snapshot) => idOf(snapshot.config));
  expect(new Set(ids).size).toBe(ids.length);
  const parents = history.map((snapshot) => snapshot.parentConfig && idOf(snapshot.parentConfig));
  expect(parents).toEqual([...ids.slice(1), undefined]);
  return ids;
};

/** The questions that wait for an answer, of all tasks of a snapshot, in order. */
export const interruptValues = (snapshot: StateSnapshot): unknown[] =>
  snapshot.tasks.flatMap((task) => task.interrupts.map((interrupt): unknown => interrupt.value));

/** The ids of all interrupts that wait for an answer, in order. */
export const interruptIds = (snapshot: StateSnapshot): string[] =>
  snapshot.tasks.flatMap((task) =>
    task.interrupts.map((interrupt) => {
      if (interrupt.id === undefined) throw new Error("An interrupt without an id");
      return interrupt.id;
    }),
  );
