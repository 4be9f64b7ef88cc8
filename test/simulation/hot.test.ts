import { configOf, Ledger } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { Site, warmUp } from "./site.ts";

beforeAll(warmUp);

test("a hot tier that is silent costs two timeouts, is tried again ever more seldom, and every half minute at last", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    const process = world.machine("process");
    await ledger.turn(site.before());
    const saver = site.open(process, {}, Date.now);
    const triedMs: number[] = [];
    const silence = async (): Promise<void> => {
      for (;;) {
        await world.hold("read", { to: site.hot }).reached;
        triedMs.push(world.clock.nowMs);
      }
    };
    void silence();
    while (world.clock.nowMs < 150_000) {
      const [beganMs, before] = [world.clock.nowMs, triedMs.length];
      await saver.getTuple(configOf("t"));
      // Each try may take a quarter of a second, and a few turns of the event loop.
      const tookMs = world.clock.nowMs - beganMs;
      expect(Math.floor(tookMs / 250)).toBe(triedMs.length - before);
      expect(tookMs % 250).toBeLessThan(10);
      await world.pass(200);
    }
    expect(triedMs.map((ms) => Math.round(ms / 1000))).toEqual([0, 0, 2, 4, 8, 16, 33, 63, 93, 123]);
  });
});

test("copies of one thread are made one after another", async () => {
  await simulate(async (world) => {
    const site = new Site(world);
    const ledger = new Ledger("t");
    const saver = site.open(world.machine("process"));
    const [first, second] = [world.hold("append", { to: site.hot }), world.hold("append", { to: site.hot })];
    let isBegun = false;
    void second.reached.then(() => (isBegun = true));
    await ledger.turn(saver);
    await first.reached;
    await ledger.turn(saver);
    await world.pass(100);
    expect(isBegun).toBe(false);
    await first.release();
    await second.reached;
  });
});
