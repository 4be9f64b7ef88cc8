import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { copyByReading } from "@stratigraph/core/internal";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, it } from "vitest";
import { createJournal } from "../src/index.ts";

// What `verify` says of an erasure that isn't whole: a kill before the values were dropped, a copy that came late.

const ada = "ada";
const on = { configurable: { thread_id: ada } };
const all = () => ({ before: new Date(Date.now() + 60_000) });
const leftIn = (tier: string) => ({
  ok: false,
  brokenAt: 5,
  why: `tier ${tier} still has values that no entry needs, and they may be those that entry 5 says were erased: erase again`,
});

/** Makes a call with large arguments and a result: values of their own. */
async function pay(saver: TierSaver): Promise<void> {
  const letter = `belongs to Ada ${"and nobody else ".repeat(2000)}`;
  await createJournal(saver).run(on, { id: "pay", args: { letter } }, () => 5);
}

/** Makes a call of which nothing but small arguments is kept, in the entry's record. */
async function tryToPay(saver: TierSaver, id = "pay"): Promise<void> {
  const call = createJournal(saver).run(on, { id, args: { letter: "Ada's" } }, () => {
    throw new Error("the line was cut");
  });
  await call.catch(() => undefined);
}

const sizes = [
  ["large", pay, 2],
  ["small", tryToPay, 1],
] as const;

/** A stack with tiers that can be watched, and a clock by which every thread is idle. */
function stack({ archives = false, maxCopies }: { archives?: boolean; maxCopies?: number } = {}) {
  const tier = (name: string) => new FaultyTier(new MemoryTier(), name);
  const [hot, warm, cold] = [tier("hot"), tier("warm"), tier("cold")];
  const open = () =>
    new TieredSaver(
      { hot, warm, queue: { maxCopies }, ...(archives ? { cold, archiveAfter: "7d", pause: "0ms" } : {}) },
      () => Date.now() + 30 * 86_400_000,
    );
  return { hot, warm, cold, open, saver: open() };
}

/** A thread as it is now, to come back later. */
async function kept(tier: Tier): Promise<MemoryTier> {
  const copy = new MemoryTier();
  await copyByReading(tier, ada, ada, copy);
  return copy;
}

it("an erasure that was killed before it dropped the values isn't one yet", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const journal = createJournal(new TierSaver(tier));
  await pay(journal.checkpointer);
  const heal = tier.failWhen(({ method }) => method === "remove");
  await expect(journal.erase(ada, all())).rejects.toThrow();
  heal();
  expect(await journal.verify(ada)).toEqual(leftIn("memory"));
  await journal.erase(ada, all());
  expect(await journal.verify(ada)).toMatchObject({ ok: true, erased: 2 });
});

it("verify looks again where an erasure ends meanwhile", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const journal = createJournal(new TierSaver(tier));
  await pay(journal.checkpointer);
  const removal = tier.hold("remove");
  const erasing = journal.erase(ada, all());
  await removal.reached;
  const peek = tier.hold("peek");
  const verifying = journal.verify(ada);
  await peek.reached;
  const blobs = tier.hold("blobs");
  peek.release();
  await blobs.reached;
  const listed = tier.hold("list");
  blobs.release();
  await listed.reached;
  removal.release();
  await erasing;
  listed.release();
  expect(await verifying).toMatchObject({ ok: true, erased: 2 });
});

it.each(sizes)(
  "a copy with %s values that comes to a hot tier after the erasure is told of, and goes",
  async (_size, make, erased) => {
    const { hot, saver, open } = stack();
    await make(saver);
    const before = await kept(saver.tier);
    const journal = createJournal(saver);
    await journal.erase(ada, all());
    await saver.tier.idle();
    expect(await journal.verify(ada)).toMatchObject({ ok: true, erased });
    await copyByReading(before, ada, ada, hot);
    const other = createJournal(open());
    expect(await other.verify(ada)).toEqual(leftIn("hot"));
    await other.erase(ada, all());
    expect(await other.verify(ada)).toMatchObject({ ok: true, erased });
  },
);

it.each(sizes)(
  "a copy with %s values that an archiver brings after the erasure is told of, and goes",
  async (_size, make, erased) => {
    const { cold, saver, open } = stack({ archives: true });
    await make(saver);
    const before = await kept(saver.tier);
    await saver.maintain();
    const journal = createJournal(saver);
    await journal.erase(ada, all());
    expect(await journal.verify(ada)).toMatchObject({ ok: true, erased });
    await copyByReading(before, ada, ada, cold);
    const other = createJournal(open());
    expect(await other.verify(ada)).toMatchObject({ ok: false, brokenAt: 5 });
    await other.erase(ada, all());
    expect(await other.verify(ada)).toMatchObject({ ok: true, erased });
  },
);

it("copies that wait in this process while a thread is erased don't come to a hot tier afterwards", async () => {
  const { hot, warm, saver } = stack({ maxCopies: 1 });
  const copying = hot.hold("append");
  await tryToPay(saver);
  await copying.reached;
  // One copy is under way, and another one waits. There is no room for a third, of the entries without their values.
  await tryToPay(saver, "pay again");
  const removal = warm.hold("remove");
  const journal = createJournal(saver);
  const erasing = journal.erase(ada, all());
  await Promise.race([removal.reached, erasing]);
  removal.release();
  copying.release();
  await erasing;
  await saver.tier.idle();
  expect(await journal.verify(ada)).toMatchObject({ ok: true, erased: 2 });
});

it("a hot tier that can't be reached isn't passed over", async () => {
  const { hot, saver, open } = stack();
  await tryToPay(saver);
  await saver.tier.idle();
  const heal = hot.failWhen(({ method }) => method === "deleteThread");
  await expect(createJournal(saver).erase(ada, all())).rejects.toThrow("deleteThread");
  heal();
  const other = createJournal(open());
  expect(await other.verify(ada)).toEqual(leftIn("hot"));
  await other.erase(ada, all());
  expect(await other.verify(ada)).toMatchObject({ ok: true, erased: 1 });
});

it("entries that an archiver brings without their values stay, whatever an erasure saw there before", async () => {
  const { cold, saver, open } = stack({ archives: true });
  await pay(saver);
  await saver.maintain();
  await saver.tier.restoreThread!(ada);
  const removal = cold.hold("remove");
  const erasing = createJournal(saver).erase(ada, all());
  await removal.reached;
  expect((await open().maintain()).steps).toMatchObject([{ what: "archive", done: true }]);
  removal.release();
  await erasing;
  expect(await createJournal(open()).verify(ada)).toMatchObject({ ok: true, entries: 5, erased: 2 });
});

it("where nothing was erased, nothing is looked for; and an archive isn't asked about a thread that was never there", async () => {
  const { hot, warm, cold, saver } = stack({ archives: true });
  await pay(saver);
  await saver.tier.idle();
  for (const tier of [hot, warm, cold]) tier.calls.length = 0;
  const journal = createJournal(saver);
  expect(await journal.verify(ada)).toMatchObject({ ok: true, erased: 0 });
  expect(hot.calls).toEqual([]);
  expect([warm.count("list"), warm.count("peek"), warm.calls.length]).toEqual([3, 5, 8]);
  await journal.erase(ada, all());
  expect(await journal.verify(ada)).toMatchObject({ ok: true, erased: 2 });
  expect(cold.calls).toEqual([]);
});
