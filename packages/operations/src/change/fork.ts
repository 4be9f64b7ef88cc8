import { forkMany, type ForkOptions } from "@stratigraph/branch";
import { InvalidOptionError } from "@stratigraph/core";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import type { Complete } from "./complete.ts";

/** Makes threads that go on from a checkpoint. */
export const fork = operation({
  name: "fork",
  group: "change",
  effect: "write",
  summary: "Make a new thread that goes on from any checkpoint; the source stays as it is.",
  args: ["at", "to"],
  examples: [
    "stratigraph fork ada ada-copy",
    "stratigraph fork ada@head~3 retry",
    "stratigraph fork ada@step:12 --count 5",
  ],
  input: z.object({
    at: fields.at,
    to: texts("Ids of the new threads. Default: a random UUID."),
    count: z.coerce
      .number()
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe("How many threads with random ids, in the place of `to`."),
    history: z
      .enum(["needed", "full"])
      .default("needed")
      .describe("needed: what the new thread needs to stand alone. full: all ancestors, too."),
    calls: z
      .enum(["inherit", "none"])
      .default("inherit")
      .describe("inherit: recorded tool calls aren't made again. none: the new thread makes its own."),
    namespace: fields.namespace,
    checkpoint: fields.checkpoint,
  }),
  output: z.object({
    from: z.object({
      thread: z.string(),
      namespace: z.string(),
      checkpoint: z.string(),
      wasHead: z.boolean().describe("Whether it was the head when the fork was made."),
    }),
    items: z.array(
      z.object({
        thread: z.string(),
        checkpoints: z.number().describe("How many were copied, with the events of inherited tool calls."),
        bytes: z.number().describe("How many were written, without what the storage adds."),
      }),
    ),
  }),
  async run({ to, count, history, calls, ...address }, context) {
    if (to.length > 0 && count !== undefined)
      throw new InvalidOptionError(
        "count",
        String(count),
        "Name the new threads, or say how many; not both.",
      );
    const saver = await context.saver();
    const point = await resolvePoint(saver, address);
    const options: Omit<Complete<ForkOptions>, "to"> = { history, calls };
    const forks = await forkMany(saver, point, to.length > 0 ? to : (count ?? 1), options);
    const { origin } = forks[0]!;
    return {
      from: {
        thread: origin.threadId,
        namespace: origin.namespace,
        checkpoint: origin.checkpointId,
        wasHead: origin.wasHead,
      },
      items: forks.map(({ threadId, checkpoints, bytes }) => ({ thread: threadId, checkpoints, bytes })),
    };
  },
  *render({ from, items }) {
    const rows = items.map(({ thread, checkpoints, bytes }) => [
      thread,
      String(checkpoints),
      bytesText(bytes),
    ]);
    yield* columns([["NEW THREAD", "CHECKPOINTS", "SIZE"], ...rows], [1, 2]);
    const where = from.namespace === "" ? "" : `, namespace ${shown(from.namespace)}`;
    const head = from.wasHead ? " (its head)" : "";
    yield `From ${shown(from.thread)}${where} at ${shown(from.checkpoint)}${head}.`;
  },
});
