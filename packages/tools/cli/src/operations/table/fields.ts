import type { Duration } from "@stratigraph/core";
import { z } from "zod";

/** Input fields that several operations have. */
export const fields = {
  /** An address: a thread, or one of its checkpoints. */
  at: z
    .string()
    .min(1)
    .describe("A thread, or one of its checkpoints: ada, ada@head~3, ada@step:12, ada@1ef4f79, ada@lost:1."),
  thread: z.string().min(1).describe("The id of a thread."),
  namespace: z.string().default("").describe("The namespace: of a subgraph, for example. Default: the root."),
  checkpoint: z
    .string()
    .optional()
    .describe("The exact id of a checkpoint. The thread is then taken literally, whatever is in it."),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(50)
    .describe("How many at most, up to 1000. More come with the cursor."),
  cursor: z.string().optional().describe("Where the previous page ended."),
  dryRun: flag("Only tell what would be done."),
};

/** A yes or no that is off unless given. The texts "true" and "false" count too, as queries are text. */
export function flag(description: string) {
  const fromText = (given: unknown): unknown => (given === "true" ? true : given === "false" ? false : given);
  return z.preprocess(fromText, z.boolean()).default(false).describe(description);
}

/** How much is shown at once at most, in bytes. */
export const mostBytes = 50_000_000;

/** How many bytes of values to show in total. */
export function maxBytes(description: string) {
  return z.coerce.number().int().min(1000).max(mostBytes).default(64_000).describe(description);
}

/** A list of texts, empty unless given. One text counts as a list of one. */
export function texts(description: string, item: z.ZodType<string, string> = z.string()) {
  const listed = (given: unknown): unknown => (typeof given === "string" ? [given] : given);
  return z.preprocess(listed, z.array(item)).default([]).describe(description);
}

/** A length of time with its unit. */
export function duration(description: string) {
  const form = /^\d+(\.\d+)?(ms|s|m|h|d)$/;
  return z
    .string()
    .regex(form, 'write a time with its unit, such as "30d", "12h" or "15m"')
    .transform((text) => text as Duration)
    .describe(description);
}
