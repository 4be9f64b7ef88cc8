import type { TieredSaverOptions } from "@stratigraph/tiered";
import { inRounds } from "../rounds.ts";
import { isExpected, Ledger } from "./ledger.ts";
import { explore } from "./simulate.ts";
import { Site, warmUp } from "./site.ts";

beforeAll(warmUp);

describe.each([
  ["verified", {}, []],
  ["trusted", { consistency: "trusted" }, []],
  ["a warm tier that lists no deletions", {}, ["tombstones", "strays"]],
] as [string, Partial<TieredSaverOptions>, string[]][])("%s", (_name, options, without) => {
  test("two writers, an archiver and a reader: what was acknowledged is there, once and unmixed", async () => {
    await explore(
      async (world) => {
        const site = new Site(world, without);
        const ledger = new Ledger("t");
        const [a, b, archiver] = [world.machine("a"), world.machine("b"), world.machine("archiver")];
        const writers = [a, b].map((process) =>
          process.finish(async () => {
            const saver = site.open(process, { ...options, clock: Date.now });
            for (let n = 0; n < 3; n += 1) await ledger.turn(saver, [`${process.name} ${n}`]);
          }),
        );
        const archiving = archiver.finish(async () => {
          const saver = site.open(archiver, options);
          for (let n = 0; n < 2; n += 1) await saver.maintain().catch(refuseUnexpected);
        });
        world.offer("a is killed", () => a.kill());
        world.offer("the archiver is killed", () => archiver.kill());
        await Promise.all([...writers, archiving]);
        await world.calm();
        const reader = world.machine("reader");
        await reader.run(() => ledger.checkAll(site.open(reader)));
      },
      { schedules: inRounds({ few: 60, all: 200 }), faults: 2, choices: 120 },
    );
  });
});

function refuseUnexpected(error: unknown): void {
  if (!isExpected(error)) throw error;
}
