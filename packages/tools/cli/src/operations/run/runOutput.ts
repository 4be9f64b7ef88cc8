import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { commandText } from "../render/commandText.ts";
import { timeText } from "../render/units.ts";
import { outcomeText } from "../render/words.ts";
import { inlineText } from "../values/text.ts";
import { valueView } from "../values/view.ts";
import type { Pause } from "./execute.ts";
import { mostListed } from "./written.ts";

/** What a run did. */
export const runOutput = z.object({
  thread: z.string(),
  outcome: z
    .enum(["planned", "done", "interrupted", "failed", "paused"])
    .describe("planned: a dry run. paused: something is due, and `why` says why it didn't go on."),
  why: z.enum(["steps", "breakpoint", "stopped", "timeout", "limit"]).optional(),
  error: z
    .object({
      name: z.string(),
      message: z.string().optional().describe("Absent if values are redacted."),
      code: z.string().optional().describe("Absent unless it is an error of Stratigraph."),
    })
    .optional()
    .describe("What a node threw."),
  before: z.string().optional().describe("The head before; absent where the thread was new."),
  head: z.string().optional().describe("The head now."),
  checkpoints: z.array(z.string()).describe(`What was written, oldest first, ${mostListed} at most.`),
  nodes: z
    .array(
      z.object({
        node: z.string(),
        task: z.string(),
        namespace: z.string().describe('The subgraphs it is in, joined with "|"; "" at the root.'),
        state: z.enum(["ended", "failed", "interrupted", "stopped"]),
        ms: z.number().describe("How long it took."),
      }),
    )
    .describe(`Nodes in the order in which they began, ${mostListed} at most.`),
  next: z.array(z.string()).describe("Nodes that run next."),
  interrupts: z
    .array(
      z.object({
        id: z.string().describe("Names the question in an answer."),
        node: z.string(),
        value: valueView,
        schema: z
          .record(z.string(), z.unknown())
          .optional()
          .describe("JSON Schema of the answer, where the node gave one (LangGraph 1.5 and newer)."),
        schemaFault: z
          .string()
          .optional()
          .describe("What is wrong with the node's schema: any JSON is taken as an answer."),
      }),
    )
    .describe("Questions that wait for an answer."),
  durationMs: z.number(),
});

/** See {@link runOutput}. */
export type RunOutput = z.output<typeof runOutput>;

/** Why a run paused, in words. */
const pauses: Readonly<Record<Pause, string>> = {
  steps: "it ran as many steps as it was asked to",
  breakpoint: "the graph has a breakpoint here",
  stopped: "it was stopped",
  timeout: "its time was up",
  limit: "it reached its recursion limit",
};

/** What a run did, for people. */
export function* renderRun(output: RunOutput): Iterable<string> {
  const { thread, outcome, nodes, next, interrupts, checkpoints, durationMs } = output;
  if (nodes.length > 0) {
    const rows = nodes.map(({ node, namespace, state, ms }) => [
      namespace === "" ? node : `${namespace.replaceAll("|", " ")} ${node}`,
      outcomeText(state),
      spentText(ms),
    ]);
    yield* columns([["NODE", "", "TIME"], ...rows], [2]);
  }
  const written = checkpoints.length === 1 ? "1 checkpoint" : `${checkpoints.length} checkpoints`;
  const did = outcome === "planned" ? "" : ` ${written} in ${spentText(durationMs)}.`;
  yield `${shown(thread)} ${happened(output)}.${did}`;
  for (const { id, node, value, schemaFault } of interrupts) {
    yield `  ${shown(node)} asks: ${inlineText(value.value)}  #${shown(id)}`;
    if (schemaFault !== undefined)
      yield `  Its schema can't be used (${shown(schemaFault)}): any JSON is taken as an answer.`;
  }
  if (next.length > 0) yield `Next: ${next.map(shown).join(", ")}`;
  if (interrupts.length > 0) yield `To answer: ${commandText("run", [thread], `--resume '"…"'`)}`;
}

function happened({ outcome, why, error, interrupts }: RunOutput): string {
  if (outcome === "planned") return "was left as it is";
  if (outcome === "done") return "is done";
  if (outcome === "failed") return `failed: ${shown(error?.message ?? error?.name ?? "")}`;
  if (outcome === "paused") return `pauses, because ${pauses[why ?? "breakpoint"]}`;
  return `waits for ${interrupts.length === 1 ? "an answer" : `${interrupts.length} answers`}`;
}

function spentText(ms: number): string {
  return ms < 2000 ? `${Math.round(ms)} ms` : timeText(ms);
}
