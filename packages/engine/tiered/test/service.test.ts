import { join } from "node:path";
import { available } from "../../../../test/servers/available.ts";
import { runChild } from "../../../../test/servers/children.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import type { ServiceReport } from "./fixtures/serviceChild.ts";
import { load } from "./serviceLoad.ts";

const turns = 6;
const atOnce = 32;

test.skipIf(!available.redis || !available.postgres)(
  "a service of two processes, 32 requests at once: Redis is used all the time, and nothing is dropped",
  async () => {
    const database = await freshDatabase();
    const { url, prefix } = await sharedRedis();
    const script = join(import.meta.dirname, "fixtures/serviceChild.ts");
    const services = [0, 1].map(() => runChild<{ port: number }>(script, [database.url, url, prefix]));
    try {
      const addresses = await Promise.all(
        services.map(async ({ message }) => `http://127.0.0.1:${(await message(() => true)).port}`),
      );
      const { lines } = await load(addresses, atOnce, turns);
      for (const [turn, each] of lines.entries()) expect(new Set(each)).toEqual(new Set([(turn + 1) * 4]));
      const reports = await Promise.all(
        addresses.map(async (address) => (await (await fetch(`${address}/report`)).json()) as ServiceReport),
      );
      const sum = (of: keyof ServiceReport): number => reports.reduce((all, report) => all + report[of], 0);
      expect({ dropped: sum("dropped"), openings: sum("openings") }).toEqual({ dropped: 0, openings: 0 });
      expect(sum("hits") + sum("misses")).toBeGreaterThanOrEqual(atOnce * (turns - 1));
      expect(sum("hits") / (sum("hits") + sum("misses"))).toBeGreaterThan(0.9);
      for (const address of addresses) {
        const ready = await fetch(`${address}/ready`);
        expect([ready.status, await ready.json()]).toMatchObject([
          200,
          {
            ok: true,
            tiers: [
              { role: "hot", ok: true },
              { role: "warm", ok: true },
            ],
          },
        ]);
      }
      for (const { send } of services) send("end");
      for (const { exit } of services) expect(await exit).toMatchObject({ code: 0, signal: null });
    } finally {
      await Promise.all(services.map((service) => service.kill()));
      await database.drop();
    }
  },
);
