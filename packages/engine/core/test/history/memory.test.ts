import { MemoryTier, TierSaver, type SaverOptions } from "@stratigraph/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { history } from "./commands.ts";
import { World } from "./model.ts";
import { inRounds } from "../../../../../test/rounds.ts";

const encryption = {
  keys: { one: new Uint8Array(32).fill(1) },
  activeKey: "one",
  hashKey: new Uint8Array(32).fill(2),
};

const settings: readonly (readonly [name: string, options: SaverOptions, seed: number])[] = [
  ["as it comes", {}, 1],
  ["encrypted", { encryption: { ...encryption, refusePlaintext: true } }, 2],
  ["without patches", { patchMemory: "0b" }, 3],
  ["with memory for a few values", { patchMemory: "100kb" }, 4],
];

const all = new Map<string, number>();

for (const [name, options, seed] of inRounds({ few: settings.slice(0, 3), all: settings })) {
  test(`two savers in turn, ${name}: every kept checkpoint is what was put`, async () => {
    const done = new Map<string, number>();
    let patches = 0;
    const property = fc.asyncProperty(history(50), async (commands) => {
      const tier = new MemoryTier();
      const open = (): TierSaver => new TierSaver(tier, options);
      const savers = [open(), open()];
      const world = new World(savers);
      await world.run(commands);
      for (const saver of [...savers, open()]) await world.check(saver);
      for (const [what, times] of world.done) done.set(what, (done.get(what) ?? 0) + times);
      for await (const { threadId } of tier.threads({}))
        for (const { base } of await tier.blobs(threadId)) if (base !== undefined) patches += 1;
    });
    await fc.assert(property, { seed, numRuns: 3, endOnFailure: true });
    for (const [what, times] of done) all.set(what, (all.get(what) ?? 0) + times);
    if (options.patchMemory === "0b") expect(patches).toBe(0);
    else expect(patches).toBeGreaterThan(20);
  });
}

test("everything happened: a history in which nothing does proves nothing", () => {
  for (const what of ["put", "write", "putAgain", "scribble", "prune", "deleteRun", "copy", "deleteThread"])
    expect(all.get(what), what).toBeGreaterThan(1);
});
