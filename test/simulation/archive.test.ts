import type { ListedCheckpoint, Tier } from "@stratigraph/core";
import { MemoryTier } from "@stratigraph/core";
import { configOf, Ledger } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { Site, warmUp } from "./site.ts";

beforeAll(warmUp);

const unlisted = ["tombstones", "strays"];

test.each([
  ["read", "cold"],
  ["append", "warm"],
] as const)(
  "two readers restore a thread at once, one is late at %s: its pending writes are there once",
  async (method, tier) => {
    await simulate(async (world) => {
      const site = new Site(world);
      const ledger = new Ledger("t");
      const [first, second, late, reader] = ["first", "second", "late", "reader"].map((name) =>
        world.machine(name),
      ) as [never, never, never, never];
      const saver = site.open(first);
      await ledger.turn(saver, ["task"]);
      await saver.maintain();
      // One reader has looked at the warm tier, and waits, until the other one has restored the thread.
      const held = world.hold(method, { from: late, to: site[tier] });
      const reading = site.open(late).getTuple(configOf("t"));
      await held.reached;
      ledger.check(await site.open(second).getTuple(configOf("t")));
      await held.release();
      ledger.check(await reading);
      await ledger.checkAll(site.open(reader));
      const { writes } = await site.tiers.warm.peek({ threadId: "t", namespace: "" });
      expect(writes.map(({ taskId }) => taskId)).toEqual(["task"]);
    });
  },
);

test.each([[[]], [unlisted]])(
  "pending writes that come to an archived checkpoint are archived, too",
  async (without) => {
    await simulate(async (world) => {
      const site = new Site(world, without);
      const ledger = new Ledger("t");
      const writer = site.open(world.machine("writer"));
      const old = (await ledger.turn(writer))!;
      await ledger.turn(writer);
      await writer.maintain();
      const next = site.open(world.machine("next"));
      await ledger.turn(next);
      await ledger.write(next, old, "late");
      await next.maintain();
      await ledger.checkAll(site.open(world.machine("reader")));
    });
  },
);

test("what is read back from the archive is another record: the thread stays", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    site.tiers.cold = listingOtherParents(new MemoryTier());
    const saver = site.open(world.machine("writer"));
    await ledger.turn(saver);
    await ledger.turn(saver);
    const { steps } = await saver.maintain();
    expect(steps).toMatchObject([
      { what: "archive", threadId: "t", error: { message: expect.stringContaining("its record differs") } },
    ]);
    expect(await site.tiers.warm.blobs("t")).not.toEqual([]);
  });
});

/** A storage that gives back records with another parent than they came with. */
function listingOtherParents(tier: MemoryTier): Tier {
  return new Proxy(tier as Tier, {
    get: (target, name) => {
      if (name === "list")
        return async function* (...args: Parameters<Tier["list"]>): AsyncGenerator<ListedCheckpoint> {
          for await (const listed of target.list(...args))
            yield { ...listed, record: { ...listed.record, parentId: "another" } };
        };
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

describe.each([
  ["tombstones", []],
  ["no tombstones", unlisted],
] as [string, string[]][])("a warm tier with %s", (_name, without) => {
  test("that was lost, and is empty now: the archive stays", async () => {
    await simulate(async (world) => {
      const site = new Site(world, without);
      const ledger = new Ledger("t");
      const saver = site.open(world.machine("writer"));
      await ledger.turn(saver);
      await saver.maintain();
      site.tiers.warm = new MemoryTier();
      await site.open(world.machine("next")).maintain();
      expect((await site.tiers.cold.peek({ threadId: "t", namespace: "" })).head).toBeDefined();
    });
  });

  test("a deletion while the archive is away is finished later", async () => {
    await simulate(async (world) => {
      const site = new Site(world, without);
      const ledger = new Ledger("t");
      const process = world.machine("process");
      const saver = site.open(process);
      await ledger.turn(saver);
      await saver.maintain();
      const held = world.hold("deleteThread", { to: site.cold });
      const deleting = saver.deleteThread("t");
      await held.fail();
      await deleting;
      expect((await site.tiers.cold.peek({ threadId: "t", namespace: "" })).head).toBeDefined();
      await site.open(world.machine("next")).maintain();
      expect((await site.tiers.cold.peek({ threadId: "t", namespace: "" })).head).toBeUndefined();
      await ledger.checkGone(site.open(world.machine("reader")));
    });
  });
});

test("trusted: a copy that is older than what a process has seen isn't believed", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    const [ours, other] = [world.machine("ours"), world.machine("other")];
    const saver = site.open(ours, { consistency: "trusted" });
    const first = await ledger.turn(saver);
    // The copy isn't trusted for longer than a minute.
    await world.pass(61_000);
    // Another process has looked at the first checkpoint, and is slow to copy what it saw.
    const held = world.hold("adopt", { from: other });
    await site.open(other, { consistency: "trusted" }).getTuple(configOf("t"));
    const second = await ledger.turn(saver);
    await world.pass(1000);
    // The hot tier loses everything, and so forgets that it had a newer copy. The first checkpoint is read again, and the old copy comes.
    await site.tiers.hot.deleteThread("t");
    await site.open(world.machine("reader")).getTuple(configOf("t", first));
    await world.pass(1000);
    await held.release();
    await world.pass(1000);
    expect((await saver.getTuple(configOf("t")))?.checkpoint.id).toBe(second);
  });
});
