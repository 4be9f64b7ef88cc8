import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { Tier } from "@stratigraph/core";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { MemoryTier } from "@stratigraph/core";
import type { TieredSaver } from "@stratigraph/tiered";
import { configOf, idOf, Ledger } from "./ledger.ts";
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
      const left = [];
      for await (const { record } of site.tiers.warm.list({ threadId: "t" })) left.push(record.checkpointId);
      expect(left).toEqual([]);
      await ledger.checkAll(site.open(world.machine("reader")));
    });
  },
);

test("a turn that comes while the thread is marked as archived stays in the warm tier", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    const archiver = world.machine("archiver");
    const saver = site.open(world.machine("writer"));
    await ledger.turn(saver);
    const announcing = world.hold("append", { from: archiver, to: site.warm });
    const maintaining = site.open(archiver).maintain();
    await announcing.reached;
    const held = world.hold("append", { from: archiver, to: site.warm });
    await announcing.release();
    await held.reached;
    await ledger.turn(saver);
    await held.release();
    expect((await maintaining).steps).toMatchObject([{ what: "archive", done: false }]);
    await ledger.checkAll(site.open(world.machine("reader")));
  });
});

test.each<[string, (listed: ListedCheckpoint) => Partial<ListedCheckpoint>]>([
  ["its record differs", ({ record }) => ({ record: { ...record, parentId: "another" } })],
  ["a value is missing", () => ({ blobs: new Map() })],
  ["pending writes are missing", () => ({ writes: [] })],
  ["it isn't the head", () => ({ head: undefined })],
])("read back from the archive, %s: the thread stays", async (what, change) => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    site.tiers.cold = listing(new MemoryTier(), change);
    const saver = site.open(world.machine("writer"));
    await ledger.turn(saver);
    await ledger.turn(saver, ["task"]);
    const { steps } = await saver.maintain();
    expect(steps).toMatchObject([
      { what: "archive", threadId: "t", error: { message: expect.stringContaining(what) } },
    ]);
    expect(await site.tiers.warm.blobs("t")).not.toEqual([]);
  });
});

/** A storage that lists checkpoints otherwise than they came. */
function listing(tier: MemoryTier, change: (listed: ListedCheckpoint) => Partial<ListedCheckpoint>): Tier {
  return new Proxy(tier as Tier, {
    get: (target, name) => {
      if (name === "list")
        return async function* (...args: Parameters<Tier["list"]>): AsyncGenerator<ListedCheckpoint> {
          for await (const listed of target.list(...args)) yield { ...listed, ...change(listed) };
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

  test.each(["the next maintenance", "a second deletion"])(
    "a deletion while the archive is away is finished by %s",
    async (by) => {
      await simulate(async (world) => {
        const site = new Site(world, without);
        const ledger = new Ledger("t");
        const saver = site.open(world.machine("process"));
        await ledger.turn(saver);
        await saver.maintain();
        const held = world.hold("deleteUnchanged", { to: site.cold });
        const deleting = saver.deleteThread("t");
        await held.fail();
        await deleting;
        const archived = async () => (await site.tiers.cold.peek({ threadId: "t", namespace: "" })).head;
        expect(await archived()).toBeDefined();
        const next = site.open(world.machine("next"));
        if (by === "a second deletion") await next.deleteThread("t");
        else await next.maintain();
        expect(await archived()).toBeUndefined();
        await ledger.checkGone(site.open(world.machine("reader")));
      });
    },
  );
});

test("a deletion that a clock which went back dates before one that was finished is finished, too", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const saver = site.open(world.machine("process"));
    for (const threadId of ["t1", "t2"]) await new Ledger(threadId).turn(saver);
    await saver.maintain();
    site.warm.clockAheadMs = 60_000;
    await saver.deleteThread("t1");
    await saver.maintain();
    site.warm.clockAheadMs = 0;
    // Its process dies, so that nobody remembers that the archive was away.
    const other = world.machine("other");
    const held = world.hold("deleteUnchanged", { to: site.cold });
    void site
      .open(other)
      .deleteThread("t2")
      .catch(() => undefined);
    await held.reached;
    other.kill();
    await saver.maintain();
    expect((await site.tiers.cold.peek({ threadId: "t2", namespace: "" })).head).toBeUndefined();
  });
});

describe.each([false, true])("a deletion while an archived thread is restored; begun anew: %s", (isAnew) => {
  /**
   * Holds a call of the restorer in `work` until the thread is deleted in the warm tier; the deleter dies before it deletes the archive.
   * Returns the result or the error of `work`.
   */
  const deletedWhile = async (
    prepare: (saver: TieredSaver, ledger: Ledger, first: string) => Promise<unknown>,
    work: (saver: TieredSaver) => Promise<unknown>,
    method = "append",
  ): Promise<unknown> => {
    let end: unknown;
    await simulate(async (world) => {
      const site = new Site(world);
      const [ledger, anew] = [new Ledger("t"), new Ledger("t", 100)];
      const [restorer, deleter] = [world.machine("restorer"), world.machine("deleter")];
      const before = site.open(world.machine("before"));
      const first = (await ledger.turn(before))!;
      await ledger.turn(before);
      await before.maintain();
      const saver = site.open(restorer, { restoreOn: "write" });
      await prepare(saver, ledger, first);
      const held = world.hold(method, { from: restorer, to: site.warm });
      const working = work(saver).catch((error: unknown) => error);
      await held.reached;
      const last = world.hold("deleteUnchanged", { from: deleter, to: site.cold });
      void site
        .open(deleter)
        .deleteThread("t")
        .catch(() => undefined);
      await last.reached;
      deleter.kill();
      if (isAnew) await anew.turn(site.open(world.machine("anew")));
      await held.release();
      end = await working;
      const reader = site.open(world.machine("reader"));
      await (isAnew ? anew.checkAll(reader) : anew.checkGone(reader));
    });
    return end;
  };
  const late = async (saver: TieredSaver, ledger: Ledger, first: string): Promise<void> => {
    await ledger.write(saver, first, "late");
    await ledger.turn(saver);
  };

  test.each(["append", "strays", "read"])("by an archiver, late at %s", async (method) => {
    const steps = await deletedWhile(late, async (saver) => (await saver.maintain()).steps, method);
    expect(steps).not.toMatchObject([{ error: expect.anything() as unknown }]);
  });

  test("by somebody who restores all of it", async () => {
    const restored = await deletedWhile(
      async () => undefined,
      async (saver) => await saver.tier.restoreThread!("t"),
    );
    expect(restored).toMatchObject({ checkpoints: 0 });
  });

  test.each(["append", "read", "peek"])("by a run, late at %s, which is told", async (method) => {
    let tuple: CheckpointTuple | undefined;
    const ended = await deletedWhile(
      async (saver) => (tuple = await saver.getTuple(configOf("t"))),
      async (saver) => {
        const { checkpoint, metadata } = tuple!;
        const next = { ...checkpoint, id: idOf(50) };
        await saver.put(configOf("t", checkpoint.id), next, metadata!, {});
      },
      method,
    );
    expect(ended).toMatchObject({ code: "THREAD_DELETED" });
  });
});
