import { count, ratio } from "../format.ts";
import type { TraceShape } from "../generateTrace.ts";
import type { ReplayInput, ReplayResult } from "../jobs/replayTrace.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "adaptive";
export const order = 45;

const minute = 60_000;
const replays: ReplayInput["replays"] = [
  // What is compared with: which fixed time would have as many hits.
  ...[2, 5, 10, 15, 30, 60, 120, 240, 480].map((ttl) => ({ adaptiveTtl: false, ttlMs: ttl * minute })),
  ...[5, 15, 60, 240].map((ttl) => ({ adaptiveTtl: true, ttlMs: ttl * minute })),
];

/** How long copies stay in hot tiers: fixed times against times that follow use, on generated traces of uses. */
export async function run({ options, inChild }: BenchContext): Promise<Table[]> {
  const [threads, days] = options.quick ? [100, 5] : options.full ? [1_500, 30] : [500, 15];
  const job = new URL("../jobs/replayTrace.ts", import.meta.url);
  const replay = async (which: string, trace: TraceShape): Promise<Table> =>
    tableOf(which, trace, await inChild<ReplayResult[]>(job, { trace, replays } satisfies ReplayInput));
  return await Promise.all([
    replay("no scans", { threads, days, seed: 1 }),
    replay("a scan a week", { threads, days, seed: 1, scanEveryDays: 7 }),
  ]);
}

function tableOf(which: string, { threads, days }: TraceShape, results: readonly ReplayResult[]): Table {
  const fixed = results.filter(({ adaptiveTtl }) => !adaptiveTtl);
  return {
    title: `Hot copies: fixed and adaptive times to live, ${which}`,
    columns: ["", "hit rate", "MB·h", "MB·h of a fixed ttl with as many hits", "is"],
    rows: results.map(({ adaptiveTtl, ttlMs, hits, reads, megabyteHours }) => {
      const needed = adaptiveTtl ? takenByFixed(fixed, hits) : undefined;
      return [
        `${adaptiveTtl ? "adaptiveTtl" : "fixed"}, ttl ${ttlMs / minute}m`,
        `${((100 * hits) / reads).toFixed(1)} %`,
        count(megabyteHours),
        needed === undefined ? "" : count(needed),
        needed === undefined ? "" : ratio(megabyteHours, needed),
      ];
    }),
    notes: [
      `A generated trace of ${threads} threads in ${days} days, replayed through stacks with the memory tiers, whose clock is the trace's. Counted after the first third of the time. Reads by scans take room, and don't count as hits.`,
    ],
  };
}

/** What a fixed time with as many hits takes: between two measured ones on a logarithmic scale. Undefined beyond them. */
function takenByFixed(fixed: readonly ReplayResult[], hits: number): number | undefined {
  const after = fixed.findIndex((each) => each.hits >= hits);
  if (after <= 0) return undefined;
  const [low, high] = [fixed[after - 1]!, fixed[after]!];
  const share = (hits - low.hits) / (high.hits - low.hits);
  return low.megabyteHours * (high.megabyteHours / low.megabyteHours) ** share;
}
