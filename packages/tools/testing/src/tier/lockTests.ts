import { randomUUID } from "node:crypto";
import type { Tier } from "@stratigraph/core";
import { keepsLocks, sweeps } from "@stratigraph/core/internal";
import type { LockKeeper } from "@stratigraph/core/tier";
import { describe, expect, test, vi, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";

const hour = 3_600_000;

/** Options for waiting until something ends by itself. */
const patience = { timeout: 30_000, interval: 20 };

/** LockKeeper, the optional part that lets one run at a time work on a thread. */
export function lockTests(context: TierContext): void {
  const keeper = (test: TestContext): Tier & LockKeeper => {
    const { tier } = context;
    if (!keepsLocks(tier)) {
      context.need(test, false, "locks");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };

  describe("locks (optional)", () => {
    test("a lock has one holder at a time, whom others are told of; tokens grow from holder to holder", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      const beforeMs = Date.now();
      const one = await tier.lock(name, "one", hour);
      expect(one).toMatchObject({ held: true, holder: "one" });
      expect(Number.isSafeInteger(one.token) && one.token > 0).toBe(true);
      expect(one.sinceMs).toBeGreaterThan(beforeMs - 60_000);
      expect(one.sinceMs).toBeLessThan(Date.now() + 60_000);
      expect(await tier.lock(name, "two", hour)).toEqual({ ...one, held: false });
      expect(await tier.lock(name, "one", hour), "prolonging changes nothing").toEqual(one);
      await tier.unlock(name, "two");
      expect(await tier.lock(name, "two", hour), "giving back what another holds does nothing").toMatchObject(
        { held: false, holder: "one" },
      );
      await tier.unlock(name, "one");
      const two = await tier.lock(name, "two", hour);
      expect(two).toMatchObject({ held: true, holder: "two" });
      expect(two.token).toBeGreaterThan(one.token);
      expect((await tier.lock(name, "one", hour)).held).toBe(false);
    });

    test("locks of different names are separate, whatever text names and holders are", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      for (const like of [name, `${name} `, `${name}\0`, `${name}*`, `${name}'"{}%`, `${name}😀`])
        expect(await tier.lock(like, like, hour)).toMatchObject({ held: true, holder: like });
    });

    test("of many that ask for a lock at the same time, one gets it, and the others are told who", async (test) => {
      const tier = keeper(test);
      const name = randomUUID();
      const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => tier.lock(name, `h${n}`, hour)));
      expect(answers.filter(({ held }) => held)).toHaveLength(1);
      expect(new Set(answers.map(({ holder }) => holder)).size).toBe(1);
      expect(new Set(answers.map(({ token }) => token)).size).toBe(1);
    });

    test("a lock that isn't prolonged ends by itself; sweeping takes none that holds", async (test) => {
      const tier = keeper(test);
      const [ends, swept, holds] = [randomUUID(), randomUUID(), randomUUID()];
      await tier.lock(swept, "one", 50);
      const before = await tier.lock(ends, "one", 50);
      await tier.lock(holds, "one", hour);
      // There is no sweep in between: another holder can take an expired lock without one.
      const after = await vi.waitFor(async () => {
        const answer = await tier.lock(ends, "two", hour);
        expect(answer.held).toBe(true);
        return answer;
      }, patience);
      expect(after.token).toBeGreaterThan(before.token);
      expect(await tier.lock(ends, "one", hour), "the former holder wakes up").toEqual({
        ...after,
        held: false,
      });
      await tier.unlock(ends, "one");
      if (sweeps(tier)) await tier.sweep(0);
      expect(await tier.lock(ends, "three", hour)).toEqual({ ...after, held: false });
      expect((await tier.lock(swept, "two", hour)).held).toBe(true);
      expect(await tier.lock(holds, "two", hour)).toMatchObject({ held: false, holder: "one" });
    });

    test("a lock also holds for a tier that was opened separately", async (test) => {
      const tier = keeper(test);
      context.need(test, context.opened.reopen !== undefined, "reopen");
      const other = await context.opened.reopen!();
      const name = randomUUID();
      await tier.lock(name, "one", hour);
      expect(keepsLocks(other) && (await other.lock(name, "two", hour))).toMatchObject({ held: false });
    });
  });
}
