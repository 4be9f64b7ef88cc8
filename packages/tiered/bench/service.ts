import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../../test/servers/children.ts";
import { startPostgres } from "../../../test/servers/postgres.ts";
import { startRedis } from "../../../test/servers/redis.ts";
import { load } from "../test/serviceLoad.ts";

// How long a request takes at a service (test/fixtures/serviceChild.ts: Hono, two processes, 32 requests at once), with Redis in front of
// PostgreSQL and without:
//   npx tsx --conditions=@stratigraph/source packages/tiered/bench/service.ts

const threads = 32;
const turns = 20;
const script = join(import.meta.dirname, "../test/fixtures/serviceChild.ts");

/** Median, 95th and 99th percentile, in whole milliseconds. */
function percentiles(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b);
  return [50, 95, 99]
    .map((percent) => `p${percent} ${Math.round(sorted[Math.floor((sorted.length * percent) / 100)]!)} ms`)
    .join(", ");
}

/** CPU time that processes have taken so far, in milliseconds: user and system, of Linux's /proc in ticks of 10 ms. */
function cpuOf(pids: Readonly<Record<string, readonly number[]>>): Record<string, number> {
  const ticks = (pid: number): number => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13);
    return Number(user) + Number(system);
  };
  return Object.fromEntries(
    Object.entries(pids).map(([name, of]) => [name, of.reduce((sum, pid) => sum + 10 * ticks(pid), 0)]),
  );
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
    const pids = {
      services: services.map(({ pid }) => pid),
      postgres: postgres.pids,
      redis: redis === undefined ? [] : [redis.pid],
    };
    const before = cpuOf(pids);
    const { ms } = await load(addresses, threads, turns);
    const after = cpuOf(pids);
    const cpu = Object.entries(after).map(
      ([name, total]) => `${name} ${((total - before[name]!) / ms.length).toFixed(2)}`,
    );
    const reports = await Promise.all(
      addresses.map(async (address) => await (await fetch(`${address}/report`)).text()),
    );
    return `${percentiles(ms)}; CPU ms per request: ${cpu.join(", ")}; ${reports.join(" ")}`;
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
