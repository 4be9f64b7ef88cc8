import { bytes, count, ms, ratio } from "../format.ts";
import type { DeepAgentInput, DeepAgentResult } from "../jobs/deepAgent.ts";
import { SAVERS } from "../savers.ts";
import type { BenchContext, SaverId, Table } from "../types.ts";

export const name = "deepagents";
export const order = 15;

type Measure = [label: string, figure: string, print: (value: number | undefined) => string, of: FigureOf];
type FigureOf = (result: DeepAgentResult) => number | undefined;

const MEASURES: Measure[] = [
  ["checkpoints", "checkpoints", count, (r) => r.checkpoints],
  ["files at the end", "files", bytes, (r) => r.files],
  ["stored, total", "storedTotal", bytes, (r) => r.stored?.total],
  ["stored per checkpoint", "storedPerCheckpoint", bytes, (r) => r.stored && r.stored.total / r.checkpoints],
  ["the run", "ms", ms, (r) => r.ms],
];

/** An agent of deepagents whose files are in its state, as they are by default: each checkpoint has all of them. */
export async function run(context: BenchContext): Promise<Table> {
  const results = new Map<SaverId, DeepAgentResult>();
  const size = context.options.quick ? { files: 3, edits: 1 } : { files: 10, edits: 3 };
  for (const saver of context.savers) {
    const result = await context.inChild<DeepAgentResult>(new URL("../jobs/deepAgent.ts", import.meta.url), {
      saver,
      url: context.postgresUrl,
      schema: `deepagents_${saver.replace("-", "_")}`,
      ...size,
    } satisfies DeepAgentInput);
    results.set(saver, result);
    for (const [, figure, , of] of MEASURES) {
      const value = of(result);
      if (value !== undefined) context.figures.set(`deepagents.${saver}.${figure}`, value);
    }
  }
  const savers = [...results.keys()];
  const [ours, theirs] = [results.get("postgres"), results.get("official-postgres")];
  return {
    title: "deepagents: files in the state",
    columns: [
      "",
      ...savers.map((saver) => SAVERS[saver].label),
      "our PostgresSaver against the official one",
    ],
    rows: MEASURES.map(([label, , print, of]) => [
      label,
      ...savers.map((saver) => print(of(results.get(saver)!))),
      ratio(ours && of(ours), theirs && of(theirs)),
    ]),
    notes: [
      `${size.files} files are written, one per step, and each is edited ${size.edits} times. deepagents 1.14.1, durability "sync".`,
    ],
  };
}
