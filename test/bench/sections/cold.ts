import { alternating } from "../buildFigures.ts";
import { ms, ratio } from "../format.ts";
import { type Build, BUILD_LABELS } from "../libraries.ts";
import { runProgram } from "../program.ts";
import { SAVERS } from "../savers.ts";
import { median } from "../stats.ts";
import type { BenchContext, SaverId, Table } from "../types.ts";

export const name = "cold";
export const order = 17;

const PROGRAM = new URL("../jobs/coldStart.mjs", import.meta.url);

const CLASSES: Record<SaverId, { specifier: string; export: string }> = {
  "official-memory": { specifier: "@langchain/langgraph-checkpoint", export: "MemorySaver" },
  "official-postgres": { specifier: "@langchain/langgraph-checkpoint-postgres", export: "PostgresSaver" },
  memory: { specifier: "@stratigraph/core", export: "MemorySaver" },
  postgres: { specifier: "@stratigraph/postgres", export: "PostgresSaver" },
};

const STEPS = ["import", "setup", "first invoke", "second invoke", "end", "exit", "whole process"] as const;

type Spent = Record<string, { wall: number; cpu?: number }>;

/** What a new process takes to run a graph twice and end. */
export async function run(context: BenchContext): Promise<Table> {
  const { options, savers, figures } = context;
  const rounds = roundsOf(context);
  const results = new Map<string, Spent[]>();
  // Round 0 isn't counted: it creates the tables, and has the operating system read the files.
  for (let round = 0; round <= rounds; round++)
    for (const saver of round % 2 === 0 ? savers : savers.toReversed())
      for (const build of alternating(options.build, round)) {
        const spent = await startAndEnd(context, saver, build, round);
        const key = `${build}.${saver}`;
        if (round > 0) results.set(key, [...(results.get(key) ?? []), spent]);
      }
  for (const [key, all] of results)
    for (const step of STEPS)
      for (const what of ["wall", "cpu"] as const) {
        const figure = median(all.map((spent) => spent[step]?.[what] ?? Number.NaN));
        if (!Number.isNaN(figure)) figures.set(`cold.${key}.${step}.${what}`, figure);
      }
  return table(context);
}

function roundsOf({ options: { quick, full } }: BenchContext): number {
  if (quick) return 1;
  return full ? 31 : 11;
}

async function startAndEnd(
  { postgresUrl }: BenchContext,
  saver: SaverId,
  build: Build,
  round: number,
): Promise<Spent> {
  const place = { url: postgresUrl, schema: `cold_${saver.replace("-", "_")}` };
  const input = {
    ...CLASSES[saver],
    ...(SAVERS[saver].postgres && place),
    build,
    thread: `${build}-${round}`,
  };
  const start = performance.now();
  const { spent, endedAt } = await runProgram<{ spent: Spent; endedAt: number }>(PROGRAM, input);
  const wall = performance.now() - start;
  const now = Date.now();
  return { ...spent, exit: { wall: now - endedAt }, "whole process": { wall } };
}

function table({ options, savers, figures, ...context }: BenchContext): Table {
  const rows = alternating(options.build, 0).flatMap((build) =>
    STEPS.flatMap((step) =>
      (["wall", "cpu"] as const).flatMap((what) => {
        const of = (saver: SaverId) => figures.get(`cold.${build}.${saver}.${step}.${what}`);
        if (savers.every((saver) => of(saver) === undefined)) return [];
        return [
          [
            `${BUILD_LABELS[build]}: ${step}, ${what === "cpu" ? "CPU" : what}`,
            ...savers.map((saver) => ms(of(saver))),
            ratio(of("memory"), of("official-memory")),
            ratio(of("postgres"), of("official-postgres")),
          ],
        ];
      }),
    ),
  );
  return {
    title: "The first second of a process",
    columns: ["", ...savers.map((saver) => SAVERS[saver].label), "ours in memory", "ours in PostgreSQL"],
    rows,
    notes: [
      `Medians of ${roundsOf({ options, savers, figures, ...context })} new processes. Each imports LangGraph and the saver, calls setup() where there is one, runs a graph of one node twice on a thread of ` +
        "its own and ends. The tables are there already. The last two columns compare ours with the official saver of the same storage.",
      "The import comes after LangGraph's, which brings the official MemorySaver with it. The whole process includes Node's start and LangGraph's import.",
    ],
  };
}
