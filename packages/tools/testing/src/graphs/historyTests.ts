import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext, ThreadConfig } from "./context.ts";
import { expectUnbrokenHistory, historyOf, idOf } from "./snapshots.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const graphOf = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("reply", (s) => ({ log: [`reply ${s.log.length}`] }))
    .addEdge(START, "reply")
    .compile({ checkpointer });

const TURNS = 24;

const logOf = (snapshot: StateSnapshot | undefined): string[] => {
  const values = snapshot?.values as { log: string[] } | undefined;
  return values?.log ?? [];
};

/** Paging and filtering the history of a long thread. */
export const historyTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  let longThread: ThreadConfig | undefined;
  /** A thread of these turns with three checkpoints each. It is made once, and then only read. */
  const longConfig = async (): Promise<ThreadConfig> => {
    if (longThread !== undefined) return longThread;
    const config = thread();
    const graph = graphOf(saver());
    for (let turn = 0; turn < TURNS; turn++) {
      await graph.invoke({ log: [`turn ${turn}`] }, config);
    }
    longThread = config;
    return config;
  };

  test("24 turns make one line of 72 checkpoints", async () => {
    const config = await longConfig();
    const graph = graphOf(await reopen());
    const history = await historyOf(graph, config);
    expect(history.length).toBe(TURNS * 3);
    expectUnbrokenHistory(history);
    expect(history.map((s) => s.metadata?.step)).toEqual(
      Array.from({ length: TURNS * 3 }, (_, index) => TURNS * 3 - 2 - index),
    );
    const lengths = history.map((s) => logOf(s).length);
    expect(lengths).toEqual(
      Array.from({ length: TURNS }, (_, index) => [
        2 * (TURNS - index),
        2 * (TURNS - index) - 1,
        2 * (TURNS - index) - 2,
      ]).flat(),
    );
    const newest = logOf(history[0]);
    expect(newest.slice(0, 4)).toEqual(["turn 0", "reply 1", "turn 1", "reply 3"]);
    for (const snapshot of history) {
      const log = logOf(snapshot);
      expect(log).toEqual(newest.slice(0, log.length));
    }
  });

  test("pages of seven by before and limit join to the whole history", async () => {
    const config = await longConfig();
    const graph = graphOf(await reopen());
    const whole = await historyOf(graph, config);
    const paged: StateSnapshot[] = [];
    for (;;) {
      const last = paged.at(-1);
      const page = await historyOf(graph, config, {
        limit: 7,
        ...(last === undefined ? {} : { before: last.config }),
      });
      expect(page.length).toBe(Math.min(7, whole.length - paged.length));
      if (page.length === 0) break;
      paged.push(...page);
    }
    expect(paged).toEqual(whole);
  });

  test("a filter on metadata gives only what matches, also in pages", async () => {
    const config = await longConfig();
    const graph = graphOf(await reopen());
    const inputs = await historyOf(graph, config, { filter: { source: "input" } });
    expect(inputs.length).toBe(TURNS);
    expect(inputs.every((s) => s.metadata?.source === "input" && s.next[0] === "__start__")).toBe(true);
    const step = await historyOf(graph, config, { filter: { step: 10 } });
    expect(step.map((s) => [s.metadata?.source, logOf(s).length])).toEqual([["loop", 8]]);
    const loops = { filter: { source: "loop" } };
    const all = await historyOf(graph, config, loops);
    expect(all.length).toBe(2 * TURNS);
    const first = await historyOf(graph, config, { ...loops, limit: 25 });
    const rest = await historyOf(graph, config, { ...loops, before: first[24]?.config ?? {} });
    expect([first.length, rest.length]).toEqual([25, 2 * TURNS - 25]);
    expect([...first, ...rest].map((s) => idOf(s.config))).toEqual(all.map((s) => idOf(s.config)));
    expect(await historyOf(graph, config, { filter: { source: "loop", step: -1 } })).toEqual([]);
    expect(await historyOf(graph, config, { filter: { nothing: "like it" } })).toEqual([]);
  });

  test("history from an old checkpoint's config gives that checkpoint", async () => {
    const config = await longConfig();
    const graph = graphOf(await reopen());
    const [, , third] = await historyOf(graph, config, { limit: 3 });
    const found = await historyOf(graph, third?.config ?? {});
    expect(found).toEqual([third]);
  });

  test("a reader may stop after the first", async () => {
    const config = await longConfig();
    const graph = graphOf(await reopen());
    for (let round = 0; round < 30; round++) {
      for await (const snapshot of graph.getStateHistory(config)) {
        expect(snapshot.metadata?.step).toBe(TURNS * 3 - 2);
        break;
      }
    }
    // The connection or cursor of the reader that stopped must have been released.
    expect((await historyOf(graph, config, { limit: 2 })).length).toBe(2);
  });
};
