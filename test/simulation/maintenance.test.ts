import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import type { LeaseKeeper } from "@stratigraph/core/tier";
import { Ledger } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import { simulate } from "./simulate.ts";
import { Site, warmUp } from "./site.ts";
import type { World } from "./world.ts";

beforeAll(warmUp);

/** Two processes that maintain a site of three idle threads. */
async function maintained(
  world: World,
): Promise<{ site: Site; one: Machine; other: Machine; ledgers: Ledger[] }> {
  const site = new Site(world);
  const ledgers = ["t1", "t2", "t3"].map((threadId) => new Ledger(threadId));
  for (const ledger of ledgers) await ledger.turn(site.open(world.machine("writer")));
  return { site, one: world.machine("one"), other: world.machine("other"), ledgers };
}

test("a process that was suspended for longer than its lease ends after the thread that it is at", async () => {
  await simulate(async (world) => {
    const { site, one, other, ledgers } = await maintained(world);
    const held = world.hold("append", { from: one, to: site.cold });
    const maintaining = one.run(() => site.open(one).maintain());
    await held.reached;
    one.suspend();
    await world.pass(59_000);
    expect(await other.run(() => site.open(other).maintain())).toMatchObject({ ran: false });
    await world.pass(2000);
    // The other one is at a thread, too, so that there are enough of them left to both.
    const theirs = world.hold("append", { from: other, to: site.cold });
    const takingOver = other.run(() => site.open(other).maintain());
    await theirs.reached;
    one.resume();
    await held.release();
    expect((await maintaining).steps).toMatchObject([{ threadId: "t1" }]);
    await theirs.release();
    expect((await takingOver).steps.map(({ threadId }) => threadId)).toEqual(["t1", "t2", "t3"]);
    const reader = site.open(world.machine("reader"));
    for (const ledger of ledgers) await ledger.checkAll(reader);
  });
});

test("a process whose lease the storage lost and gave to another one notices within a quarter of it", async () => {
  await simulate(async (world) => {
    const { site, one } = await maintained(world);
    const asking = world.hold("lease", { from: one });
    const maintaining = one.run(() => site.open(one, { pause: "20s" }).maintain());
    const [name, holder] = (await asking.reached).args as [string, string];
    await asking.release();
    await world.pass(1);
    const keeper = site.tiers.warm as Tier & LeaseKeeper;
    await keeper.lease(name, holder, 0);
    await keeper.lease(name, "another", 60_000);
    expect((await maintaining).steps).toMatchObject([{ threadId: "t1" }]);
    expect(world.clock.nowMs).toBeLessThan(20_100);
  });
});

test.each([
  [1, 20],
  [100, 900],
  [2000, 10_000],
])("after %i ms of work it rests for %i ms", async (workMs, restMs) => {
  await simulate(async (world) => {
    const { site, one } = await maintained(world);
    const [first, second] = [
      world.hold("append", { to: site.cold }),
      world.hold("append", { to: site.cold }),
    ];
    void one.run(() => site.open(one, { pause: undefined }).maintain());
    await first.reached;
    await world.pass(workMs);
    await first.release();
    const beganMs = world.clock.nowMs;
    await second.reached;
    expect(world.clock.nowMs - beganMs).toBe(restMs);
  });
});

test("by default one maintenance looks at a hundred threads", async () => {
  await simulate(async () => {
    const saver = new TierSaver(new MemoryTier(), { keepLast: 1 });
    for (let n = 0; n < 101; n += 1) {
      const ledger = new Ledger(`t${n}`);
      for (let turn = 0; turn < 2; turn += 1) await ledger.turn(saver);
    }
    for (const steps of [100, 1]) expect((await saver.maintain()).steps).toHaveLength(steps);
  });
});
