import { availableParallelism } from "node:os";
import { query } from "../../servers/postgres.ts";
import { startRedis } from "../../servers/redis.ts";
import { alternating } from "../buildFigures.ts";
import { ms, perSecond, times } from "../format.ts";
import type { GraphSaver, GraphThroughputInput, GraphThroughputResult } from "../jobs/graphThroughput.ts";
import { BUILD_LABELS, type Build } from "../libraries.ts";
import { SAVERS } from "../savers.ts";
import { type Throughput, throughputOf } from "../throughput.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "throughput";
export const order = 16;

const THREADS = 8;

/** What many cold processes get done through compiled graphs, with every saver. */
export async function run(context: BenchContext): Promise<Table> {
  const redis = await startRedis();
  try {
    const savers = graphSavers(context);
    const results = new Map<string, GraphThroughputResult[][]>();
    for (let round = 0; round < roundsOf(context); round++)
      // The second round goes in reverse order, which evens out a machine that gets slower with time.
      for (const saver of round % 2 === 0 ? savers : savers.toReversed())
        for (const build of alternating(context.options.build, round)) {
          const measured = await together(context, redis.url, { build, saver, round });
          results.set(`${build}.${saver}`, [...(results.get(`${build}.${saver}`) ?? []), measured]);
        }
    const figures = new Map(
      [...results].map(([key, rounds]) => [key, throughputOf(rounds, secondsOf(context))]),
    );
    for (const [key, { putsPerSecond, cpuPerPut }] of figures) {
      context.figures.set(`throughput.${key}.putsPerSecond`, putsPerSecond);
      context.figures.set(`throughput.${key}.cpuPerPut`, cpuPerPut);
    }
    return table(context, savers, figures);
  } finally {
    await redis.stop();
  }
}

function graphSavers({ savers, options }: BenchContext): GraphSaver[] {
  const stack = options.saver.length === 0 && savers.includes("postgres");
  return [
    "floor",
    ...savers.filter((saver) => saver !== "memory"),
    ...(stack ? ["redis>postgres" as const] : []),
  ];
}

function processesOf({ options }: BenchContext): number {
  return options.quick ? 2 : 8;
}

function secondsOf({ options }: BenchContext): number {
  return options.quick ? 3 : 60;
}

/** A second round takes as long as the first, and evens out other work of the machine. */
function roundsOf({ options }: BenchContext): number {
  return options.full ? 2 : 1;
}

/** Runs the processes of one saver, all at once. */
async function together(
  context: BenchContext,
  redisUrl: string,
  { build, saver, round }: { build: Build; saver: GraphSaver; round: number },
): Promise<GraphThroughputResult[]> {
  const which = `${saver.replaceAll(/\W/g, "_")}_${build}_${round}`;
  const job = (process: number, processes: number, threads: number, forMs: number) => {
    const input = {
      build,
      saver,
      url: context.postgresUrl,
      redisUrl,
      schema: `throughput_${which}`,
      conversationsFile: context.conversations.file,
      process,
      processes,
      threads,
      startLine: `${which}: ${processes}`,
      forMs,
    } satisfies GraphThroughputInput;
    const file = new URL("../jobs/graphThroughput.ts", import.meta.url);
    return context.inChild<GraphThroughputResult>(file, input, "built");
  };
  // Creates the schema.
  await job(0, 1, 0, 0);
  await query(context.postgresUrl, "checkpoint");
  const forMs = secondsOf(context) * 1000;
  const processes = processesOf(context);
  return await Promise.all(Array.from({ length: processes }, (_, n) => job(n, processes, THREADS, forMs)));
}

function table(
  context: BenchContext,
  savers: readonly GraphSaver[],
  figures: ReadonlyMap<string, Throughput>,
): Table {
  const rows = alternating(context.options.build, 0).flatMap((build) => {
    const of = (saver: GraphSaver): Throughput | undefined => figures.get(`${build}.${saver}`);
    return savers.map((saver) => {
      const mine = of(saver);
      const floor = (of("floor")?.cpuPerPut ?? Number.NaN) / (mine?.cpuPerPut ?? Number.NaN);
      return [
        `${BUILD_LABELS[build]}: ${labelOf(saver)}`,
        perSecond(mine?.putsPerSecond),
        times(mine?.putsPerSecond, of("official-memory")?.putsPerSecond),
        ms(mine?.firstPut),
        ms(mine?.putP50),
        ms(mine?.putP99),
        ms(mine?.cpuPerPut),
        Number.isNaN(floor) ? "–" : `${Math.round(100 * floor)} %`,
      ];
    });
  });
  const rounds = roundsOf(context);
  return {
    title: "Throughput through compiled graphs, cold processes",
    columns: [
      "",
      "puts per second",
      "against official MemorySaver",
      "first put done after",
      "put p50",
      "put p99",
      "client CPU per put",
      "of which the floor's",
    ],
    rows,
    notes: [
      `${processesOf(context)} processes on ${availableParallelism()} cores, ${THREADS} threads in each, ${secondsOf(context)} s` +
        `${rounds > 1 ? `, ${rounds} times` : ""}, durability "sync". Each thread plays a ${context.conversations.origin} conversation of its own, then another on a ` +
        "new thread. Nothing is warmed up: time begins when every process has loaded its modules and opened its saver.",
      "A put is a call of the saver's put; LangGraph's own work, pending writes and reads are between puts. The first one is that of " +
        "the median process. The database is on the same machine.",
      "The floor is a saver that keeps the last checkpoint by reference: LangGraph's own work, which no saver can be faster than.",
    ],
  };
}

function labelOf(saver: GraphSaver): string {
  if (saver === "floor") return "floor";
  return saver === "redis>postgres" ? "our redis>postgres" : SAVERS[saver].label;
}
