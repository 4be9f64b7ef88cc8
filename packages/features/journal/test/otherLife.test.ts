import { MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, it } from "vitest";
import { createJournal } from "../src/index.ts";

it("a thread that is deleted and begun anew while a result is read isn't damaged, and gives nothing of its new calls", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const journal = createJournal(new TierSaver(tier));
  const config = { configurable: { thread_id: "ada" } };
  await journal.run(config, { id: "first" }, () => "of the first");
  const reading = tier.hold("list");
  const again = journal.run(config, { id: "first" }, () => "again").catch((error: unknown) => error);
  await reading.reached;
  // Another process, whose entries have the same numbers.
  const elsewhere = new TierSaver(tier.inner);
  await elsewhere.deleteThread("ada");
  await createJournal(elsewhere).run(config, { id: "other" }, () => "of the other");
  reading.release();
  // In the new thread it was never made.
  expect(await again).toBe("again");
});
