import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "@stratigraph/redis";
import { Cluster, Redis } from "ioredis";
import { SCENARIOS } from "../scenarios.ts";

/** Input of the job: ports of one server, or of the nodes of a cluster. */
export interface RedisLoadInput {
  places: readonly { ports: readonly number[]; cluster: boolean }[];
  /** Threads written and read at the same time. */
  threads: number;
  /** How long each place is under load at a time, and how often. */
  windowMs: number;
  windows: number;
}

/** What was measured at one place. Durations in milliseconds; CPU is that of this process. */
export interface RedisLoad {
  puts: number[];
  /** Reads by a saver that remembers nothing. */
  gets: number[];
  ms: number;
  cpuMs: number;
}

/** Puts growing conversations and reads each checkpoint back, now at one place and now at the other. */
export async function job({ places, threads, windowMs, windows }: RedisLoadInput): Promise<RedisLoad[]> {
  const loads = places.map((place, n) => new Load(place, n));
  // Loading codecs and compiling functions isn't part of what is measured.
  for (const load of loads) await load.window(4, 2000);
  for (const load of loads) load.forget();
  for (let window = 0; window < windows; window += 1)
    for (const load of window % 2 === 0 ? loads : loads.toReversed()) await load.window(threads, windowMs);
  for (const load of loads) load.close();
  return loads.map(({ measured }) => measured);
}

class Load {
  measured: RedisLoad = { puts: [], gets: [], ms: 0, cpuMs: 0 };
  readonly #client: Redis | Cluster;
  readonly #saver: RedisSaver;
  readonly #reader: RedisSaver;
  readonly #states = [...SCENARIOS.growing({ startTurns: 2, puts: 19 })];
  readonly #name: string;
  #threads = 0;

  constructor({ ports, cluster }: RedisLoadInput["places"][number], place: number) {
    const nodes = ports.map((port) => ({ host: "127.0.0.1", port }));
    this.#client = cluster ? new Cluster(nodes) : new Redis(nodes[0]!);
    this.#saver = new RedisSaver({ client: this.#client });
    this.#reader = new RedisSaver({ client: this.#client, patchMemory: "0b" });
    this.#name = `place ${place}`;
  }

  async window(threads: number, forMs: number): Promise<void> {
    const cpu = process.cpuUsage();
    const began = performance.now();
    await Promise.all(
      Array.from({ length: threads }, async () => {
        while (performance.now() < began + forMs) await this.#thread(began + forMs);
      }),
    );
    const used = process.cpuUsage(cpu);
    this.measured.ms += performance.now() - began;
    this.measured.cpuMs += (used.user + used.system) / 1000;
  }

  forget(): void {
    this.measured = { puts: [], gets: [], ms: 0, cpuMs: 0 };
  }

  close(): void {
    this.#client.disconnect();
  }

  async #thread(untilMs: number): Promise<void> {
    this.#threads += 1;
    const thread_id = `${this.#name} ${this.#threads}`;
    let parent: string | undefined;
    for (const [step, values] of this.#states.entries()) {
      if (performance.now() >= untilMs) return;
      const checkpoint: Checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(step),
        channel_values: values,
        channel_versions: { messages: step + 1 },
      };
      const at = { thread_id, checkpoint_ns: "", ...(parent === undefined ? {} : { checkpoint_id: parent }) };
      const metadata = { source: "loop" as const, step, parents: {} };
      const began = performance.now();
      await this.#saver.put({ configurable: at }, checkpoint, metadata, checkpoint.channel_versions);
      const stored = performance.now();
      const tuple = await this.#reader.getTuple({ configurable: { thread_id } });
      this.measured.gets.push(performance.now() - stored);
      this.measured.puts.push(stored - began);
      if (tuple?.checkpoint.id !== checkpoint.id)
        throw new Error(`${thread_id}: another checkpoint was read`);
      parent = checkpoint.id;
    }
  }
}
