import { MemoryTier } from "@stratigraph/core";
import { Renewal, stopwatch } from "@stratigraph/core/internal";
import { Lease } from "../../src/maintenance/lease.ts";
import { inFrontOf } from "../../../../../test/inFrontOf.ts";

// A machine slept: one clock of its processes stood still, and what they hold for a time has ended.

/** As if the machine slept for so long. Its timers go on where they were. */
function sleeps(ms: number): void {
  onTestFinished(inFrontOf(Date, "now", (real) => () => real() + ms));
}

test("a lease isn't held any more", async () => {
  const lease = new Lease(new MemoryTier(), "maintenance", 60_000);
  expect(await lease.take()).toBe(true);
  sleeps(59_000);
  expect(lease.held).toBe(true);
  sleeps(2_000);
  expect(lease.held).toBe(false);
  await lease.giveBack();
});

test("a lease isn't taken if its holder slept before the answer came", async () => {
  const tier = new MemoryTier();
  const ask = tier.lease.bind(tier);
  tier.lease = async (...args) => {
    const isGiven = await ask(...args);
    if (args[2] > 0) sleeps(61_000);
    return isGiven;
  };
  expect(await new Lease(tier, "maintenance", 60_000).take()).toBe(false);
});

test("a lock that was asked for before isn't held, however late its answer comes", () => {
  const renewal = new Renewal({ forMs: 30_000, times: 3, renew: async () => undefined });
  const ageMs = stopwatch();
  sleeps(31_000);
  renewal.begin(ageMs);
  expect(renewal.isHeld).toBe(false);
  renewal.stop();
});
