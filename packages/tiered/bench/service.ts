import { join } from "node:path";
import { runChild } from "../../../test/servers/children.ts";
import { startPostgres } from "../../../test/servers/postgres.ts";
import { startRedis } from "../../../test/servers/redis.ts";
import { load } from "../test/serviceLoad.ts";

// How long a request takes at a service (test/fixtures/service.ts: Hono, two processes, 32 requests at once), with Redis in front of
// PostgreSQL and without:
//   npx tsx --conditions=@stratigraph/source packages/tiered/bench/service.ts

const threads = 32;
const turns = 20;
const script = join(import.meta.dirname, "../test/fixtures/service.ts");

/** Median, 95th and 99th percentile, in whole milliseconds. */
function percentiles(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b);
  return [50, 95, 99]
    .map((percent) => `p${percent} ${Math.round(sorted[Math.floor((sorted.length * percent) / 100)]!)} ms`)
    .join(", ");
}

/** Runs the service on servers of its own. */
async function measured(withRedis: boolean): Promise<string> {
  const postgres = await startPostgres();
  const redis = withRedis ? await startRedis({ maxmemory: "256mb" }) : undefined;
  const args = redis === undefined ? [postgres.url] : [postgres.url, redis.url];
  const services = [0, 1].map(() => runChild<{ port: number }>(script, args));
  try {
    const ports = await Promise.all(services.map(({ message }) => message(() => true)));
    const addresses = ports.map(({ port }) => `http://127.0.0.1:${port}`);
    // The first turns compile code and open connections.
    await load(addresses, threads, 3);
    const { ms } = await load(addresses, threads, turns);
    const reports = await Promise.all(
      addresses.map(async (address) => await (await fetch(`${address}/report`)).text()),
    );
    return `${percentiles(ms)}; ${reports.join(" ")}`;
  } finally {
    await Promise.all(services.map((service) => service.kill()));
    await redis?.stop();
    await postgres.stop();
  }
}

for (const withRedis of [false, true, false, true])
  process.stdout.write(
    `${withRedis ? "Redis and PostgreSQL" : "PostgreSQL alone    "}: ${await measured(withRedis)}\n`,
  );
