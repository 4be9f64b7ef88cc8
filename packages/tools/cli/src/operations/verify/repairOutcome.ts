import { z } from "zod";
import { findingSchema } from "./report.ts";

/** The outcomes of findings. */
export const repairSchema = z.object({
  dryRun: z.boolean().describe("Nothing was changed."),
  complete: z.boolean().describe("Whether all findings were looked at."),
  cursor: z.string().optional().describe("Where to go on."),
  results: z.array(
    z.object({
      finding: findingSchema,
      outcome: z
        .enum(["would", "done", "solved", "changed", "impossible"])
        .describe(
          "would: it can be mended. done: it was. solved: it isn't found any more. changed: the thread was written to meanwhile, and left alone. impossible: see action.",
        ),
      action: z.string().describe("What is done, or what a person can do."),
    }),
  ),
  left: z.array(findingSchema).describe("What is found in these threads after mending. Empty in a dry run."),
});
export type RepairOutcome = z.output<typeof repairSchema>;
export type RepairResult = RepairOutcome["results"][number];
