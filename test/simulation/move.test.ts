import { MemoryTier, TierSaver } from "@stratigraph/core";
import { moveThreads } from "@stratigraph/migrate";
import { configOf, Ledger } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { World } from "./world.ts";

beforeAll(warmUp);

/** A thread of two checkpoints in one storage, a writer there, and a process that moves it to another storage. */
async function opened(world: World) {
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
  const move = (whatBecomes: "keep" | "delete") => moveThreads(source, target, { source: whatBecomes });
  return { ledger, saver, mover, to, tiers, move, copy: () => new TierSaver(tiers.to) };
}

test("a run goes on while its thread's copy is verified: the thread stays, and the next move brings the rest", async () => {
  await simulate(async (world) => {
    const { ledger, saver, mover, to, move, copy } = await opened(world);
    const verifying = world.hold("list", { from: mover, to });
    const moving = move("delete");
    await verifying.reached;
    await ledger.turn(saver);
    await verifying.release();
    expect((await moving).differences).toMatchObject([{ what: expect.stringContaining("repeat the move") }]);
    await ledger.checkAll(saver);
    expect((await move("delete")).differences).toEqual([]);
    await ledger.checkAll(copy());
    await ledger.checkGone(saver);
  });
});

test.each([
  [1, []],
  [3, [{ what: expect.stringContaining("written to while it was copied") }]],
])("a run goes on %i times while its thread is copied: it is copied again, or told", async (times, told) => {
  await simulate(async (world) => {
    const { ledger, saver, mover, to, move, copy } = await opened(world);
    const moving = move("keep");
    for (let n = 0; n < times; n += 1) {
      const copying = world.hold("append", { from: mover, to });
      await copying.reached;
      await ledger.turn(saver);
      await copying.release();
    }
    expect((await moving).differences).toMatchObject(told);
    if (told.length > 0) await move("keep");
    await ledger.checkAll(copy());
  });
});

test("a thread that went on in the target keeps its head, and is left alone where it went on in both", async () => {
  await simulate(async (world) => {
    const { ledger, saver, move, copy } = await opened(world);
    await move("keep");
    await ledger.turn(copy());
    expect(await move("keep")).toMatchObject({ diverged: [], differences: [] });
    await ledger.checkAll(copy());
    const before = (await saver.getTuple(configOf("t")))!.checkpoint.id;
    expect(await ledger.turn(saver)).toBeDefined();
    expect(await move("delete")).toMatchObject({ diverged: ["t"] });
    expect((await copy().getTuple(configOf("t")))?.parentConfig?.configurable?.["checkpoint_id"]).toBe(
      before,
    );
    expect((await saver.getTuple(configOf("t")))?.parentConfig?.configurable?.["checkpoint_id"]).toBe(before);
  });
});

test("a copy whose record differs is told, and the thread stays", async () => {
  await simulate(async (world) => {
    const { ledger, saver, tiers, move } = await opened(world);
    await move("keep");
    const { checkpoint } = await tiers.to.read({ threadId: "t", namespace: "" });
    const record = { ...checkpoint!.record, runId: "another" };
    await tiers.to.append({ threadId: "t", records: [record], blobs: [], heads: [], onConflict: "refuse" });
    expect((await move("delete")).differences).toMatchObject([{ what: "its record differs" }]);
    await ledger.checkAll(saver);
  });
});
