import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { canonical } from "../src/identity/canonical.ts";
import { createJournal, events } from "../src/index.ts";

const config = { configurable: { thread_id: "t" } };
const args = { note: "and so on ".repeat(20) };

/** A thread whose state had a value that another process has pruned since. This process remembers it. */
async function pruned(value: unknown): Promise<{ ours: TierSaver; opened: TierSaver }> {
  const tier = new MemoryTier();
  const [ours, others, opened] = [new TierSaver(tier), new TierSaver(tier), new TierSaver(tier)];
  const graph = new StateGraph(Annotation.Root({ value: Annotation<unknown> }))
    .addNode("node", () => ({}))
    .addEdge(START, "node")
    .addEdge("node", END)
    .compile({ checkpointer: ours });
  await graph.invoke({ value }, config);
  await graph.invoke({ value: "another" }, config);
  await others.prune(["t"], { strategy: "keep_latest" });
  return { ours, opened };
}

it("the arguments of a call are stored, though the state had the same value before it was pruned", async () => {
  const { ours, opened } = await pruned(canonical(args));
  const journal = createJournal(ours);
  await journal.run(config, { id: "pay", args }, () => "receipt");
  expect(await createJournal(opened).verify("t")).toMatchObject({ ok: true });
});

it("an event is stored, though the state had the same value before it was pruned", async () => {
  const { ours, opened } = await pruned({ event: args });
  const notes = (saver: TierSaver) =>
    events(saver, (_state: unknown, event: unknown) => event, { initial: 0 });
  await notes(ours).append("t", args);
  expect((await notes(opened).project("t")).state).toEqual(args);
});
