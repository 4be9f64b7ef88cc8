import { bytes, ms } from "../format.ts";
import type { JournalCallsInput, JournalCallsResult } from "../jobs/journalCalls.ts";
import { runProgram } from "../program.ts";
import { median } from "../stats.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "journal";
export const order = 70;
export const needsPostgresSaver = true;

const PROGRAM = new URL("../jobs/journalStart.mjs", import.meta.url);

/** What a call of a tool costs when it goes through the journal, and what opening a long journal costs. */
export async function run(context: BenchContext): Promise<Table[]> {
  const { quick } = context.options;
  const schema = "journal";
  const result = await context.inChild<JournalCallsResult>(
    new URL("../jobs/journalCalls.ts", import.meta.url),
    {
      url: context.postgresUrl,
      schema,
      calls: quick ? 50 : 2000,
      atOnce: 10,
      entries: quick ? 600 : 12_000,
      opens: quick ? 2 : 11,
    } satisfies JournalCallsInput,
  );
  for (const figure of ["onceP50", "onceStatements", "hitP50", "hitStatements", "openP50"] as const)
    if (!quick) context.figures.set(`journal.${figure}`, result[figure]);
  const [brief, long] = await started(context, schema);
  if (!quick) context.figures.set("journal.startedCpu", long.cpu - brief.cpu);
  const count = (statements: number): string => statements.toFixed(2);
  return [
    {
      title: "Journal: a tool that does nothing, called through it",
      columns: ["PostgreSQL", "p50", "p99", "statements per call"],
      rows: [
        ["without the journal", ms(result.bareP50), "", "0"],
        [
          'effects "once" or "idempotent"',
          ms(result.onceP50),
          ms(result.onceP99),
          count(result.onceStatements),
        ],
        ['effects "none"', ms(result.readP50), ms(result.readP99), count(result.readStatements)],
        ["recorded: its result is given", ms(result.hitP50), ms(result.hitP99), count(result.hitStatements)],
        ["ten at once on one thread, each", ms(result.togetherEach), "", count(result.togetherStatements)],
      ],
      notes: [
        "fsync is on, so that a claim and a record each wait for the disk.",
        `A "once" call with its arguments and result stores ${bytes(result.payloadPerCall)} of contents, ${bytes(result.storedPerCall)} with all tables and indexes.`,
      ],
    },
    {
      title: `Journal of ${result.entries} entries, opened cold`,
      columns: ["PostgreSQL", "p50", "slowest", "CPU p50", "statements"],
      rows: [
        [
          "the first call, which is recorded",
          ms(result.openP50),
          ms(result.openWorst),
          ms(result.openCpuP50),
          String(result.openStatements),
        ],
      ],
      notes: [
        "The newest stored state is read, and the entries behind it, each with its hash checked. Afterwards the process keeps the state in memory.",
      ],
    },
    {
      title: "Journal: the first turn of a new process",
      columns: ["PostgreSQL", "wall", "CPU"],
      rows: [
        ["a journal of one call", ms(brief.wall), ms(brief.cpu)],
        [`a journal of ${result.entries} entries`, ms(long.wall), ms(long.cpu)],
        ["the difference", ms(long.wall - brief.wall), ms(long.cpu - brief.cpu)],
      ],
      notes: [
        `Medians of ${roundsOf(context)} new processes each, by turns: a graph of one node that makes one call, on a thread with a conversation of 200 kB.`,
      ],
    },
  ];
}

interface Spent {
  readonly wall: number;
  readonly cpu: number;
}

function roundsOf({ options: { quick } }: BenchContext): number {
  return quick ? 1 : 21;
}

/** What the first turn of a new process takes on a thread with few calls, and on one with many. */
async function started(context: BenchContext, schema: string): Promise<readonly [brief: Spent, long: Spent]> {
  const spent: readonly [Spent[], Spent[]] = [[], []];
  // Round 0 isn't counted: it has the operating system read the files.
  for (let round = 0; round <= roundsOf(context); round += 1)
    for (const [n, thread] of ["brief", "long"].entries()) {
      const input = { url: context.postgresUrl, schema, thread, turns: [`Pay once more, please: ${round}.`] };
      const one = await runProgram<Spent>(PROGRAM, input);
      if (round > 0) spent[n]!.push(one);
    }
  const [brief, long] = spent;
  return [medians(brief), medians(long)];
}

function medians(all: readonly Spent[]): Spent {
  return { wall: median(all.map(({ wall }) => wall)), cpu: median(all.map(({ cpu }) => cpu)) };
}
