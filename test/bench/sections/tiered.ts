import { availableParallelism } from "node:os";
import { startRedis } from "../../servers/redis.ts";
import { query } from "../../servers/postgres.ts";
import { bytes, ms, ratio } from "../format.ts";
import type { TieredReadsInput, TieredReadsResult } from "../jobs/tieredReads.ts";
import type { ThroughputInput, ThroughputResult } from "../jobs/tieredThroughput.ts";
import { percentile } from "../stats.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "tiered";
export const order = 40;
export const needsPostgresSaver = true;

const CONCURRENT = 64;
const PROCESSES = 8;

/** What one saver did with 64 threads. */
interface Throughput {
  perSecond: number;
  p99: number;
}

/** Stacks of Redis over PostgreSQL: reads, puts, throughput, memory, cold starts. */
export async function run(context: BenchContext): Promise<Table> {
  const redis = await startRedis();
  try {
    const { quick } = context.options;
    const reads = await context.inChild<TieredReadsResult>(
      new URL("../jobs/tieredReads.ts", import.meta.url),
      {
        url: context.postgresUrl,
        schema: "tiered_reads",
        redisUrl: redis.url,
        startTurns: 20,
        puts: quick ? 10 : 40,
        gets: quick ? 10 : 100,
        threads: quick ? 5 : 50,
      } satisfies TieredReadsInput,
    );
    const puts = await rounds(context, redis.url);
    const throughput = (saver: ThroughputInput["saver"]): Throughput => {
      const measured = puts.get(saver)!;
      context.figures.set(`tiered.${saver}.putsPerSecond`, measured.perSecond);
      context.figures.set(`tiered.${saver}.p99`, measured.p99);
      return measured;
    };
    const official = throughput("official-postgres");
    const alone = throughput("postgres");
    const stack = throughput("redis>postgres");
    for (const [figure, value] of Object.entries(reads))
      context.figures.set(`tiered.${figure}`, value as number);
    return table(reads, { official, alone, stack });
  } finally {
    await redis.stop();
  }
}

/** Every saver twice, in turns: a machine that is busy for a while then slows them all. */
async function rounds(context: BenchContext, redisUrl: string): Promise<Map<string, Throughput>> {
  const forMs = context.options.quick ? 2_000 : 15_000;
  const all = new Map<string, number[]>();
  for (const round of [1, 2])
    for (const saver of ["official-postgres", "postgres", "redis>postgres"] as const) {
      const puts = await putsOf(context, saver, redisUrl, { round, forMs });
      all.set(saver, [...(all.get(saver) ?? []), ...puts]);
    }
  return new Map(
    [...all].map(([saver, puts]) => [
      saver,
      { perSecond: puts.length / ((2 * forMs) / 1000), p99: percentile(puts, 0.99) },
    ]),
  );
}

async function putsOf(
  context: BenchContext,
  saver: ThroughputInput["saver"],
  redisUrl: string,
  { round, forMs }: { round: number; forMs: number },
): Promise<number[]> {
  const schema = `throughput_${saver.replaceAll(/\W/g, "_")}`;
  const file = new URL("../jobs/tieredThroughput.ts", import.meta.url);
  const job = (n: number | string, threads: number, together: number, ms: number) =>
    context.inChild<ThroughputResult>(file, {
      saver,
      url: context.postgresUrl,
      redisUrl,
      schema,
      name: `round ${round}, process ${n}`,
      threads,
      processes: together,
      startLine: `round ${round}: start of ${together} with ${saver}`,
      forMs: ms,
    } satisfies ThroughputInput);
  // Creates the schema.
  if (round === 1) await job("first", 1, 1, 0);
  await query(context.postgresUrl, "checkpoint");
  const share = CONCURRENT / PROCESSES;
  const results = await Promise.all(
    Array.from({ length: PROCESSES }, (_, n) => job(n, share, PROCESSES, forMs)),
  );
  return results.flatMap((result) => result.puts);
}

