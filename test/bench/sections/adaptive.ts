import { startRedis } from "../../servers/redis.ts";
import { count, ratio } from "../format.ts";
import type { ArchivePolicy, ArchiveTraceInput, ArchiveTraceResult } from "../jobs/archiveTrace.ts";
import { takenByFixed } from "../traffic/fixedFrontier.ts";
import type { TraceShape } from "../traffic/generateTrace.ts";
import type { PolicyName } from "../traffic/policies.ts";
import type { RecordedTurns, RecordInput } from "../jobs/recordTurns.ts";
import type { Replayed, ReplayInput, ReplayResult } from "../jobs/replayTrace.ts";
import type { ServersInput } from "../jobs/replayOnServers.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "adaptive";
export const order = 45;
export const needsPostgresSaver = true;

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const job = (file: string): URL => new URL(`../jobs/${file}.ts`, import.meta.url);

/** How long copies stay in hot tiers, and threads in the warm one: fixed times against times that follow use, on traces of uses. */
export async function run(context: BenchContext): Promise<Table[]> {
  const { trace: file } = context.options;
  if (file !== undefined)
    return [hotTable("a trace of yours", await replayAll(context, file), `The uses in ${file}.`)];
  const all = await Promise.all(onServers.map(() => startRedis()));
  try {
    const turns = await record(context, all[0]!.url);
    const { quick } = context.options;
    const shape: TraceShape = { turns, threads: quick ? 100 : 1_500, days: quick ? 5 : 30, seed: 1 };
    const shapes = { "no scans": shape, "a scan a week": { ...shape, scanEveryDays: 7 } };
    const traces = Object.entries(shapes);
    const replayed = await Promise.all(traces.map(([, trace]) => replayAll(context, trace)));
    const archived = await Promise.all(
      traces.map(([, trace]) =>
        archiveAll(context, { ...trace, threads: 2 * trace.threads, days: 3 * trace.days }),
      ),
    );
    const redisUrls = all.map(({ url }) => url);
    const served = await replayOnServers(context, turns, redisUrls);
    for (const [n, [which]] of traces.entries()) setFigures(context, which, replayed[n]!);
    return [
      ...traces.map(([which], n) => hotTable(which, replayed[n]!, originOf(shape))),
      serversTable(served),
      archiveTable(traces.map(([which], n) => [which, archived[n]!])),
    ];
  } finally {
    await Promise.all(all.map((redis) => redis.stop()));
  }
}

async function record(context: BenchContext, redisUrl: string): Promise<RecordedTurns> {
  const { quick } = context.options;
  return await context.inChild<RecordedTurns>(job("recordTurns"), {
    url: context.postgresUrl,
    schema: "adaptive_record",
    redisUrl,
    conversationsFile: context.conversations.file,
    conversations: quick ? 3 : 20,
    instances: 4,
  } satisfies RecordInput);
}

/** The ladder is what is compared with: which fixed time would have as many hits. */
const ladder = [2, 5, 10, 15, 30, 60, 120, 240, 480, 960].map((minutes) => minutes * minute);
const compared: readonly Replayed[] = [
  ...[5 * minute, 15 * minute, hour, 4 * hour].map((ttlMs) => ({ policy: "adaptive" as const, ttlMs })),
  ...(["gaps", "frequency", "foresight"] as const).map((policy) => ({ policy, ttlMs: 15 * minute })),
];

async function replayAll(context: BenchContext, trace: ReplayInput["trace"]): Promise<ReplayResult[]> {
  const replays = [...ladder.map((ttlMs) => ({ policy: "fixed" as const, ttlMs })), ...compared];
  return await context.inChild<ReplayResult[]>(job("replayTrace"), { trace, replays } satisfies ReplayInput);
}

/** What is replayed on Redis and PostgreSQL, each on a Redis of its own. The adaptive one is compared with the fixed ones. */
const onServers = [
  { policy: "fixed", ttlMs: 40 * minute },
  { policy: "fixed", ttlMs: hour },
  { policy: "adaptive", ttlMs: hour },
] as const;
/** How many times faster than its trace it is replayed. */
const speed = 700;

async function replayOnServers(
  context: BenchContext,
  turns: RecordedTurns,
  redisUrls: readonly string[],
): Promise<ReplayResult[]> {
  const { quick } = context.options;
  const trace: TraceShape = {
    turns,
    threads: quick ? 40 : 450,
    days: quick ? 0.2 : 2,
    seed: 2,
    scanEveryDays: quick ? 0.1 : 0.5,
  };
  return await Promise.all(
    onServers.map((replayed, n) =>
      context.inChild<ReplayResult>(job("replayOnServers"), {
        url: context.postgresUrl,
        schema: `adaptive_${n}`,
        redisUrl: redisUrls[n]!,
        ...replayed,
        trace,
        speed,
      } satisfies ServersInput),
    ),
  );
}

