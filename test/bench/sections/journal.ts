import { bytes, ms } from "../format.ts";
import type { JournalCallsInput, JournalCallsResult } from "../jobs/journalCalls.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "journal";
export const order = 70;
export const needsPostgresSaver = true;

/** What a call of a tool costs when it goes through the journal, and what opening a long journal costs. */
export async function run(context: BenchContext): Promise<Table[]> {
  const { quick } = context.options;
  const result = await context.inChild<JournalCallsResult>(
    new URL("../jobs/journalCalls.ts", import.meta.url),
    {
      url: context.postgresUrl,
      schema: "journal",
      calls: quick ? 50 : 2000,
      atOnce: 10,
      entries: quick ? 600 : 12_000,
      opens: quick ? 2 : 11,
    } satisfies JournalCallsInput,
  );
  for (const figure of ["onceP50", "onceStatements", "hitP50", "hitStatements", "openP50"] as const)
    if (!quick) context.figures.set(`journal.${figure}`, result[figure]);
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
  ];
}
