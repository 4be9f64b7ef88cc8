import { availableParallelism, loadavg } from "node:os";
import { startRedis, startRedisCluster } from "../../servers/redis.ts";
import { ms, perSecond, times } from "../format.ts";
import type { RedisLoad, RedisLoadInput } from "../jobs/redisLoad.ts";
import { percentile } from "../stats.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "cluster";
export const order = 46;

const TOGETHER = 24;

/** A Redis Cluster of three masters under the same load as one Redis. */
export async function run(context: BenchContext): Promise<Table> {
  const one = await startRedis({ appendonly: true, extraArgs: ["--maxmemory-policy", "noeviction"] });
  const cluster = await startRedisCluster();
  try {
    for (const node of cluster.nodes) await node.command("config", "set", "appendonly", "yes");
    const load = async (threads: number): Promise<RedisLoad[]> =>
      await context.inChild<RedisLoad[]>(new URL("../jobs/redisLoad.ts", import.meta.url), {
        places: [
          { ports: [one.port], cluster: false },
          { ports: cluster.nodes.map(({ port }) => port), cluster: true },
        ],
        threads,
        windowMs: 1000,
        windows: context.options.quick ? 2 : 30,
      } satisfies RedisLoadInput);
    return table(await load(1), await load(TOGETHER));
  } finally {
    await cluster.stop();
    await one.stop();
  }
}

function table(alone: readonly RedisLoad[], together: readonly RedisLoad[]): Table {
  const durations = (label: string, loads: readonly RedisLoad[], call: "puts" | "gets"): string[][] =>
    [0.5, 0.99].map((share) => {
      const [one, cluster] = loads.map((load) => percentile(load[call], share));
      return [`${label}, p${share * 100}`, ms(one), ms(cluster), times(cluster, one)];
    });
  const row = (label: string, of: (load: RedisLoad) => number, print: typeof ms): string[] => {
    const [one, cluster] = together.map(of);
    return [label, print(one), print(cluster), times(cluster, one)];
  };
  return {
    title: "A Redis Cluster of three masters against one Redis",
    columns: ["", "one Redis", "3 masters, 3 replicas", "is"],
    rows: [
      ...durations("put, one thread", alone, "puts"),
      ...durations("getTuple, one thread", alone, "gets"),
      ...durations(`put, ${TOGETHER} threads`, together, "puts"),
      ...durations(`getTuple, ${TOGETHER} threads`, together, "gets"),
      row(
        `puts, and as many getTuples, ${TOGETHER} threads`,
        (load) => load.puts.length / (load.ms / 1000),
        perSecond,
      ),
      row(`client CPU of a put and a getTuple`, (load) => load.cpuMs / load.puts.length, ms),
    ],
    notes: [
      "RedisSaver, appendonly on, conversations that grow from 2 to 21 turns of 4.9 kB; each put is read back by a saver that remembers " +
        "nothing. One client process; a second of one, a second of the other, in turns.",
      `Seven servers and the client share ${availableParallelism()} cores with other work (load average ${loadavg()[0]!.toFixed(1)} at ` +
        "the end), and the client is what is busy: three masters can't show what they can do here, only what a cluster costs a call.",
    ],
  };
}
