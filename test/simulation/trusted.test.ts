import type { WireCall } from "./wireCall.ts";
import { configOf, Ledger } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { Site, warmUp } from "./site.ts";

beforeAll(warmUp);

const trusted = { consistency: "trusted" } as const;
/** Whether a call reads a namespace's state, to renew the copy of it. */
const reads = ({ args: [at] }: WireCall): boolean => (at as { namespace: string }).namespace === "";

test("a copy that is older than what a process has seen isn't believed", async () => {
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

test.each(["peek", "adopt"])(
  "a copy that is at its %s while its process writes isn't believed afterwards",
  async (method) => {
    await simulate(async (world) => {
      const site = new Site(world);
      const ledger = new Ledger("t");
      const ours = world.machine("ours");
      const saver = site.open(ours, trusted, Date.now);
      await ledger.turn(saver);
      await world.pass(61_000);
      let nth = method === "peek" ? 2 : 1;
      const renewing = world.hold(method, { from: ours, when: () => --nth === 0 });
      await saver.getTuple(configOf("t"));
      if (method === "peek") await renewing.arrive();
      const second = await ledger.turn(saver);
      // The copy that this write renews is still to come.
      world.hold("peek", { from: ours, when: reads });
      await renewing.release();
      await world.pass(1);
      // A copy that is under way can't be called back: another process may believe it until the next one comes.
      const other = site.open(world.machine("other"), trusted, Date.now);
      for (const each of method === "peek" ? [other, saver] : [saver])
        expect((await each.getTuple(configOf("t")))?.checkpoint.id).toBe(second);
    });
  },
);

test("a copy is believed for a minute from when the warm tier was asked, however late its answer came", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    const ours = world.machine("ours");
    const saver = site.open(ours, trusted, Date.now);
    await ledger.turn(saver);
    await world.pass(61_000);
    let nth = 2;
    const renewing = world.hold("peek", { from: ours, when: () => --nth === 0 });
    await saver.getTuple(configOf("t"));
    await renewing.arrive();
    await world.pass(50_000);
    await renewing.release();
    await world.pass(1000);
    // This one can't reach the hot tier.
    const second = await ledger.turn(site.open(world.machine("other"), { hot: undefined }));
    await world.pass(10_000);
    expect((await saver.getTuple(configOf("t")))?.checkpoint.id).toBe(second);
  });
});

test("a deletion that is done says so, though the warm tier can't be asked again afterwards", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    const ours = world.machine("ours");
    const saver = site.open(ours, trusted, Date.now);
    await ledger.turn(saver);
    await world.pass(1000);
    const deleted = world.hold("deleteUnchanged", { from: ours, to: site.warm });
    const deleting = saver.deleteThread("t");
    await deleted.reached;
    const lost = world.hold("peek", { from: ours, to: site.warm });
    await deleted.release();
    await lost.fail();
    await deleting;
    await ledger.checkGone(saver);
    await ledger.checkGone(site.open(world.machine("other"), trusted, Date.now));
  });
});
