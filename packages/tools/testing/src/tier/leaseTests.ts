import { randomUUID } from "node:crypto";
import type { Tier } from "@stratigraph/core";
import { keepsLeases, sweeps } from "@stratigraph/core/internal";
import type { LeaseKeeper } from "@stratigraph/core/tier";
import { describe, expect, test, vi, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";

const hour = 3_600_000;

/** Options for waiting until something ends by itself. */
const patience = { timeout: 30_000, interval: 20 };

/** LeaseKeeper, the optional part that lets only one worker at a time do something. */
export function leaseTests(context: TierContext): void {
  const keeper = (test: TestContext): Tier & LeaseKeeper => {
    const { tier } = context;
    if (!keepsLeases(tier)) {
      context.need(test, false, "leases");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };

  describe("leases (optional)", () => {
    test("a lease has one holder at a time, who may prolong it and give it back", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      expect(await tier.lease(name, "one", hour)).toBe(true);
      expect(await tier.lease(name, "two", hour)).toBe(false);
      expect(await tier.lease(name, "one", hour)).toBe(true);
      expect(await tier.lease(name, "two", 0)).toBe(false);
      expect(await tier.lease(name, "two", hour), "giving back what another holds does nothing").toBe(false);
      await tier.lease(name, "one", 0);
      expect(await tier.lease(name, "two", hour)).toBe(true);
      expect(await tier.lease(name, "one", hour)).toBe(false);
    });

    test("leases of different names are separate, whatever text the names are", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      for (const like of [name, `${name} `, `${name}\0`, `${name}*`, `${name}'"{}%`, `${name}😀`])
        expect(await tier.lease(like, like, hour)).toBe(true);
    });

    test("of many that ask for a lease at the same time, one gets it", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => tier.lease(name, `h${n}`, hour)));
      expect(answers.filter((got) => got)).toHaveLength(1);
    });

    test("a lease that isn't prolonged ends by itself; sweeping takes none that holds", async (test) => {
      const tier = keeper(test);
      const [ends, holds] = [randomUUID(), randomUUID()];
      expect(await tier.lease(ends, "one", 50)).toBe(true);
      expect(await tier.lease(holds, "one", hour)).toBe(true);
      await vi.waitFor(async () => {
        if (sweeps(tier)) await tier.sweep(0);
        expect(await tier.lease(ends, "two", hour)).toBe(true);
      }, patience);
      expect(await tier.lease(holds, "two", hour)).toBe(false);
      expect(await tier.lease(ends, "one", hour), "the former holder wakes up").toBe(false);
      await tier.lease(ends, "one", 0);
      expect(await tier.lease(ends, "three", hour), "and gives back nothing").toBe(false);
    });

    test("a lease also holds for a tier that was opened separately", async (test) => {
      const tier = keeper(test);
      context.need(test, context.opened.reopen !== undefined, "reopen");
      const other = await context.opened.reopen!();
      const name = randomUUID();
      expect(await tier.lease(name, "one", hour)).toBe(true);
      expect(keepsLeases(other) && (await other.lease(name, "two", hour))).toBe(false);
    });
  });
}
