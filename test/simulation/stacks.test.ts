import type { TieredSaverOptions } from "@stratigraph/tiered";
import { inRounds } from "../rounds.ts";
import { configOf, isExpected, Ledger } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import { explore } from "./simulate.ts";
import { Site, warmUp } from "./site.ts";

beforeAll(warmUp);

describe.each([
  ["verified", {}, []],
  ["trusted", { consistency: "trusted" }, []],
  ["a warm tier that lists no deletions", {}, ["tombstones", "strays"]],
] as [string, Partial<TieredSaverOptions>, string[]][])("%s", (_name, options, without) => {
  test("two writers and an archiver, on a thread that was archived: what was acknowledged is there, once and unmixed", async () => {
    await explore(
      async (world) => {
        const site = new Site(world, without);
        const ledger = new Ledger("t");
        const before = site.before();
        const first = (await ledger.turn(before))!;
        await ledger.turn(before, ["asked"]);
        await before.maintain();
        const [a, b, reader, archiver, next] = ["a", "b", "reader", "archiver", "next"].map((name) =>
          world.machine(name),
        ) as [Machine, Machine, Machine, Machine, Machine];
        const writers = [a, b].map((process) =>
          process.finish(async () => {
            const saver = site.open(process, options, Date.now);
            if (process === a) await world.pass(10_000);
            for (let n = 0; n < 3; n += 1) {
              await ledger.turn(saver, [`${process.name} ${n}`]);
              if (n === 0) await ledger.write(saver, first, process.name).catch(refuseUnexpected);
              // Copies aren't trusted for longer than a minute.
              if (n > 0) await world.pass(31_000);
            }
          }),
        );
        const reading = reader.finish(async () =>
          ledger.check(await site.open(reader).getTuple(configOf("t"))),
        );
        // One of b's first questions to the warm tier takes long.
        let left = world.choose(8);
        const slow = world.hold("peek", { from: b, when: () => --left === 0 });
        const answering = async (): Promise<void> => {
          await slow.reached;
          await world.pass(5000);
          await slow.release();
        };
        void answering();
        const archiving = archiver.finish(async () => {
          const saver = site.open(archiver, options);
          for (let n = 0; n < 2; n += 1) await saver.maintain().catch(refuseUnexpected);
        });
        world.offer("a is killed", () => a.kill());
        world.offer("the archiver is killed", () => archiver.kill());
        world.offer("the hot tier loses the thread", () => void site.tiers.hot.deleteThread("t"));
        await Promise.all([...writers, reading.catch(refuseUnexpected), archiving]);
        await world.calm();
        await ledger.checkStored(site.tiers.warm);
        await next.run(() => site.open(next).maintain());
        await reader.run(() => ledger.checkAll(site.open(reader)));
      },
      { schedules: inRounds({ few: 40, all: 200 }), faults: 2, choices: 120 },
    );
  });
});

function refuseUnexpected(error: unknown): void {
  if (!isExpected(error)) throw error;
}
