import {
  Annotation,
  Command,
  DeltaChannel,
  MemorySaver,
  START,
  StateGraph,
  interrupt,
} from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { storages } from "./fixtures/stateStorages.ts";
import { allRounds } from "../../../../test/rounds.ts";

// Two graphs on one thread: what a step of one wrote before LangGraph discarded it, because the other one began with new input, is in no value.

const durabilities = ["sync", "async", "exit"] as const;
const append = (all: string[], updates: string[][]): string[] => [...all, ...updates.flat()];
const list = (): DeltaChannel<string[], string[]> =>
  new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 });
const text = Annotation<string>;

/** Writes its list, beside a node that waits. */
const asking = (saver: BaseCheckpointSaver) =>
  new StateGraph(Annotation.Root({ list, said: text }))
    .addNode("side", () => ({ list: ["side"] }))
    .addNode("ask", () => ({ said: String(interrupt("ok?")) }))
    .addEdge(START, "side")
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });

/** Other graphs on the thread, by what they have to do with the list. */
const others = {
  "doesn't have": (saver: BaseCheckpointSaver) =>
    new StateGraph(Annotation.Root({ other: text }))
      .addNode("a", () => ({ other: "done" }))
      .addEdge(START, "a")
      .compile({ checkpointer: saver }),
  "has, and leaves alone": (saver: BaseCheckpointSaver) =>
    new StateGraph(Annotation.Root({ list, other: text }))
      .addNode("a", () => ({ other: "done" }))
      .addEdge(START, "a")
      .compile({ checkpointer: saver }),
  "writes to": (saver: BaseCheckpointSaver) =>
    new StateGraph(Annotation.Root({ list, other: text }))
      .addNode("a", () => ({ list: ["other"], other: "done" }))
      .addEdge(START, "a")
      .compile({ checkpointer: saver }),
};

/** What is in the list after the other graph's run, under all durabilities. */
async function listsAfter(
  saver: () => BaseCheckpointSaver,
  other: keyof typeof others,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const durability of durabilities) {
    const on = { configurable: { thread_id: durability } };
    await asking(saver()).invoke({ list: ["one"] }, on);
    await asking(saver()).invoke(new Command({ resume: "yes" }), on);
    await asking(saver()).invoke({ list: ["two"] }, on);
    await others[other](saver()).invoke({ other: "in" } as never, { ...on, durability });
    found[durability] = (await asking(saver()).getState(on)).values.list;
  }
  return found;
}

const expected: Readonly<Record<keyof typeof others, readonly string[]>> = {
  "doesn't have": ["one", "side", "two"],
  "has, and leaves alone": ["one", "side", "two"],
  "writes to": ["one", "side", "two", "other"],
};

const told = allRounds ? Object.keys(storages) : ["memory", "postgres"];
describe.each(told as (keyof typeof storages)[])("on %s", (storage) => {
  test.each(Object.keys(others) as (keyof typeof others)[])(
    "a discarded step's writes don't get into a list that the next graph %s",
    async (other) => {
      const { tier, close } = await storages[storage]();
      try {
        const found = await listsAfter(() => new TierSaver(tier), other);
        expect(found).toEqual(Object.fromEntries(durabilities.map((each) => [each, expected[other]])));
      } finally {
        await close();
      }
    },
  );

  test("a run that goes on with the step keeps what it wrote, under all durabilities", async () => {
    const { tier, close } = await storages[storage]();
    try {
      for (const durability of durabilities) {
        const on = { configurable: { thread_id: durability } };
        const graph = () => asking(new TierSaver(tier));
        await graph().invoke({ list: ["one"] }, on);
        await graph().invoke(new Command({ resume: "yes" }), { ...on, durability });
        expect((await graph().getState(on)).values).toEqual({ list: ["one", "side"], said: "yes" });
      }
    } finally {
      await close();
    }
  });
});

test("LangGraph's MemorySaver takes them in where the next graph doesn't have the list, and drops other channels, as limits.md says", async () => {
  const memory = new MemorySaver();
  const found = await listsAfter(() => memory, "doesn't have");
  expect(found).toEqual(
    Object.fromEntries(durabilities.map((each) => [each, ["one", "side", "two", "side"]])),
  );
  const tier = new MemoryTier();
  await listsAfter(() => new TierSaver(tier), "doesn't have");
  const on = { configurable: { thread_id: "sync" } };
  expect((await asking(memory).getState(on)).values).not.toHaveProperty("said");
  expect((await asking(new TierSaver(tier)).getState(on)).values).toHaveProperty("said", "yes");
});
