import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, type Consistency } from "@stratigraph/tiered";
import { stepsGraph } from "./stepsGraph.ts";

// Runs a graph through redis>postgres and reports every acknowledged put, until it is killed.
const [threadId, consistency, steps, cutAt, url, redisUrl, prefix] = process.argv.slice(2) as [
  string,
  Consistency,
  string,
  string,
  string,
  string,
  string,
];

/** An acknowledged put, with what it put. */
export interface KillMessage {
  readonly id: string;
  readonly log: string[] | undefined;
  /** Nothing of this put reached Redis, nor will anything later. */
  readonly cut: boolean;
}

const hot = new FaultyTier(redis({ url: redisUrl, prefix, ttl: "5m" }));
const saver = new TieredSaver({ hot, warm: postgres({ url }), consistency, breaker: { timeout: "1m" } });
const put = saver.put.bind(saver);
let puts = 0;
saver.put = async (config, checkpoint, ...rest) => {
  puts += 1;
  const cut = puts === Number(cutAt);
  if (cut) {
    await saver.tier.idle();
    // From here to its death, it reaches Postgres and no longer Redis: the gap between commit and copy, as wide as needed.
    for (const method of ["append", "adopt", "appendWrites"] as const) hot.delay(method, 60_000);
  }
  const stored = await put(config, checkpoint, ...rest);
  const log = "log" in checkpoint.channel_versions ? checkpoint.channel_values["log"] : undefined;
  process.send?.({ id: checkpoint.id, log: log as string[] | undefined, cut } satisfies KillMessage);
  // The parent kills it here.
  if (cut) await new Promise(() => setInterval(() => undefined, 1000));
  return stored;
};

const config = {
  configurable: { thread_id: threadId },
  durability: "sync" as const,
  recursionLimit: 1000,
};
await stepsGraph(saver, Number(steps)).invoke({ log: [] }, config);
await saver.end();
