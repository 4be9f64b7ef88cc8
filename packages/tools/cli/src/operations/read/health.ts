import type { TierHealth } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import { z } from "zod";
import { columns } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { duration } from "../table/fields.ts";
import { operation } from "../table/operation.ts";

const copies = z.object({
  hits: z.number().describe("Reads whose bytes came from here."),
  misses: z.number().describe("Reads whose bytes had to come from a farther storage."),
  waiting: z.number().describe("Copies that wait to be made."),
  waitingBytes: z.number().describe("Memory that these hold, in bytes."),
  running: z.number().describe("Threads to which a copy is being made."),
  dropped: z.number().describe("Copies that weren't made: too many waited, or the storage failed."),
});

const item = z.object({
  tier: z.string(),
  role: z.string().describe("hot, warm, cold or replica."),
  shard: z.string().optional().describe("Which database, of a tier that has several."),
  ok: z.boolean().describe("Whether it answered in time."),
  ms: z.number().describe("How long it took to answer, or to fail."),
  error: z.string().optional(),
  breaker: z
    .enum(["closed", "open", "half-open"])
    .describe(
      "The breaker of this process: open while the tier isn't asked because it failed. Other processes have their own.",
    ),
  copies: copies
    .optional()
    .describe("Of a hot tier: what this process read and copied since it began, and the queue of copies."),
});

/** Asks every tier whether it answers. */
export const health = operation({
  name: "health",
  group: "storage",
  effect: "read",
  summary: "Ask every storage whether it answers, and show what this process recorded of it.",
  examples: ["stratigraph health", "stratigraph health --timeout 5s"],
  input: z.object({
    timeout: duration("How long a storage may take. All are asked at the same time.").default("1s"),
  }),
  output: z.object({
    ok: z.boolean().describe("Whether the storage that owns the threads answers: without it nothing works."),
    items: z.array(item).describe("Nearest first."),
  }),
  async run({ timeout }, context) {
    const { ok, tiers } = await (await context.saver()).health({ timeout });
    return {
      ok,
      items: tiers.flatMap((tier) => [
        itemOf(tier),
        ...(tier.shards ?? []).map((shard) => ({ ...itemOf(shard), shard: shard.name })),
      ]),
    };
  },
  *render({ items }) {
    const rows = items.map(({ tier, role, shard, ok, ms, error = "", breaker, copies: copied }) => [
      ok ? "ok" : "DOWN",
      shard === undefined ? `${tier} (${role})` : `  ${shard}`,
      `${Math.round(ms)} ms`,
      [
        ...(breaker === "closed" ? [] : [`breaker ${breaker}`]),
        ...(copied === undefined ? [] : [copiesText(copied)]),
      ].join("; "),
      error,
    ]);
    yield* columns([["", "STORAGE", "ANSWERED IN", "", ""], ...rows]);
  },
  found: ({ items }) => items.some(({ ok }) => !ok),
});

/** What a process copied, in a few words. Zeros are left out. */
function copiesText({
  hits,
  misses,
  waiting,
  waitingBytes,
  running,
  dropped,
}: z.output<typeof copies>): string {
  const reads = hits + misses;
  return [
    ...(reads === 0 ? [] : [`${hits} of ${reads} reads hit`]),
    `${waiting} copies wait${waiting === 0 ? "" : ` (${bytesText(waitingBytes)})`}`,
    ...(running === 0 ? [] : [`${running} under way`]),
    ...(dropped === 0 ? [] : [`${dropped} dropped`]),
  ].join(", ");
}

function itemOf({ name, role, ok, ms, error, breaker, copies: copied }: TierHealth): z.output<typeof item> {
  const why = error === undefined ? {} : { error: messageOf(error) };
  return {
    tier: name,
    role,
    ok,
    ms,
    ...why,
    breaker: breaker ?? "closed",
    ...(copied === undefined ? {} : { copies: copied }),
  };
}
