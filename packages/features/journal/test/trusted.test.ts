import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, it } from "vitest";

const config = { configurable: { thread_id: "t" } };

it("what another process let run again runs again, and what it recorded since is given", async () => {
  const saver = new TierSaver(new MemoryTier());
  const [one, operator] = [createJournal(saver), createJournal(saver)];
  let times = 0;
  const pay = async (journal: typeof one) =>
    await journal.run(config, { id: "pay" }, () => `receipt ${++times}`);
  expect(await pay(one)).toBe("receipt 1");
  const [{ fingerprint } = { fingerprint: "" }] = await operator.calls("t");
  await operator.forget(fingerprint, { threadId: "t", reason: "the bank lost it" });
  expect([await pay(one), await pay(one)]).toEqual(["receipt 2", "receipt 2"]);
  await operator.forget(fingerprint, { threadId: "t", reason: "and again" });
  expect([await pay(operator), await pay(one)]).toEqual(["receipt 3", "receipt 3"]);
  await saver.deleteThread("t");
  expect([await pay(operator), await pay(one)]).toEqual(["receipt 4", "receipt 4"]);
});

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
