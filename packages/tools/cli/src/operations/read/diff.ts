import { diff as diffPoints } from "@stratigraph/branch";
import { readPoint } from "@stratigraph/branch/internal";
import { NotFoundError, type TierSaver } from "@stratigraph/core";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { resolvePoint, type ResolvedPoint } from "../table/address.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { Redaction } from "../values/redaction.ts";
import { changeLines, cutChanges, differences, listed } from "./changes.ts";

const channel = differences.extend({
  name: z.string(),
  kind: z.enum(["added", "removed", "changed"]),
});

const side = z.object({ threadId: z.string(), namespace: z.string(), checkpointId: z.string() });

/** Shows what differs between two checkpoints. */
export const diff = operation({
  name: "diff",
  group: "look",
  effect: "read",
  summary: "Show what differs between two checkpoints of any threads, or what one step changed.",
  examples: [
    "stratigraph diff ada@step:3",
    "stratigraph diff ada@head~2 ada",
    "stratigraph diff ada ada/what-if-1",
  ],
  args: ["from", "to"],
  input: z.object({
    from: fields.at,
    to: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The other checkpoint. Default: the first one is compared with the checkpoint it was made from.",
      ),
    namespace: fields.namespace,
    fromCheckpoint: fields.checkpoint,
    toCheckpoint: fields.checkpoint,
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(200)
      .describe("How many changes of a channel to list at most."),
    maxBytes: maxBytes(
      "How much of the values to show in all, in bytes. What is longer is cut, in equal shares.",
    ),
  }),
  output: z.object({ a: side, b: side, channels: z.array(channel) }),
  async run({ from, to, namespace, fromCheckpoint, toCheckpoint, limit, maxBytes }, context) {
    const saver = await context.saver();
    const one = await resolvePoint(saver, { at: from, namespace, checkpoint: fromCheckpoint });
    const [a, b] =
      to === undefined
        ? [await parentOf(saver, one), one]
        : [one, await resolvePoint(saver, { at: to, namespace, checkpoint: toCheckpoint })];
    const found = await diffPoints(saver, a, b);
    const redaction = new Redaction(context.redact);
    const channels = found.channels.map(({ name, kind, changes }) => ({
      name,
      kind,
      ...listed(name, changes, limit, redaction),
    }));
    return { a: found.a, b: found.b, channels: cutChanges(channels, maxBytes) };
  },
  *render({ a, b, channels }) {
    const where = (at: z.output<typeof side>): string => shown(`${at.threadId} ${at.checkpointId}`);
    yield `${where(a)} → ${where(b)}`;
    for (const { name, kind, ...each } of channels) yield* changeLines(name, kind, each);
    if (channels.length === 0) yield "no difference";
  },
  found: ({ channels }) => channels.length > 0,
});

async function parentOf(saver: TierSaver, at: ResolvedPoint): Promise<ResolvedPoint> {
  const { stored } = await readPoint(saver, at);
  const { parentId } = stored.record;
  if (parentId !== undefined) return { ...at, checkpointId: parentId };
  throw new NotFoundError(
    `Checkpoint ${at.checkpointId} of thread ${JSON.stringify(at.threadId)} is the first one, so it changed nothing. "stratigraph show" shows what it holds.`,
    { ...at },
  );
}
