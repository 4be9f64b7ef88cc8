import { MemorySaver as OfficialMemory } from "@langchain/langgraph-checkpoint";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { promote } from "@stratigraph/branch";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { exportThreads, importThreads, moveThreads, saverSource, saverTarget } from "@stratigraph/migrate";
import { expect, it } from "vitest";
import { createJournal } from "../src/index.ts";

// States of a thread that a copy must not take for others: wound back to before a payment, and without the head that it had.

const ada = { configurable: { thread_id: "ada" } };

function paying(saver: TierSaver, paid: string[]) {
  const journal = createJournal(saver);
  return new StateGraph(Annotation.Root({ receipt: Annotation<string>(), end: Annotation<string>() }))
    .addNode("pays", async (_, config) => ({
      receipt: await journal.run(config, { id: "rent", args: {} }, () => `receipt ${paid.push("rent")}`),
    }))
    .addNode("ends", () => ({ end: "done" }))
    .addEdge(START, "pays")
    .addEdge("pays", "ends")
    .compile({ checkpointer: saver });
}

it("a thread that was wound back to before a payment isn't exported to where it would pay again", async () => {
  const [saver, paid] = [new MemorySaver(), [] as string[]];
  const graph = paying(saver, paid);
  await graph.invoke({}, ada);
  for await (const { next, config } of graph.getStateHistory(ada))
    if (next.includes("pays"))
      await promote(saver, { threadId: "ada", checkpointId: String(config.configurable!["checkpoint_id"]) });
  const official = new OfficialMemory();
  const report = await exportThreads(saver, saverTarget(official)).catch((error: unknown) => error);
  expect(JSON.stringify([report, String(report)])).toContain("its step hasn't ended");
  expect(await official.getTuple(ada)).toBeUndefined();
  const whole = new MemorySaver();
  expect(await importThreads(saverSource(saver), whole)).toMatchObject({ verified: true, differences: [] });
  await paying(whole, paid).invoke(null, ada);
  expect(paid).toHaveLength(1);
});

it("a thread that has lost its head isn't copied as one without any, or with another one, and isn't deleted for it", async () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  await paying(saver, []).invoke({}, ada);
  const { revision } = await tier.peek({ threadId: "ada", namespace: "" });
  const none = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  expect(await tier.remove({ threadId: "ada", revision, ...none, heads: [{ namespace: "" }] })).toBe(true);
  expect((await tier.peek({ threadId: "ada", namespace: reservedNamespaces.calls })).head).toBeDefined();
  const from = new TierSaver(tier);
  const ways: ((to: TierSaver) => Promise<unknown>)[] = [
    (to) => moveThreads(from, to, { source: "delete" }),
    (to) => importThreads(saverSource(from), to),
    (to) => exportThreads(from, saverTarget(to)),
  ];
  for (const way of ways) {
    const to = new MemoryTier();
    const outcome = await way(new TierSaver(to)).catch((error: unknown) => error);
    expect(JSON.stringify([outcome, String(outcome)])).toMatch(/head/);
    expect((await to.peek({ threadId: "ada", namespace: "" })).revision).toBe(0);
    expect((await tier.peek({ threadId: "ada", namespace: "" })).headless).toBe(true);
  }
});
