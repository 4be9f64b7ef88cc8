import { Annotation, Command, DeltaChannel, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { MemoryTier, StratigraphError, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { withoutFastPaths } from "../contract/support.ts";
import { configOf, day, fill, later, put, stepsOf } from "./support.ts";

function opened(options: SaverOptions = {}): { tier: FaultyTier; saver: TierSaver } {
  const tier = new FaultyTier(new MemoryTier());
  return { tier, saver: new TierSaver(tier, { pause: "0ms", ...options }) };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("deleteAfter", () => {
  test("threads not written for so long are deleted, others stay", async () => {
    const { saver, tier } = opened({ deleteAfter: "90d" });
    await fill(saver, "idle", 3);
    later(60 * day);
    await fill(saver, "used", 3);
    expect((await saver.maintain()).steps).toEqual([]);
    later(31 * day);
    const planned = { what: "delete", threadId: "idle", done: false };
    expect((await saver.maintain({ dryRun: true })).steps).toEqual([planned]);
    expect(tier.count("deleteUnchanged")).toBe(0);
    expect(await saver.maintain()).toEqual({ ran: true, bytes: 0, steps: [{ ...planned, done: true }] });
    expect([await stepsOf(saver, "idle"), await stepsOf(saver, "used")]).toEqual([[], [3, 2, 1]]);
    expect(await tier.blobs("idle")).toEqual([]);
    expect((await saver.maintain()).steps).toEqual([]);
  });

  test("a thread that is written to between the decision and the deletion stays, whole", async () => {
    const { saver, tier } = opened({ deleteAfter: "90d" });
    await fill(saver, "t", 3);
    later(100 * day);
    const hold = tier.hold("deleteUnchanged");
    const maintaining = saver.maintain();
    await hold.reached;
    await put(saver, "t", 4);
    hold.release();
    expect((await maintaining).steps).toEqual([{ what: "delete", threadId: "t", done: false }]);
    expect(await stepsOf(saver, "t")).toEqual([4, 3, 2, 1]);
    expect((await saver.maintain()).steps).toEqual([]);
  });

  test("a writer who comes after it is told, and the thread can begin anew", async () => {
    const { saver, tier } = opened({ deleteAfter: "90d" });
    await fill(saver, "t", 3);
    later(100 * day);
    await new TierSaver(tier, { deleteAfter: "90d", pause: "0ms" }).maintain();
    await expect(put(saver, "t", 4)).rejects.toMatchObject({ code: "THREAD_DELETED" });
    await put(saver, "t", 1);
    expect(await stepsOf(saver, "t")).toEqual([1]);
  });

  test("a thread that waits for a human's answer is at rest, too", async () => {
    const { saver } = opened({ deleteAfter: "90d" });
    const graph = asking(saver);
    await graph.invoke({ answers: [] }, { configurable: { thread_id: "asks" } });
    later(91 * day);
    expect((await saver.maintain()).steps).toMatchObject([{ what: "delete", done: true }]);
  });

  test("one that fails is tried again, and doesn't keep the next from its turn", async () => {
    const { saver, tier } = opened({ deleteAfter: "90d", maxThreads: 1 });
    for (const threadId of ["a", "b", "c"]) {
      await fill(saver, threadId, 1);
      later(60_000);
    }
    later(91 * day);
    const heal = tier.failWhen(({ method, args }) => method === "deleteUnchanged" && args[0] === "a");
    const seen: unknown[] = [];
    for (let run = 0; run < 4; run += 1) {
      const { steps } = await saver.maintain();
      seen.push(...steps.map(({ threadId, done, error }) => [threadId, done, error === undefined]));
    }
    expect(seen).toEqual([
      ["a", false, false],
      ["b", true, true],
      ["c", true, true],
      ["a", false, false],
    ]);
    heal();
    expect((await saver.maintain()).steps).toMatchObject([{ threadId: "a", done: true }]);
  });

  test("is refused where a tier can't tell whether somebody wrote", () => {
    const tier: Tier = withoutFastPaths(new MemoryTier());
    const narrow = Object.assign(Object.create(tier) as Tier, { deleteUnchanged: undefined });
    expect(() => new TierSaver(narrow, { deleteAfter: "90d" })).toThrow(
      /deleteAfter: found "90d". Tier memory can't/,
    );
    expect(new TierSaver(narrow, { keepLast: 3 })).toBeInstanceOf(TierSaver);
  });
});

test("after an outage the next maintenance does what the last one couldn't", async () => {
  const { saver, tier } = opened({ deleteAfter: "90d" });
  for (const threadId of ["a", "b"]) {
    await fill(saver, threadId, 1);
    later(60_000);
  }
  later(91 * day);
  tier.failNext("deleteUnchanged", new StratigraphError("UNAVAILABLE", "away"));
  expect((await saver.maintain()).steps).toMatchObject([{ threadId: "a", done: false }]);
  expect((await saver.maintain()).steps).toMatchObject([
    { threadId: "b", done: true },
    { threadId: "a", done: true },
  ]);
  expect((await saver.maintain()).steps).toEqual([]);
});

describe("keepLast and trimAfter", () => {
  test("keepLast: older checkpoints of threads in use are pruned, for good", async () => {
    const { saver, tier } = opened({ keepLast: 2 });
    await fill(saver, "long", 5);
    await fill(saver, "short", 2);
    expect((await saver.maintain({ dryRun: true })).steps).toEqual([
      { what: "prune", threadId: "long", checkpoints: 3, freed: expect.any(Number), done: false },
    ]);
    expect(tier.count("remove")).toBe(0);
    expect((await saver.maintain()).steps).toEqual([
      { what: "prune", threadId: "long", checkpoints: 3, freed: expect.any(Number), done: true },
    ]);
    expect([await stepsOf(saver, "long"), await stepsOf(saver, "short")]).toEqual([
      [5, 4],
      [2, 1],
    ]);
    await put(saver, "long", 6);
    expect((await saver.getTuple(configOf("long")))?.checkpoint.channel_values["value"]).toMatch(/^long 6/);
    expect((await saver.maintain()).steps).toMatchObject([{ threadId: "long", checkpoints: 1 }]);
  });

  test("trimAfter: what is younger stays, side branches too, and the newest always", async () => {
    const { saver, tier } = opened({ trimAfter: "30d" });
    await fill(saver, "t", 3);
    later(20 * day);
    await put(saver, "t", 4);
    await put(new TierSaver(tier, { conflict: "branch" }), "t", 5, 3);
    await put(saver, "t", 6, 4);
    expect((await saver.maintain()).steps).toEqual([]);
    later(11 * day);
    expect((await saver.maintain()).steps).toMatchObject([{ what: "prune", checkpoints: 3, done: true }]);
    expect(await stepsOf(saver, "t")).toEqual([6, 5, 4]);
    later(31 * day);
    await saver.maintain();
    expect(await stepsOf(saver, "t")).toEqual([6]);
  });

  test("with both, what either keeps stays", async () => {
    const { saver } = opened({ trimAfter: "30d", keepLast: 2 });
    await fill(saver, "t", 4);
    later(31 * day);
    await put(saver, "t", 5);
    await put(saver, "t", 6);
    await put(saver, "t", 7);
    await saver.maintain();
    expect(await stepsOf(saver, "t")).toEqual([7, 6, 5]);
  });

  test("an interrupt that nobody answered stays, and can be answered", async () => {
    const { saver } = opened({ trimAfter: "1d", keepLast: 1 });
    const graph = asking(saver);
    const config = { configurable: { thread_id: "asks" } };
    await graph.invoke({ answers: [] }, config);
    later(10 * day);
    expect((await saver.maintain()).steps).toMatchObject([{ what: "prune", done: true }]);
    expect(await graph.invoke(new Command({ resume: "yes" }), config)).toEqual({ answers: ["yes"] });
  });

  test("so does one beside the main line, which went on from an earlier checkpoint", async () => {
    const { saver } = opened({ trimAfter: "1d", keepLast: 1 });
    const graph = asking(saver);
    const config = { configurable: { thread_id: "asks" } };
    await graph.invoke({ answers: [] }, config);
    const waiting = (await graph.getState(config)).config;
    let first = waiting;
    for await (const { config: earlier } of graph.getStateHistory(config)) first = earlier;
    await graph.updateState(first, { answers: ["no"] }, "ask");
    later(10 * day);
    expect((await saver.maintain()).steps).toMatchObject([{ what: "prune", done: true }]);
    expect((await graph.getState(config)).values).toEqual({ answers: ["no"] });
    expect(await graph.invoke(new Command({ resume: "yes" }), waiting)).toEqual({ answers: ["yes"] });
  });

  test("a DeltaChannel keeps all that it is rebuilt from", async () => {
    const { saver } = opened({ keepLast: 1, trimAfter: "1d" });
    const append = (list: string[], writes: string[][]): string[] => [...list, ...writes.flat()];
    const graph = new StateGraph(
      Annotation.Root({
        list: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 }),
      }),
    )
      .addNode("node", ({ list }) => ({ list: [`${list.length}`] }))
      .addEdge(START, "node")
      .compile({ checkpointer: saver });
    const config = { configurable: { thread_id: "delta" } };
    for (const turn of ["a", "b"]) await graph.invoke({ list: [turn] }, config);
    later(10 * day);
    await saver.maintain();
    expect(await graph.invoke({ list: ["c"] }, config)).toEqual({ list: ["a", "1", "b", "3", "c", "5"] });
  });

  test("a thread that is written to while it is pruned keeps what is new", async () => {
    const { saver, tier } = opened({ keepLast: 2 });
    await fill(saver, "t", 5);
    const hold = tier.hold("remove");
    const maintaining = saver.maintain();
    await hold.reached;
    await put(saver, "t", 6);
    hold.release();
    expect((await maintaining).steps).toMatchObject([{ done: true, checkpoints: 4 }]);
    expect(await stepsOf(saver, "t")).toEqual([6, 5]);
  });
});

/** A graph that asks a human once. */
function asking(checkpointer: TierSaver) {
  const State = Annotation.Root({
    answers: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  return new StateGraph(State)
    .addNode("before", () => ({}))
    .addNode("ask", () => ({ answers: [interrupt<string, string>("May I?")] }))
    .addEdge(START, "before")
    .addEdge("before", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
}
