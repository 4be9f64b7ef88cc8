import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { postgresBackups } from "../../../../../test/setBack/postgresBackups.ts";
import { testSetBack } from "../../../../../test/setBack/testSetBack.ts";

// Only PostgreSQL is set back: Redis still has what PostgreSQL lost, and so has the memory of the processes.

for (const consistency of ["verified", "trusted"] as const)
  testSetBack(`redis>postgres, ${consistency}`, async () => {
    const [{ url, drop }, shared] = await Promise.all([freshDatabase(), sharedRedis()]);
    const backups = postgresBackups(url);
    const savers: TieredSaver[] = [];
    let now = Date.now();
    const idle = async (): Promise<unknown> => await Promise.all(savers.map(({ tier }) => tier.idle()));
    return {
      open: async (options) => {
        const tiers = { hot: redis({ ...shared, ttl: "5m" }), warm: postgres({ url }) };
        const saver = new TieredSaver({ ...tiers, consistency, ...options }, () => now);
        await saver.setup();
        savers.push(saver);
        return saver;
      },
      mark: async () => {
        await idle();
        return await backups.mark();
      },
      setBack: async (mark) => {
        await idle();
        await backups.setBack(mark);
        // Until its time is up, a copy is believed without asking the warm tier.
        now += 3_600_000;
      },
      close: async () => {
        await Promise.all(savers.map((saver) => saver.end()));
        await drop();
      },
    };
  });
