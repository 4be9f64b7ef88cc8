import { randomUUID } from "node:crypto";
import type { Tier } from "@stratigraph/core";
import { keepsKeyChecks, sweeps } from "@stratigraph/core/internal";
import type { KeyCheckKeeper } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";

/** KeyCheckKeeper, the optional part that detects processes with other keys. */
export function keyCheckTests(context: TierContext): void {
  const keeper = (test: TestContext, tier: Tier = context.tier): Tier & KeyCheckKeeper => {
    if (!keepsKeyChecks(tier)) {
      context.need(test, false, "keyChecks");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };

  describe("check values of keys (optional)", () => {
    test("the first value of a name stays, also for a tier that was opened separately; looking stores nothing", async (test) => {
      const tier = keeper(test);
      const [name, other] = [randomUUID(), randomUUID()];
      expect(await tier.keyChecks([name])).toEqual(new Map());
      expect(await tier.claimKeyCheck(name, "first")).toBe("first");
      expect(await tier.claimKeyCheck(name, "second")).toBe("first");
      expect(await tier.claimKeyCheck(other, "third")).toBe("third");
      if (sweeps(tier)) await tier.sweep(0);
      const reopened = keeper(test, (await context.opened.reopen?.()) ?? tier);
      expect(await reopened.keyChecks([other, randomUUID(), name])).toEqual(
        new Map([
          [other, "third"],
          [name, "first"],
        ]),
      );
      expect(await reopened.claimKeyCheck(name, "second")).toBe("first");
    });

    test("of many that store one at the same time, one wins, and all learn of it", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      const stored = await Promise.all(
        Array.from({ length: 8 }, (_, n) => tier.claimKeyCheck(name, `v${n}`)),
      );
      expect(new Set(stored).size).toBe(1);
      expect(await tier.keyChecks([name])).toEqual(new Map([[name, stored[0]]]));
    });

    test("names of any text are kept apart", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      const names = [
        name,
        `${name} `,
        `${name}\0`,
        `${name}*`,
        `${name}'"{}%`,
        `${name}😀`,
        `${name}${"x".repeat(255)}`,
      ];
      for (const [n, each] of names.entries()) expect(await tier.claimKeyCheck(each, `v${n}`)).toBe(`v${n}`);
      expect((await tier.keyChecks(names)).size).toBe(names.length);
    });
  });
}
