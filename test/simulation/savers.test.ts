import { getEventListeners } from "node:events";
import { MemoryTier, TierSaver, type SaverOptions } from "@stratigraph/core";
import { configOf, idOf, Ledger } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import { simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { World } from "./world.ts";

beforeAll(warmUp);

/** A storage, and savers of several processes over it, which keep one checkpoint of each thread. */
function storageOf(world: World) {
  const server = world.machine("server");
  const tier = server.run(() => new MemoryTier());
  const open = (process: Machine, options: SaverOptions = { keepLast: 1 }): TierSaver =>
    process.run(
      () =>
        new TierSaver(world.connect(process, server, tier), { conflict: "throw", pause: "0ms", ...options }),
    );
  return { server, open };
}

test.each(["this process", "another one"])(
  "who waited for a checkpoint that %s puts leaves no timer behind, which would keep the process alive",
  async (by) => {
    await simulate(async (world) => {
      const { open } = storageOf(world);
      const saver = open(world.machine("waits"));
      const waiting = saver.stored(configOf("t", idOf(1)));
      await world.pass(500);
      await new Ledger("t").turn(by === "this process" ? saver : open(world.machine("puts")));
      await waiting;
      expect(world.clock.next()).toBeUndefined();
    });
  },
);

it("however many wait for a checkpoint by one signal, it has one listener, and ends all of them", async () => {
  await simulate(async (world) => {
    const { open } = storageOf(world);
    const saver = open(world.machine("waits"));
    const { signal, abort } = stoppable();
    const waiting = Array.from({ length: 30 }, () => saver.stored(configOf("t", idOf(1)), { signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    const reason = new Error("stopped");
    abort(reason);
    for (const ended of await Promise.allSettled(waiting)) expect(ended).toMatchObject({ reason });
    expect(world.clock.next()).toBeUndefined();
  });
});

function stoppable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) };
}

describe("maintenance by one process at a time", () => {
  /** Threads to prune, and two processes. The first one is about to prune the first thread. */
  async function maintained(world: World) {
    const { server, open } = storageOf(world);
    const [a, b] = [world.machine("a"), world.machine("b")];
    const [first, second] = [open(a), open(b)];
    for (const threadId of ["1", "2", "3"]) {
      const ledger = new Ledger(threadId);
      for (let n = 0; n < 2; n += 1) await ledger.turn(first);
    }
    const lease = world.hold("lease", { from: a });
    const pruning = world.hold("remove", { from: a });
    const maintaining = a.run(() => first.maintain());
    return { a, server, lease, pruning, maintaining, takeOver: () => b.run(() => second.maintain()) };
  }

  const steps = (done: number) => ({
    ran: true,
    steps: Array.from({ length: done }, () => ({ what: "prune" })),
  });

  test("takes as many leases as it needs", async () => {
    await simulate(async (world) => {
      const { lease, pruning, maintaining, takeOver } = await maintained(world);
      await lease.release();
      await pruning.reached;
      await world.pass(500_000);
      expect((await takeOver()).ran).toBe(false);
      await pruning.release();
      expect(await maintaining).toMatchObject(steps(3));
    });
  });

  test("that slept for longer than its lease ends after the thread under way", async () => {
    await simulate(async (world) => {
      const { a, lease, pruning, maintaining, takeOver } = await maintained(world);
      await lease.release();
      await pruning.reached;
      a.suspend();
      await world.pass(61_000);
      expect((await takeOver()).ran).toBe(true);
      a.resume();
      await pruning.release();
      expect((await maintaining).steps.length).toBeLessThan(2);
    });
  });

  test("whose lease was slow to answer knows that it has less of it left", async () => {
    await simulate(async (world) => {
      const { lease, pruning, maintaining } = await maintained(world);
      await lease.arrive();
      await world.pass(59_000);
      await lease.release();
      await pruning.reached;
      await world.pass(2000);
      await pruning.release();
      expect(await maintaining).toMatchObject(steps(1));
    });
  });

  test("ends where the storage gave its lease to another process, whose clock is right", async () => {
    await simulate(async (world) => {
      const { server, lease, pruning, maintaining, takeOver } = await maintained(world);
      await lease.release();
      await pruning.reached;
      server.clockAheadMs = 120_000;
      const others = world.hold("remove");
      const other = takeOver();
      await world.pass(20_000);
      await pruning.release();
      expect(await maintaining).toMatchObject(steps(1));
      await others.release();
      expect((await other).ran).toBe(true);
    });
  });
});

test("a thread that is written to when its retention ends stays", async () => {
  await simulate(async (world) => {
    const { open } = storageOf(world);
    const [keeper, writer] = [world.machine("keeper"), world.machine("writer")];
    const ledger = new Ledger("t");
    const saver = open(writer);
    await ledger.turn(saver);
    await world.pass(2 * 86_400_000);
    const held = world.hold("deleteUnchanged");
    const maintaining = open(keeper, { deleteAfter: "1d" }).maintain();
    await held.reached;
    await ledger.turn(saver);
    await held.release();
    expect((await maintaining).steps).toMatchObject([{ what: "delete", done: false }]);
    await ledger.checkAll(open(keeper));
  });
});

describe("a promotion while another process writes", () => {
  /** A thread of two checkpoints, of which the first one is about to be the head again. */
  async function promoting(world: World) {
    const { open } = storageOf(world);
    const [ours, others] = [world.machine("ours"), world.machine("others")];
    const ledger = new Ledger("t");
    const [saver, other] = [open(ours), open(others)];
    const first = (await ledger.turn(saver))!;
    await ledger.turn(saver);
    const held = world.hold("append", { from: ours });
    const promotion = ours.run(() => saver.promote(configOf("t", first)));
    await held.reached;
    return { ledger, held, promotion, other, reader: open(world.machine("reader")) };
  }

  test("is refused where the head has moved: the newer work stays", async () => {
    await simulate(async (world) => {
      const { ledger, held, promotion, other, reader } = await promoting(world);
      await ledger.turn(other);
      await held.release();
      await expect(promotion).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
      await ledger.checkAll(reader);
    });
  });

  test("is refused where its checkpoint was pruned: the head stays one that is there", async () => {
    await simulate(async (world) => {
      const { held, promotion, other, reader } = await promoting(world);
      const head = (await other.getTuple(configOf("t")))?.checkpoint.id;
      await other.prune(["t"], { strategy: "keep_latest" });
      await held.release();
      await expect(promotion).rejects.toMatchObject({ code: "STALE_READ" });
      expect((await reader.getTuple(configOf("t")))?.checkpoint.id).toBe(head);
    });
  });
});
