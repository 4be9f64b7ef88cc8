import { z } from "zod";
import { flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { renderRepair } from "./renderRepair.ts";
import { repairStorage } from "./repairStorage.ts";
import { repairSchema } from "./repairOutcome.ts";
import { reportSchema } from "./report.ts";

/** A report as data, or as the JSON text of it. */
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
    `stratigraph repair --report "$(stratigraph verify -o json)"`,
    `stratigraph repair --report "$(cat report.json)" --apply`,
  ],
  args: ["report"],
  input: z.object({
    report: report.describe("What verify printed with -o json."),
    apply: flag("Do it. Without this, it is only told what would be done."),
    dryRun: flag("Only tell what would be done, whatever apply says."),
    prune: flag(
      "Also remove checkpoints at the end of a side branch that can't be read, and of which no tier has good bytes.",
    ),
    cursor: z.string().optional().describe("Where the call before ended."),
  }),
  output: repairSchema,
  async run(input, context) {
    return await repairStorage(await context.saver(), input, context);
  },
  render: renderRepair,
  found: ({ results, left }) =>
    left.length > 0 || results.some(({ outcome }) => outcome === "impossible" || outcome === "changed"),
});