async function archiveAll(context: BenchContext, trace: TraceShape): Promise<ArchiveTraceResult[]> {
  const policies = [1, 3, 7].flatMap((days) =>
    (["read", "write"] as const).flatMap((restoreOn) =>
      (["fixed", "adaptive"] as const).map((policy): ArchivePolicy => ({
        policy,
        archiveAfterMs: days * day,
        restoreOn,
      })),
    ),
  );
  return await context.inChild<ArchiveTraceResult[]>(job("archiveTrace"), {
    trace,
    policies,
  } satisfies ArchiveTraceInput);
}

function setFigures({ figures }: BenchContext, which: string, results: readonly ReplayResult[]): void {
  for (const { policy, ttlMs, hits, reads, megabyteHours } of results) {
    figures.set(`adaptive.${which}.${policy}.${ttlMs}.hitRate`, hits / reads);
    figures.set(`adaptive.${which}.${policy}.${ttlMs}.megabyteHours`, megabyteHours);
  }
}

const policyLabels: Readonly<Record<PolicyName, string>> = {
  fixed: "fixed",
  adaptive: "adaptiveTtl",
  gaps: "1.5 × its own mean gap",
  frequency: "√ of its frequency",
  foresight: "fixed, knowing the future",
};

function hotRow(result: ReplayResult, fixed: readonly ReplayResult[]): string[] {
  const { policy, ttlMs, hits, reads, megabyteHours } = result;
  const needed = policy === "fixed" ? undefined : takenByFixed(fixed, hits);
  return [
    `${policyLabels[policy]}, ttl ${inWords(ttlMs)}`,
    `${((100 * hits) / reads).toFixed(1)} %`,
    count(megabyteHours),
    (hits / megabyteHours).toFixed(1),
    needed === undefined ? "" : count(needed),
    needed === undefined ? "" : ratio(megabyteHours, needed),
  ];
}

const hotColumns = ["", "hit rate", "MB·h", "hits per MB·h", "MB·h of a fixed ttl with as many hits", "is"];

function hotTable(which: string, results: readonly ReplayResult[], origin: string): Table {
  const fixed = results.filter(({ policy }) => policy === "fixed");
  return {
    title: `Hot copies: fixed and adaptive times to live, ${which}`,
    columns: hotColumns,
    rows: results.map((result) => hotRow(result, fixed)),
    notes: [
      origin,
      "Replayed through stacks with the memory tiers, whose clock is the trace's. Counted after the first third of the time. Reads by scans take room, and don't count as hits.",
    ],
  };
}

function originOf({ threads, days, turns }: TraceShape): string {
  const all = turns.flat();
  const usesPerTurn = (all.flat().length / all.length).toFixed(1);
  return (
    `A trace of ${threads} threads in ${days} days. Recorded: ${all.length} turns of ${turns.length} conversations, the order, kinds ` +
    `and sizes of their uses of Redis (${usesPerTurn} a turn). Generated from a seed: when turns happen.`
  );
}

function serversTable(results: readonly ReplayResult[]): Table {
  const fixed = results.filter(({ policy }) => policy === "fixed");
  return {
    title: "Hot copies on Redis and PostgreSQL: two days in four minutes",
    columns: hotColumns,
    rows: results.map((result) => hotRow(result, fixed)),
    notes: [
      `A trace of the same kind, ${speed} times as fast, of 450 threads, with a scan every twelve hours. Megabytes are what Redis says it uses, sampled ten times a second; misses are PostgreSQL's reads.`,
    ],
  };
}

function archiveTable(all: readonly (readonly [string, readonly ArchiveTraceResult[]])[]): Table {
  return {
    title: "Threads in the warm tier: archiveAfter, and what following use would do",
    columns: ["", "MB·days in the warm tier", "reads that wait for the archive", "of all", "restores"],
    rows: all.flatMap(([which, results]) =>
      results.map(({ policy, archiveAfterMs, restoreOn, megabyteDays, reads, coldReads, restores }) => [
        `${which}: ${policy}, archiveAfter ${inWords(archiveAfterMs)}, restoreOn ${restoreOn}`,
        count(megabyteDays),
        count(coldReads),
        `${((100 * coldReads) / reads).toFixed(2)} %`,
        count(restores),
      ]),
    ),
    notes: [
      "By arithmetic on the same traces, longer ones; no tier was used. Adaptive archiving isn't an option: decision 0034 says why.",
    ],
  };
}

function inWords(ms: number): string {
  if (ms >= day) return `${ms / day}d`;
  return ms >= hour ? `${ms / hour}h` : `${ms / minute}m`;
}
