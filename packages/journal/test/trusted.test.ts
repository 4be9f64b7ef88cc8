import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, it } from "vitest";

const config = { configurable: { thread_id: "t" } };

it("goes on where a hot tier that is trusted has an old copy of the journal", async () => {
  const [hot, warm] = [new MemoryTier(), new MemoryTier()];
  const trusting = createJournal(new TieredSaver({ hot, warm, consistency: "trusted" }));
  const made: string[] = [];
  const call = (id: string) => ({ id });
  await trusting.run(config, call("a"), () => void made.push("a"));
  // As if its process were killed between the warm tier and the hot one.
  const killed = createJournal(new TierSaver(warm));
  await killed.run(config, call("b"), () => void made.push("b"));
  await trusting.run(config, call("c"), () => void made.push("c"));
  await trusting.run(config, call("b"), () => void made.push("b again"));
  expect(made).toEqual(["a", "b", "c"]);
});
