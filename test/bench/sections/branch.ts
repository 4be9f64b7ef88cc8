import { bytes, ms, ratio } from "../format.ts";
import type { BranchesInput, BranchesResult } from "../jobs/branches.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "branch";
export const order = 60;
export const needsPostgresSaver = true;

/** A long thread forked a hundred times, and branches merged; the official saver's way of copying beside it. */
export async function run(context: BenchContext): Promise<Table> {
  const { quick } = context.options;
  const result = await context.inChild<BranchesResult>(new URL("../jobs/branches.ts", import.meta.url), {
    url: context.postgresUrl,
    schema: "branch",
    officialSchema: "branch_official",
    turns: quick ? 10 : 333,
    forks: quick ? 5 : 100,
    branchTurns: 25,
    merges: quick ? 2 : 20,
  } satisfies BranchesInput);
  for (const figure of ["forkP50", "forkStored", "packed", "mergeP50"] as const)
    if (!quick) context.figures.set(`branch.${figure}`, result[figure]);
  const official = (ours: number, theirs: number, print: (value: number) => string): string[] => [
    print(ours),
    print(theirs),
    ratio(ours, theirs),
  ];
  const alone = (ours: string): string[] => [ours, "", ""];
  return {
    title: `Branches: a thread of ${result.checkpoints} checkpoints and ${bytes(result.state)}`,
    columns: ["PostgreSQL", "ours", "official, by its API", "is"],
    rows: [
      ["fork from the head, p50", ...official(result.forkP50, result.officialCopyP50, ms)],
      ["the same, p99", ...alone(ms(result.forkP99))],
      ["new bytes, all tables and indexes", ...official(result.forkStored, result.officialStored, bytes)],
      ["new bytes, contents", ...alone(bytes(result.forkPayload))],
      ["the state stored whole, for comparison", ...alone(bytes(result.packed))],
      ["fork from half-way back, p50", ...alone(ms(result.oldForkP50))],
      ["forkMany, each", ...alone(ms(result.forkManyEach))],
      ['fork with history "full"', ...alone(ms(result.fullFork))],
      ["merge of two branches of 50 messages, p50", ...alone(ms(result.mergeP50))],
    ],
    notes: [
      "The official saver has no forks: the last checkpoint is read and put under another thread, without its pending writes and subgraphs.",
      "The state stored whole is its serialised messages as one compressed blob, which is how the first checkpoint of a thread is stored.",
    ],
  };
}
