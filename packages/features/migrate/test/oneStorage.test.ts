import { MemoryTier } from "@stratigraph/core";
import { expect, onTestFinished, test } from "vitest";
import { inFrontOf } from "../../../../test/inFrontOf.ts";
import { isInOnePlace } from "../src/copy/oneStorage.ts";

/** Another connection to the storage of a tier. Before it is asked, its process is stopped for so long. */
function another(tier: MemoryTier, stoppedMs: number): MemoryTier {
  const other = new MemoryTier();
  other.lease = async (...args) => {
    onTestFinished(inFrontOf(Date, "now", (real) => () => real() + stoppedMs));
    return await tier.lease(...args);
  };
  return other;
}

test("a process that was stopped while it asked whether two storages are one doesn't believe that they are two", async () => {
  const tier = new MemoryTier(() => Date.now());
  expect(await isInOnePlace(tier, another(tier, 0), "one")).toBe(true);
  expect(await isInOnePlace(tier, new MemoryTier(), "two")).toBe(false);
  await expect(isInOnePlace(tier, another(tier, 61_000), "three")).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
});
