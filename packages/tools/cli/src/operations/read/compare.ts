import { compare as compareThreads } from "@stratigraph/branch";
import { z } from "zod";
import { table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { outcomeText } from "../render/words.ts";
import { resolvePoint } from "../table/address.ts";
import { texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { clipped } from "../values/text.ts";

/** Compares threads side by side. */
export const compare = operation({
  name: "compare",
  group: "look",
  effect: "read",
  summary: "Compare threads side by side: outcome, steps, tool calls, tokens, time and last message.",
  examples: ["stratigraph compare trip/rail trip/air", "stratigraph compare ada@step:4 ada"],
  args: ["threads"],
  input: z.object({
    threads: texts(
      "Threads, or checkpoints of threads. A fork and its source are both counted from the checkpoint where they part.",
    ),
  }),
  output: z.object({
    threads: z.array(
      z.object({
        threadId: z.string(),
        checkpointId: z.string(),
        since: z
          .string()
          .optional()
          .describe(
            "The checkpoint where counting starts: where the thread was forked, or where another one was forked from it. Numbers that start at different checkpoints can't be compared.",
          ),
        outcome: z.enum(["finished", "interrupted", "failed", "unfinished"]),
        steps: z.number(),
        toolCalls: z.record(z.string(), z.number()),
        tokens: z.object({ input: z.number(), output: z.number(), total: z.number() }),
        durationMs: z.number().describe("From the first counted checkpoint to the last."),
        last: z
          .string()
          .optional()
          .describe("The text of the last message, or of the error. Absent if values are redacted."),
      }),
    ),
  }),
  async run({ threads }, context) {
    const saver = await context.saver();
    const points = [];
    for (const at of threads) points.push(await resolvePoint(saver, { at }));
    const compared = await compareThreads(saver, points);
    // The last text may come from any message, redacted or not.
    const isOpen = context.redact.length === 0;
    return {
      threads: compared.threads.map(({ since, last, ...summary }) => ({
        ...summary,
        ...(since === undefined ? {} : { since }),
        ...(last === undefined || !isOpen
          ? {}
          : { last: last.length > 2000 ? `${last.slice(0, 2000)}…` : last }),
      })),
    };
  },
  *render({ threads }) {
    if (threads.length === 0) {
      yield "No threads to compare: name some.";
      return;
    }
    const rows = threads.map(({ threadId, outcome, steps, toolCalls, tokens, durationMs, last = "" }) => [
      threadId,
      outcomeText(outcome),
      String(steps),
      callsOf(toolCalls),
      String(tokens.total),
      durationMs < 2000 ? `${durationMs} ms` : timeText(durationMs),
      clipped(last.replaceAll(/\s+/g, " "), 60),
    ]);
    yield* table(["THREAD", "OUTCOME", ">STEPS", "TOOL CALLS", ">TOKENS", ">TIME", "LAST"], rows);
  },
});

function callsOf(calls: Readonly<Record<string, number>>): string {
  return Object.entries(calls)
    .map(([name, count]) => (count === 1 ? name : `${name} ×${count}`))
    .join(", ");
}