function table(
  r: TieredReadsResult,
  { official, alone, stack }: Record<"official" | "alone" | "stack", Throughput>,
): Table {
  const atMost = (what: string, ours: number, label: string, other: number, limit: number): string[] => [
    what,
    ms(ours),
    `${ms(other)} (${label})`,
    ratio(ours, other),
    `at most ${limit} ×`,
    ours <= other * limit ? "reached" : "NOT reached",
  ];
  const plain = (what: string, ours: string, compared = "", is = ""): string[] => [
    what,
    ours,
    compared,
    is,
    "",
    "",
  ];
  const perSecond = (value: number): string => `${Math.round(value)}/s`;
  const times = alone.perSecond / official.perSecond;
  // A head, a revision and ids; the record without its channels' bytes.
  const noPayload = (wire: number): string => (wire < r.encoded / 4 ? "reached" : "NOT reached");
  return {
    title: "Stacks: memory, Redis, PostgreSQL",
    columns: ["", "ours", "compared with", "is", "target", ""],
    rows: [
      atMost("latest read, trusted", r.trusted, "pipelined Redis GETs + decoding", r.bareRedis, 1.5),
      atMost("latest read, verified", r.verified, "one-row SELECT + decoding", r.barePostgres, 1.3),
      plain("latest read, Postgres alone", ms(r.postgresGet)),
      plain("latest read in process memory, verified", ms(r.memoryVerified)),
      plain("latest read in process memory, trusted", ms(r.memoryTrusted)),
      [
        "… bytes on the wire, verified",
        bytes(r.memoryVerifiedWire),
        `${bytes(r.encoded)} (payload)`,
        ratio(r.memoryVerifiedWire, r.encoded),
        "no payload",
        noPayload(r.memoryVerifiedWire),
      ],
      [
        "… bytes on the wire, trusted",
        bytes(r.memoryTrustedWire),
        `${bytes(r.encoded)} (payload)`,
        ratio(r.memoryTrustedWire, r.encoded),
        "no payload",
        noPayload(r.memoryTrustedWire),
      ],
      atMost("put through redis>postgres", r.stackPut, "Postgres alone", r.postgresPut, 1.1),
      plain(
        "first read: Redis and process empty",
        ms(r.coldStart),
        `${ms(r.memoryVerified)} (warm)`,
        ratio(r.coldStart, r.memoryVerified),
      ),
      plain(
        "first read: process empty",
        ms(r.coldProcess),
        `${ms(r.memoryVerified)} (warm)`,
        ratio(r.coldProcess, r.memoryVerified),
      ),
      plain(
        "Redis memory per hot thread",
        bytes(r.redisPerThread),
        `${bytes(r.encoded)} (encoded), ${bytes(r.state)} (state)`,
        ratio(r.redisPerThread, r.encoded),
      ),
      [
        `puts per second, ${CONCURRENT} threads, ${PROCESSES} processes: PostgresSaver`,
        perSecond(alone.perSecond),
        `${perSecond(official.perSecond)} (official)`,
        `${times.toFixed(2)} ×`,
        "at least 3 ×",
        times >= 3 ? "reached" : "NOT reached",
      ],
      plain(
        "… redis>postgres",
        perSecond(stack.perSecond),
        `${perSecond(official.perSecond)} (official)`,
        `${(stack.perSecond / official.perSecond).toFixed(2)} ×`,
      ),
      plain(
        "… p99: PostgresSaver",
        ms(alone.p99),
        `${ms(official.p99)} (official)`,
        ratio(alone.p99, official.p99),
      ),
      plain(
        "… p99: redis>postgres",
        ms(stack.p99),
        `${ms(official.p99)} (official)`,
        ratio(stack.p99, official.p99),
      ),
    ],
    notes: [
      `One thread whose state has grown to ${bytes(r.state)}; a read needs ${bytes(r.encoded)} of encoded bytes. Medians, measured in turns in one process. ` +
        "Decoding is ours on both sides: the reads by hand fetch as many bytes and then give the saver the same record.",
      `Throughput: every thread puts a conversation that grows from 2 to 21 turns of 4.9 kB, then begins another; ${PROCESSES} processes on ${availableParallelism()} cores, fsync on; after a warm-up.`,
    ],
  };
}
