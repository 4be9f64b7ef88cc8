import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { ancestryTests } from "./ancestryTests.ts";
import { appendTests } from "./appendTests.ts";
import { appendWritesTests } from "./appendWritesTests.ts";
import { blobsTests } from "./blobsTests.ts";
import type { TierContext } from "./context.ts";
import { turnsOf } from "../graphs/durabilities.ts";
import { copyKeeperTests } from "./copyKeeperTests.ts";
import { copyThreadTests } from "./copyThreadTests.ts";
import { deleteThreadTests } from "./deleteThreadTests.ts";
import { deleteUnchangedTests } from "./deleteUnchangedTests.ts";
import { evictTests } from "./evictTests.ts";
import { forkThreadTests } from "./forkThreadTests.ts";
import { hostileIds } from "./hostileIds.ts";
import { idTests } from "./idTests.ts";
import { archiveSourceTests } from "./archiveSourceTests.ts";
import { inspectTests } from "./inspectTests.ts";
import { keyCheckTests } from "./keyCheckTests.ts";
import { leaseTests } from "./leaseTests.ts";
import { lockTests } from "./lockTests.ts";
import { listTests } from "./listTests.ts";
import { openTests } from "./openTests.ts";
import { peekTests } from "./peekTests.ts";
import { raceTests } from "./raceTests.ts";
import { readTests } from "./readTests.ts";
import { replaceBytesTests } from "./replaceBytesTests.ts";
import { removeTests } from "./removeTests.ts";
import { setBackTests } from "./setBackTests.ts";
import type { OpenedTier, TierPart, TierSuiteOptions } from "./setup.ts";
import { statusTests } from "./statusTests.ts";
import { tagTests } from "./tagTests.ts";
import { threadsTests } from "./threadsTests.ts";

/** Parts that `skipNothing` requires. */
const basicParts: ReadonlySet<TierPart> = new Set(["setup", "reopen", "ancestry", "copyThread"]);

/**
 * Registers the tier contract as a vitest suite: one group per method, races, ids of any text, and the optional parts that the tier has.
 * A class is a tier if it passes this suite.
 *
 * @param name name of the suite, usually the tier's
 * @param setup opens the tier on an empty storage of its own; called once
 *
 * @example
 * testTier("memory", async () => ({ tier: new MemoryTier(), close: async () => {} }));
 */
export function testTier(
  name: string,
  setup: () => Promise<OpenedTier>,
  options: TierSuiteOptions = {},
): void {
  describe(`tier contract: ${name}`, () => {
    let opened: OpenedTier | undefined;
    const suite = randomUUID();
    let threads = 0;

    beforeAll(async () => {
      opened = await setup();
    });
    afterAll(async () => {
      await opened?.close();
    });

    const isItsTurn = turnsOf(name, options.every);
    const pairs = Array.from({ length: Math.ceil(hostileIds.length / 2) }, isItsTurn);
    const context: TierContext = {
      options,
      hostileIds: hostileIds.filter((_, n) => pairs[Math.floor(n / 2)]),
      get opened() {
        if (opened === undefined) throw new Error("the tier is open only while tests run");
        return opened;
      },
      get tier() {
        return context.opened.tier;
      },
      thread() {
        threads += 1;
        return `${suite} ${threads}`;
      },
      need(test, has, part) {
        if (has) return;
        if (
          options.requires?.includes(part) === true ||
          (options.skipNothing === true && basicParts.has(part))
        )
          expect.fail(`the tier has no ${part}`);
        test.skip(`the tier has no ${part}`);
      },
    };
    openTests(context);
    peekTests(context);
    readTests(context);
    listTests(context);
    threadsTests(context);
    blobsTests(context);
    appendTests(context);
    raceTests(context);
    appendWritesTests(context);
    removeTests(context);
    setBackTests(context);
    evictTests(context);
    deleteThreadTests(context);
    idTests(context);
    ancestryTests(context);
    copyThreadTests(context);
    forkThreadTests(context);
    copyKeeperTests(context);
    keyCheckTests(context);
    leaseTests(context);
    lockTests(context);
    deleteUnchangedTests(context);
    archiveSourceTests(context);
    replaceBytesTests(context);
    inspectTests(context);
    tagTests(context);
    statusTests(context);
  });
}
