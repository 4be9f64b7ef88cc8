import { trace } from "@stratigraph/core/internal";
import { z } from "zod";
import { fields, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { renderReport } from "./renderReport.ts";
import { reportSchema, type Finding } from "./report.ts";
import { verifyStorage } from "./verifyStorage.ts";

const percent = z.string().regex(/^(?:100|\d{1,2}(?:\.\d+)?)%$/, "write a percentage, such as 5%");

/** Verifies stored threads. */
export const verify = operation({
  name: "verify",
  group: "storage",
  effect: "read",
  summary: "Verify that everything stored is there, whole and in order. Agents may keep running.",
  examples: [
    "stratigraph verify",
    "stratigraph verify ada",
    "stratigraph verify --sample 5% --seed monday --rate 20mb",
    "stratigraph verify --since 2026-01-31T00:00:00Z -o json > report.json",
  ],
  args: ["threads"],
  input: z.object({
    threads: texts("Ids of the threads to verify. Default: all."),
    sample: percent
      .optional()
      .describe("Only a part of the threads, such as 5%. Which ones follows from their ids and the seed."),
    seed: z.string().default("").describe("Another seed takes another sample."),
    since: z.iso
      .datetime({ offset: true })
      .optional()
      .describe("Only threads that were written at this time or later, such as 2026-01-31T00:00:00Z."),
    rate: z
      .string()
      .regex(/^\d+(\.\d+)?(b|kb|mb|gb)?(\/s)?$/, "write threads per second (50), or bytes per second (20mb)")
      .optional()
      .describe(
        "How fast at most: threads per second (50), or bytes per second (20mb). Default: as fast as it goes.",
      ),
    keep: z.coerce
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(1000)
      .describe("How many findings the report lists at most; all are counted."),
    cursor: fields.cursor,
  }),
  output: reportSchema,
  async run(input, context) {
    const report = await verifyStorage(await context.saver(), input, context);
    const { complete, findings } = report;
    const count = (wanted: Finding["severity"]): number =>
      findings.filter(({ severity }) => severity === wanted).length;
    trace({
      type: "verified",
      complete,
      findings: { error: count("error"), warning: count("warning"), info: count("info") },
    });
    return report;
  },
  render: renderReport,
  found: ({ findings, leftOut }) => leftOut > 0 || findings.some(({ severity }) => severity !== "info"),
});
