import { z } from "zod";
import { flag, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { renderRepair } from "./renderRepair.ts";
import { repairStorage } from "./repairStorage.ts";
import { repairSchema } from "./repairOutcome.ts";
import { reportSchema } from "./report.ts";
import { verifyStorage } from "./verifyStorage.ts";

/** How many findings are repaired at once at most if no report is given. */
const mostFindings = 10_000;

/** A report as data, or as JSON text. */
const report = z.preprocess((given: unknown) => {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given) as unknown;
  } catch {
    return given;
  }
}, reportSchema);

/** Mends what verify found. */
export const repair = operation({
  name: "repair",
  group: "storage",
  effect: "destroy",
  summary:
    "Mend what verify found: fetch good bytes from other tiers, set heads right, remove what nobody needs.",
  examples: [
    "stratigraph repair ada",
    "stratigraph repair ada --apply",
    "stratigraph repair --report @report.json --apply",
  ],
  args: ["threads"],
  input: z.object({
    threads: texts("Ids of threads that are verified first, and then repaired. Default: all."),
    report: report
      .optional()
      .describe(
        "What verify found, as its JSON output has it. With it, nothing else is verified or repaired.",
      ),
    apply: flag("Do it. Without this, repair only tells what it would do."),
    dryRun: flag("Only tell what would be done, whatever apply says."),
    prune: flag(
      "Also remove checkpoints at the ends of side branches that can't be read, and of which no tier has good bytes.",
    ),
    cursor: z.string().optional().describe("Where the previous call ended. Needs the report of that call."),
  }),
  output: repairSchema,
  async run(input, context) {
    const saver = await context.saver();
    const { threads, report: given, ...how } = input;
    const found = given ?? (await verifyStorage(saver, { threads, seed: "", keep: mostFindings }, context));
    const outcome = await repairStorage(saver, { ...how, report: found }, context);
    return { ...outcome, complete: outcome.complete && (given !== undefined || found.complete) };
  },
  render: renderRepair,
  found: ({ results, left }) =>
    left.length > 0 || results.some(({ outcome }) => outcome === "impossible" || outcome === "changed"),
});
