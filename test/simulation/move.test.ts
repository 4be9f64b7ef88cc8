import { MemoryTier, TierSaver } from "@stratigraph/core";
import { moveThreads } from "@stratigraph/migrate";
import { Ledger } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { World } from "./world.ts";

beforeAll(warmUp);

/** A thread of two checkpoints in one storage, a process that moves it to another one and deletes it here, and a writer. */
async function moved(world: World) {
  const [mover, writer, from, to] = ["mover", "writer", "from", "to"].map((name) => world.machine(name)) as [
    never,
    never,
    never,
    never,
  ];
  const tiers = { from: new MemoryTier(), to: new MemoryTier() };
  const ledger = new Ledger("t");
  const saver = new TierSaver(world.connect(writer, from, tiers.from));
  for (let n = 0; n < 2; n += 1) await ledger.turn(saver, ["task"]);
  const [source, target] = [
    new TierSaver(world.connect(mover, from, tiers.from)),
    new TierSaver(world.connect(mover, to, tiers.to)),
  ];
  const move = () => moveThreads(source, target, { source: "delete" });
  return { ledger, saver, mover, from, to, move, copy: () => new TierSaver(tiers.to) };
}

test("a run goes on while its thread's copy is verified: the thread stays, and the next move brings the rest", async () => {
  await simulate(async (world) => {
    const { ledger, saver, mover, to, move, copy } = await moved(world);
    const verifying = world.hold("list", { from: mover, to });
    const moving = move();
    await verifying.reached;
    await ledger.turn(saver);
    await verifying.release();
    expect((await moving).differences).toMatchObject([{ what: expect.stringContaining("repeat the move") }]);
    await ledger.checkAll(saver);
    expect((await move()).differences).toEqual([]);
    await ledger.checkAll(copy());
    await ledger.checkGone(saver);
  });
});
