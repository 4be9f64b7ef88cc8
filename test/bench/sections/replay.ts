import { bytes, count, ratio } from "../format.ts";
import type { ReplayInput, ReplayResult } from "../jobs/replayThread.ts";
import { SAVERS } from "../savers.ts";
import type { BenchContext, SaverId, Table } from "../types.ts";

export const name = "replay";
export const order = 10;

/** Of the first 20 conversations, recorded or generated; other counts mean that something else was measured. */
const TWENTY = { turns: 202, checkpoints: 812, messages: 610 };

type Measure = [label: string, figure: string, print: (value: number | undefined) => string, of: FigureOf];
type FigureOf = (result: ReplayResult) => number | undefined;

const MEASURES: Measure[] = [
  ["3-node run: statements", "statements", count, (r) => r.threeNodeRun.statements],
  ["3-node run: round trips", "roundTrips", count, (r) => r.threeNodeRun.roundTrips],
  ["3-node run: pool checkouts", "checkouts", count, (r) => r.threeNodeRun.checkouts],
  ["getStateHistory, peak heap and buffers", "historyPeakHeap", bytes, (r) => r.history.peakHeap],
  ["… referenced, newest quarter", "liveOfQuarter", bytes, (r) => r.history.liveOfQuarter],
  ["… referenced, all", "liveOfAll", bytes, (r) => r.history.liveOfAll],
  ["… growth from quarter to all", "liveGrowth", bytes, liveGrowth],
  ["stored, tables", "storedTables", bytes, (r) => r.stored?.tables],
  ["stored, indexes", "storedIndexes", bytes, (r) => r.stored?.indexes],
  ["stored, total", "storedTotal", bytes, (r) => r.stored?.total],
  ["contents of bytea columns", "storedPayload", bytes, (r) => r.stored?.payload],
];

function liveGrowth({ history }: ReplayResult): number | undefined {
  return history.liveOfAll === undefined ? undefined : Math.max(0, history.liveOfAll - history.liveOfQuarter);
}

/** What every saver asks of the server, keeps in memory and stores, on the first 20 conversations, joined into one thread. */
export async function run(context: BenchContext): Promise<Table> {
  const conversations = context.options.quick ? 5 : 20;
  const results = new Map<SaverId, ReplayResult>();
  for (const saver of context.savers) {
    const result = await context.inChild<ReplayResult>(new URL("../jobs/replayThread.ts", import.meta.url), {
      saver,
      url: context.postgresUrl,
      schema: `replay_${saver.replace("-", "_")}`,
      conversationsFile: context.conversations.file,
      conversations,
      // Listing everything twice costs the official PostgresSaver half a minute more.
      liveMemoryOfAll: saver !== "official-postgres" || context.options.full || context.options.quick,
    } satisfies ReplayInput);
    if (!context.options.quick) checkCounts(saver, result);
    results.set(saver, result);
    for (const [, figure, , of] of MEASURES) {
      const value = of(result);
      if (value !== undefined) context.figures.set(`replay.${saver}.${figure}`, value);
    }
  }
  return table(context, results, conversations);
}

function checkCounts(saver: SaverId, { turns, checkpoints, messages }: ReplayResult): void {
  const counted = { turns, checkpoints, messages };
  if (JSON.stringify(counted) !== JSON.stringify(TWENTY))
    throw new Error(
      `${SAVERS[saver].label}: ${JSON.stringify(counted)} instead of ${JSON.stringify(TWENTY)}`,
    );
}

function table(
  { conversations: { origin } }: BenchContext,
  results: Map<SaverId, ReplayResult>,
  conversations: number,
): Table {
  const savers = [...results.keys()];
  const ours = results.get("postgres");
  const columns = ["", ...savers.map((saver) => SAVERS[saver].label)];
  const against = savers.filter((saver) => ours !== undefined && saver.startsWith("official-"));
  columns.push(...against.map((saver) => `our PostgresSaver against ${SAVERS[saver].label}`));
  const rows = MEASURES.map(([label, , print, of]) => [
    label,
    ...savers.map((saver) => print(valueOf(results.get(saver), of))),
    ...against.map((saver) => ratio(valueOf(ours, of), valueOf(results.get(saver), of))),
  ]);
  const any = [...results.values()][0];
  return {
    title: `${conversations} ${origin} conversations on one thread: statements, memory, storage`,
    columns,
    rows,
    notes: [
      `${any?.turns} turns, ${any?.checkpoints} checkpoints, ${any?.messages} messages, ` +
        `${bytes(any?.finalStateBytes)} final state, durability "sync". Each saver has a process of its own.`,
      "Memory is growth over a collected heap. “Referenced” is the memory that survives a forced collection although " +
        "the consumer keeps nothing. If it doesn't grow from the quarter to all, it is independent of the history's length.",
    ],
  };
}

function valueOf(result: ReplayResult | undefined, of: FigureOf): number | undefined {
  return result && of(result);
}
