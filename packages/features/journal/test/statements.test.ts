import type { TraceEvent } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { expect, it } from "vitest";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { payments } from "./support/effects.ts";
import { savers } from "./support/savers.ts";

/** What the storage was asked for: one name per round trip. */
const asked = (events: readonly TraceEvent[]) =>
  events.flatMap((event) => (event.type === "call" ? [event.method] : []));

it("a call costs two appends and a recorded one two reads, in a process that knows the journal", async () => {
  const { saver, close } = await savers.find(([name]) => name === "postgres")![1]();
  const journal = createJournal(saver);
  try {
    const { pay, paid } = payments();
    const config = { configurable: { thread_id: "ada" } };
    const plain = (amount: number) =>
      journal.run(config, { id: `pay ${amount}`, tool: "pay", args: { amount } }, () =>
        pay.invoke({ amount }),
      );
    await plain(1);
    expect(asked(await tracedWhile(() => plain(2)))).toEqual(["append", "append"]);
    const recorded = asked(await tracedWhile(() => plain(2)));
    // The first asks whether somebody let it run again.
    expect(recorded).toEqual(["peek", "list"]);
    expect(paid).toEqual([1, 2]);
    const parallel = asked(await tracedWhile(() => Promise.all([3, 4, 5, 6].map(plain))));
    // Calls that begin together share their appends.
    expect(parallel.length).toBeLessThanOrEqual(4);
    expect(paid).toEqual([1, 2, 3, 4, 5, 6]);
  } finally {
    await journal.end();
    await close();
  }
});
