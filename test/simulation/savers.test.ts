import { MemoryTier, TierSaver } from "@stratigraph/core";
import { configOf, idOf, Ledger } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import { simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { World } from "./world.ts";

beforeAll(warmUp);

/** A storage, and savers of several processes over it. */
function storageOf(world: World): {
  tier: MemoryTier;
  server: Machine;
  open: (process: Machine) => TierSaver;
} {
  const server = world.machine("server");
  const tier = server.run(() => new MemoryTier());
  const open = (process: Machine): TierSaver =>
    process.run(() => new TierSaver(world.connect(process, server, tier), { conflict: "throw" }));
  return { tier, server, open };
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
