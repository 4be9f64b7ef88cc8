import { MemoryTier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { put, stepsOf, text } from "./support.ts";

// A maintenance that was suspended before it deletes a copy in the archive takes nothing that was archived since.

const days = 86_400_000;

function opened() {
  const [warm, archive] = [new MemoryTier(), new MemoryTier()];
  const [slow, cold] = [new FaultyTier(warm, "warm"), new FaultyTier(archive, "cold")];
  const at = (afterMs: number, options = {}) =>
    new TieredSaver(
      { warm, cold: archive, archiveAfter: "7d", pause: "0ms", ...options },
      () => Date.now() + afterMs,
    );
  const archiveNow = async (saver: TieredSaver): Promise<void> => {
    const { blobs } = saver.coder;
    const check = (hash: Parameters<typeof blobs.payload>[0], found: Parameters<typeof blobs.payload>[1]) =>
      blobs.payload(hash, found);
    expect(await saver.tier.archiveThread!("t", check)).toMatchObject({ done: true });
  };
  return { warm, slow, cold, at, archiveNow };
}

test("a deletion is finished late: the next life, archived meanwhile, stays", async () => {
  const { warm, cold, at, archiveNow } = opened();
  const saver = at(30 * days);
  for (const n of [1, 2]) await put(saver, "t", n, text(`old ${n}`));
  await saver.maintain();
  await warm.deleteThread("t");
  const held = cold.hold("deleteUnchanged");
  const late = at(30 * days, { cold }).maintain();
  await held.reached;
  for (const n of [11, 12]) await put(saver, "t", n, text(`new ${n}`), n === 11 ? 0 : 11);
  await archiveNow(saver);
  held.release();
  expect((await late).steps).toMatchObject([{ what: "finish-deletion", done: false }]);
  expect(await stepsOf(at(30 * days), "t")).toEqual([12, 11]);
});

test.each(["cold deleteUnchanged", "cold list", "cold peek", "slow read"] as const)(
  "a copy expires, and the thread's newer checkpoints are archived at the expiry's %s: they stay",
  async (where) => {
    const [name, method] = where.split(" ") as ["cold" | "slow", "peek"];
    const { at, archiveNow, ...tiers } = opened();
    const saver = at(30 * days);
    for (const n of [1, 2]) await put(saver, "t", n, text(`old ${n}`));
    await saver.maintain();
    for (const n of [3, 4]) await put(saver, "t", n, text(`more ${n}`));
    const held = tiers[name].hold(method);
    const late = at(210 * days, {
      warm: tiers.slow,
      cold: tiers.cold,
      archiveAfter: "200d",
      deleteArchivedAfter: "201d",
    }).maintain();
    await held.reached;
    await archiveNow(saver);
    held.release();
    await late;
    expect(await stepsOf(at(30 * days), "t")).toEqual(expect.arrayContaining([4, 3]));
  },
);
