import { MemoryTier, TierSaver } from "@stratigraph/core";
import type { Reading } from "@stratigraph/core/tier";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import {
  type BaseCheckpointSaver,
  type Checkpoint,
  emptyCheckpoint,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { Redis } from "ioredis";
import pg from "pg";
import { SCENARIOS } from "../scenarios.ts";
import { median } from "../stats.ts";

/** Input of the job. */
export interface TieredReadsInput {
  url: string;
  schema: string;
  /** A Redis that nothing else uses: it is emptied. */
  redisUrl: string;
  /** Turns in the first state, about 4.9 kB each, and puts after it. */
  startTurns: number;
  puts: number;
  gets: number;
  /** Threads for Redis' memory. */
  threads: number;
}

/** Times are medians in milliseconds, sizes bytes. */
export interface TieredReadsResult {
  /** Encoded bytes of what one read needs. */
  encoded: number;
  /** Serialised size of the state. */
  state: number;
  trusted: number;
  bareRedis: number;
  verified: number;
  barePostgres: number;
  memoryTrusted: number;
  memoryVerified: number;
  /** Bytes that cross wires for one read that hits process memory. */
  memoryTrustedWire: number;
  memoryVerifiedWire: number;
  stackPut: number;
  postgresPut: number;
  postgresGet: number;
  /** First read with Redis and process memory empty, and with process memory empty. */
  coldStart: number;
  coldProcess: number;
  redisPerThread: number;
}

const config = (threadId: string) => ({ configurable: { thread_id: threadId, checkpoint_ns: "" } });

/** Measures one thread's latest read through stacks against reads of as many bytes by hand, all in turns. */
export async function job(input: TieredReadsInput): Promise<TieredReadsResult> {
  const client = new Redis(input.redisUrl);
  const pool = new pg.Pool({ connectionString: input.url, max: 4 });
  const sockets = new Set<{ bytesRead: number; bytesWritten: number }>();
  pool.on("connect", (opened) => void sockets.add(streamOf(opened)));
  const wire = (): number =>
    [...sockets, client.stream as { bytesRead: number; bytesWritten: number }].reduce(
      (sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten,
      0,
    );
  const warm = () => postgres({ pool, schema: input.schema });
  const hot = () => redis({ client, ttl: "15m" });
  const stack = (options: Omit<TieredSaverOptions, "warm">) =>
    // Breakers must not open because the machine does other work: the reads through every tier are what is measured.
    new TieredSaver({ breaker: { timeout: "10s" }, ...options, warm: warm() });

  const plain = new TierSaver(warm());
  await plain.setup();
  const trusted = stack({ hot: hot(), consistency: "trusted" });
  const verified = stack({ hot: hot() });
  const nearTrusted = stack({ hot: [boundedMemory(), hot()], consistency: "trusted" });
  const nearVerified = stack({ hot: boundedMemory() });

  const times = { stack: [] as number[], postgres: [] as number[] };
  const parents = new Map<string, string>();
  let last: Record<string, unknown> = {};
  // The first rounds are for compiling. Each round has threads of its own; the thread of the last one is read below.
  for (const round of ["first ", "second ", "third ", ""]) {
    let step = 0;
    for (last of SCENARIOS.growing(input)) {
      step += 1;
      const both = [
        ["stack", verified],
        ["postgres", plain],
      ] as const;
      for (const [name, saver] of step % 2 === 0 ? both : both.toReversed()) {
        const took = await timed(() => put(saver, `${round}${name}`, parents, last, step));
        // The first put is a whole state, and opens connections.
        if (step > 3 && !["first ", "second "].includes(round)) times[name].push(took);
        // The copy to Redis isn't on the caller's path; it must not run into the next measurement.
        await verified.tier.idle();
      }
    }
  }

  const held = await warm().read({ threadId: "stack", namespace: "" });
  const { record, blobs } = held.checkpoint!;
  const pieces = [record.body, ...[...blobs.values()].map(({ bytes }) => bytes)].map((bytes) =>
    Buffer.from(bytes),
  );
  for (const [i, piece] of pieces.entries()) await client.set(`bare:${i}`, piece);
  await pool.query(`create table ${input.schema}.bare (id int primary key, bytes bytea)`);
  await pool.query(`insert into ${input.schema}.bare values (1, $1)`, [Buffer.concat(pieces)]);
  const bareRedis = new TierSaver(
    new ByHand(held, async () => {
      const pipeline = client.pipeline();
      for (const i of pieces.keys()) pipeline.getBuffer(`bare:${i}`);
      await pipeline.exec();
    }),
  );
  const select = `select bytes from ${input.schema}.bare where id = 1`;
  const barePostgres = new TierSaver(new ByHand(held, async () => void (await pool.query(select))));

  const savers = { trusted, bareRedis, verified, barePostgres, nearTrusted, nearVerified, plain };
  const reads = Object.fromEntries(Object.keys(savers).map((name) => [name, [] as number[]])) as Record<
    keyof typeof savers,
    number[]
  >;
  const wires = { nearTrusted: [] as number[], nearVerified: [] as number[] };
  for (let get = -5; get < input.gets; get += 1) {
    for (const [name, saver] of Object.entries(savers) as [keyof typeof savers, BaseCheckpointSaver][]) {
      const before = wire();
      const took = await timed(() => saver.getTuple(config("stack")));
      if (get >= 0) {
        reads[name].push(took);
        if (name === "nearTrusted" || name === "nearVerified") wires[name].push(wire() - before);
      }
      // Wait for the copies and renewals of the first rounds.
      if (saver instanceof TieredSaver) await saver.tier.idle();
    }
  }

  const coldStart: number[] = [];
  const coldProcess: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    await client.flushall();
    for (const into of [coldStart, coldProcess]) {
      const fresh = stack({ hot: [boundedMemory(), hot()] });
      await fresh.getTuple(config("another"));
      into.push(await timed(() => fresh.getTuple(config("stack"))));
      await fresh.tier.idle();
    }
  }

  await client.flushall();
  const empty = await usedMemory(client);
  for (let n = 0; n < input.threads; n += 1) await verified.tier.copyThread?.("stack", `hot ${n}`);
  for (let n = 0; n < input.threads; n += 1) {
    await verified.getTuple(config(`hot ${n}`));
    await verified.tier.idle();
  }
  const redisPerThread = ((await usedMemory(client)) - empty) / input.threads;
  client.disconnect();
  await pool.end();
  return {
    encoded: pieces.reduce((sum, { length }) => sum + length, 0),
    state: JSON.stringify(last).length,
    trusted: median(reads.trusted),
    bareRedis: median(reads.bareRedis),
    verified: median(reads.verified),
    barePostgres: median(reads.barePostgres),
    memoryTrusted: median(reads.nearTrusted),
    memoryVerified: median(reads.nearVerified),
    memoryTrustedWire: median(wires.nearTrusted),
    memoryVerifiedWire: median(wires.nearVerified),
    stackPut: median(times.stack),
    postgresPut: median(times.postgres),
    postgresGet: median(reads.plain),
    coldStart: median(coldStart),
    coldProcess: median(coldProcess),
    redisPerThread,
  };
}

/** Reads by hand: fetches as many bytes as the answer has, and answers what was read before. */
class ByHand extends MemoryTier {
  readonly #held: Reading;
  readonly #fetch: () => Promise<void>;

  constructor(held: Reading, fetch: () => Promise<void>) {
    super();
    this.#held = held;
    this.#fetch = fetch;
  }

  override async read(): Promise<Reading> {
    await this.#fetch();
    return this.#held;
  }
}

async function put(
  saver: BaseCheckpointSaver,
  threadId: string,
  parents: Map<string, string>,
  channel_values: Record<string, unknown>,
  step: number,
): Promise<void> {
  const parent = parents.get(threadId);
  const versions = Object.fromEntries(Object.keys(channel_values).map((channel) => [channel, step]));
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values,
    channel_versions: versions,
  };
  const at = { ...config(threadId).configurable, ...(parent === undefined ? {} : { checkpoint_id: parent }) };
  await saver.put({ configurable: at }, checkpoint, { source: "loop", step, parents: {} }, versions);
  parents.set(threadId, checkpoint.id);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function streamOf(client: unknown): { bytesRead: number; bytesWritten: number } {
  return (client as { connection: { stream: { bytesRead: number; bytesWritten: number } } }).connection
    .stream;
}

async function usedMemory(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
}
