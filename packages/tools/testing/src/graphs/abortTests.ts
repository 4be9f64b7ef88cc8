import { setImmediate as turn } from "node:timers/promises";
import { Annotation, START, StateGraph, type StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { isAtLeast } from "../installedVersion.ts";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectUnbrokenHistory, historyOf, idOf } from "./snapshots.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Whether leaving a stream waits until its run has ended. In older versions, the run finished its step without any sign. */
const waitsForEnd = isAtLeast("@langchain/langgraph", "1.7.0");

/** The state of a thread after its run was abandoned. In older versions, waits until the state hasn't changed for a while. */
async function stillState(read: () => Promise<StateSnapshot>): Promise<StateSnapshot> {
  let state = await read();
  for (let still = waitsForEnd ? 4 : 0; still < 4; still++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = await read();
    if (idOf(now.config) !== idOf(state.config)) still = -1;
    state = now;
  }
  return state;
}

/** Three steps; the second calls `inSecond` before it ends. */
const graphOf = (
  checkpointer: BaseCheckpointSaver,
  calls: Calls,
  inSecond: () => Promise<void> = async () => {},
) =>
  new StateGraph(State)
    .addNode("a", () => (calls.add("a"), { log: ["a"] }))
    .addNode("b", async () => {
      calls.add("b");
      await inSecond();
      return { log: ["b"] };
    })
    .addNode("c", () => (calls.add("c"), { log: ["c"] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer });

/** Runs that are aborted or abandoned half-way. */
export const abortTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  test("an aborted run continues from the step that was running", async () => {
    const calls = new Calls();
    const config = thread();
    const controller = new AbortController();
    let goOn = (): void => undefined;
    const hang = (): Promise<void> => {
      controller.abort(new Error("given up"));
      return new Promise((resolve) => (goOn = resolve));
    };
    const run = graphOf(saver(), calls, hang).invoke(
      {},
      { ...config, durability: "sync", signal: controller.signal },
    );
    await expect(run).rejects.toThrow();
    // The step goes on, and has a result that nobody waits for.
    goOn();
    await turn();
    const graph = graphOf(await reopen(), calls);
    const stopped = await graph.getState(config);
    expect([stopped.values, stopped.next]).toEqual([{ log: ["a"] }, ["b"]]);
    expect(await graph.invoke(null, config)).toEqual({ log: ["a", "b", "c"] });
    expect(calls.count("a")).toBe(1);
    expectUnbrokenHistory(await historyOf(graph, config));
  });

  test("a run whose stream was abandoned can be continued", async () => {
    const calls = new Calls();
    const config = thread();
    for await (const update of await graphOf(saver(), calls).stream(
      {},
      { ...config, durability: "sync", streamMode: "updates" },
    )) {
      expect(update).toEqual({ a: { log: ["a"] } });
      break;
    }
    const graph = graphOf(await reopen(), calls);
    const stopped = await stillState(() => graph.getState(config));
    const log = (stopped.values as { log: string[] }).log;
    expect(["a", "b", "c"].slice(0, log.length)).toEqual(log);
    expect(log.length).toBeGreaterThan(0);
    await graph.invoke(null, config);
    expect((await graphOf(await reopen(), calls).getState(config)).values).toEqual({ log: ["a", "b", "c"] });
    expectUnbrokenHistory(await historyOf(graph, config));
  });

  test("an aborted listing leaves the saver usable", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls).invoke({}, config);
    const storage = await reopen();
    for (let round = 0; round < 30; round++) {
      const listing = storage.list(config);
      const first = await listing.next();
      expect(first.done).toBe(false);
      await listing.return(undefined);
    }
    const throwing = async (): Promise<void> => {
      for await (const tuple of storage.list(config)) throw new Error(`stop at ${tuple.metadata?.step}`);
    };
    await expect(throwing()).rejects.toThrow("stop at 3");
    expect((await graphOf(storage, calls).getState(config)).values).toEqual({ log: ["a", "b", "c"] });
  });
};
