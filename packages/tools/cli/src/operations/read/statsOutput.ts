import { z } from "zod";

const count = z.number();
const bytes = z.number().describe("Bytes as stored.");

/** The output of `stats`. */
export const statsOutput = z.object({
  thread: z.string().optional().describe("Absent for a storage."),
  note: z.string().optional().describe("If something is in an archive that isn't open."),
  estimated: z
    .boolean()
    .describe("Some threads were measured, and the figures projected from them to all that were counted."),
  threads: z.object({
    counted: count,
    complete: z.boolean().describe("False: there are more, which are in no figure."),
    evicted: count.describe("Threads of which only the heads are here."),
    measured: count,
    failed: count.describe(
      "Threads that couldn't be read. They are in no figure: verify tells what they lack.",
    ),
  }),
  checkpoints: count,
  bytes: z.object({ records: bytes, writes: bytes, values: bytes, total: bytes }),
  states: z.object({
    bytes: count.describe("What all states would take if each were stored whole and uncompressed, in bytes."),
    sampled: z.boolean().describe("Estimated from some of the states."),
    ratio: count.optional().describe("How many times the stored size this is."),
  }),
  channels: z
    .array(z.object({ channel: z.string(), values: count, bytes }))
    .describe('The largest channels. "": values of pending writes, and bases of patches.'),
  namespaces: z
    .array(z.object({ namespace: z.string().describe("Without the ids of tasks."), checkpoints: count }))
    .describe("The largest ones. All runs of a subgraph together."),
  tiers: z.array(
    z.object({ tier: z.string(), role: z.string(), checkpoints: count, bytes, error: z.string().optional() }),
  ),
  chains: z.object({
    whole: count.describe("Values that are stored whole."),
    patches: count.describe("Values that are stored as patches on others."),
    mean: count.describe("How many patches it takes to read a value, on average."),
    longest: count,
  }),
  growth: z.object({
    days: z
      .array(z.object({ day: z.string(), checkpoints: count, bytes }))
      .describe("What was added on a day (UTC) and is still there. The newest days."),
    perDay: bytes.describe("Average of the last 7 days."),
  }),
  frees: z.object({
    prune: z
      .object({ keepLast: count, checkpoints: count, bytes })
      .describe("What pruning would remove of threads that aren't archived."),
    archive: z
      .object({ idleDays: count, threads: count, bytes })
      .describe("What would leave the warm tier if the threads that were idle for so long were archived."),
  }),
});

/** See {@link statsOutput}. */
export type Stats = z.output<typeof statsOutput>;
