import { z } from "zod";
import { goodCopies } from "./goodCopies.ts";
import type { Storage } from "./places.ts";
import { kinds, parts, type Suspicion } from "./suspicion.ts";

/** Something that is wrong with what is stored. */
export const findingSchema = z.object({
  kind: z.enum(kinds),
  severity: z
    .enum(["error", "warning", "info"])
    .describe(
      "error: something can't be read. warning: somebody has to look at it. info: it only takes room.",
    ),
  tier: z.string().describe("Where it is wrong."),
  part: z.enum(parts),
  thread: z.string().optional().describe("Absent if nobody knows which thread it belongs to."),
  namespace: z.string(),
  checkpoint: z.string().optional().describe("Its id; for a gap, the id of the missing one."),
  channel: z.string().optional(),
  hash: z.string().optional().describe("Of the blob."),
  batch: z.number().int().min(0).optional().describe("Which batch of its pending writes; 0 is the oldest."),
  target: z.string().optional().describe("The checkpoint at which the head should be."),
  leftover: z.string().optional().describe("How the tier names what is left of a deleted thread."),
  concerns: z.number().int().describe("How many checkpoints it concerns."),
  involved: z.array(z.string()).describe("Checkpoints of the namespace by which it is found again."),
  meaning: z.string().describe("One sentence."),
  detail: z.string().optional(),
  goodIn: z
    .array(z.string())
    .describe("Tiers and replicas that have good bytes of what is missing or damaged."),
});
export type Finding = z.output<typeof findingSchema>;

/** What verifying found. */
export const reportSchema = z.object({
  complete: z.boolean().describe("Whether everything that was asked for was verified."),
  cursor: z.string().optional().describe("Where to go on."),
  startedAt: z.iso.datetime(),
  tiers: z.array(z.object({ tier: z.string(), role: z.enum(["hot", "warm", "cold", "replica"]) })),
  totals: z.object({
    threads: z.number().int(),
    checkpoints: z.number().int(),
    writes: z.number().int().describe("Batches of pending writes."),
    blobs: z.number().int(),
    bytes: z.number().int().describe("Stored bytes that were read and verified."),
    seconds: z.number(),
    findings: z.partialRecord(z.enum(kinds), z.number().int()).describe("How many there are of each kind."),
  }),
  findings: z.array(findingSchema),
  leftOut: z.number().int().describe("How many more findings there are than this report lists."),
  unsettled: z
    .number()
    .int()
    .describe(
      "Threads in which something looked wrong, but which were written to each time it was looked at again.",
    ),
  unreachable: z.array(z.string()).describe("Hot tiers that couldn't be reached, and so weren't verified."),
});
export type Report = z.output<typeof reportSchema>;

/** Turns a confirmed suspicion into a finding of a report. */
export async function findingOf(
  storage: Storage,
  threadId: string | undefined,
  suspicion: Suspicion & { readonly leftover?: string },
): Promise<Finding> {
  const { kind, severity, part, place, namespace, concerns, meaning } = suspicion;
  const { checkpointId, channel, hash, batch, target, leftover, detail } = suspicion;
  const goodIn: string[] = [];
  if (threadId !== undefined)
    for await (const copy of goodCopies(storage, threadId, suspicion)) goodIn.push(copy.place.name);
  return {
    kind,
    severity,
    tier: place.name,
    part,
    ...(threadId === undefined ? {} : { thread: threadId }),
    namespace,
    ...(checkpointId === undefined ? {} : { checkpoint: checkpointId }),
    ...(channel === undefined ? {} : { channel }),
    ...(hash === undefined ? {} : { hash }),
    ...(batch === undefined ? {} : { batch }),
    ...(target === undefined ? {} : { target }),
    ...(leftover === undefined ? {} : { leftover }),
    concerns,
    involved: suspicion.involved.map((at) => at.checkpointId),
    meaning,
    ...(detail === undefined ? {} : { detail }),
    goodIn,
  };
}
