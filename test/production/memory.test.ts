import { join } from "node:path";
import { inRounds } from "../rounds.ts";
import { available } from "../servers/available.ts";
import { runChild } from "../servers/children.ts";
import { freshDatabase, sharedRedis } from "../servers/shared.ts";

interface Message {
  turns?: number;
  heap?: number;
  ended?: boolean;
}

// STRATIGRAPH_TEST_TURNS=20000 takes some ten minutes.
const turns = Number(process.env["STRATIGRAPH_TEST_TURNS"] ?? inRounds({ few: 320, all: 480, soak: 3200 }));

test.skipIf(!available.postgres || !available.redis)(
  "an instance holds no more memory after many turns than after few",
  async () => {
    const [database, place] = await Promise.all([freshDatabase(), sharedRedis()]);
    const hot = `${place.url}?ttl=1m&prefix=${encodeURIComponent(place.prefix)}`;
    const child = runChild<Message>(join(import.meta.dirname, "turnsChild.ts"), [
      database.url,
      hot,
      String(turns),
    ]);
    onTestFinished(async () => {
      await child.kill();
      await database.drop();
    });
    const exit = await child.exit;
    expect([exit.code, exit.stderr]).toEqual([0, ""]);
    expect(child.messages.at(-1)).toEqual({ ended: true });
    const heaps = child.messages.flatMap(({ heap }) => (heap === undefined ? [] : [heap / 1024 ** 2]));
    expect(heaps).toHaveLength(8);
    // A leak of 6 kB a turn would be found by 3,200 turns, one of 1 kB by 20,000. A few turns only warm the process up.
    const most = turns < 3200 ? 40 : 8;
    const early = Math.max(heaps[2]!, heaps[3]!);
    const late = Math.min(heaps[6]!, heaps[7]!);
    expect(late - early, `MB: ${heaps.map((heap) => heap.toFixed(1)).join(" ")}`).toBeLessThan(most);
  },
  1_800_000,
);
