import { InvalidOptionError, type KeepRule, type PruneThreadOptions } from "@stratigraph/core";
import { msOf, pruneThread, messageOf } from "@stratigraph/core/internal";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { duration, fields, flag, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { pair } from "../table/pairs.ts";
import type { Complete } from "./complete.ts";
import { eachThread, mostListed } from "./eachThread.ts";
import { counted, totalText } from "./holdings.ts";
import { isOutage } from "./isOutage.ts";
import { selectedThreads, wayOf } from "./selectedThreads.ts";

/** Removes old checkpoints. */
export const prune = operation({
  name: "prune",
  group: "change",
  effect: "destroy",
  summary: "Remove old checkpoints of threads for good; the threads stay usable.",
  args: ["thread"],
  examples: [
    "stratigraph prune ada --keep-last 10 --dry-run",
    "stratigraph prune ada bob --keep-last 1",
    "stratigraph prune --all --older-than 30d --dry-run",
    "stratigraph prune --tag team=sales --keep-last 5 --older-than 7d",
  ],
  input: z.object({
    thread: texts("Ids of threads, taken literally."),
    tag: texts("key=value of a tag: threads that carry all of these.", pair),
    all: flag("All threads, except those that are archived as a whole."),
    keepLast: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        "How many checkpoints of each namespace to keep, counted back from the head. Default: 1 with olderThan.",
      ),
    olderThan: duration(
      "Remove only checkpoints older than this. With keepLast, too, a checkpoint stays if either option keeps it.",
    ).optional(),
    dryRun: fields.dryRun,
    cursor: fields.cursor,
  }),
  output: z.object({
    dryRun: z.boolean(),
    complete: z.boolean().describe("Whether all threads were processed. If not, continue with the cursor."),
    looked: z.number().describe("How many threads were looked at."),
    threads: z.number().describe("How many of them lost checkpoints, or would."),
    checkpoints: z.number().describe("How many checkpoints were removed, or would be."),
    bytes: z.number().describe("Stored bytes that were freed, or would be."),
    items: z
      .array(
        z.object({
          thread: z.string(),
          checkpoints: z.number().describe("How many were removed, or would be."),
          kept: z.number(),
          bytes: z.number(),
          error: z.string().optional().describe("Why it could not be pruned."),
        }),
      )
      .describe(`The first ${mostListed} that lost checkpoints, or failed.`),
    failed: z.number().describe("How many threads could not be pruned."),
    cursor: fields.cursor,
  }),
  async run({ keepLast, olderThan, dryRun, cursor, ...selection }, context) {
    if (keepLast === undefined && olderThan === undefined)
      throw new InvalidOptionError(
        "keepLast",
        "nothing",
        "Say what stays: `keepLast`, `olderThan`, or both.",
      );
    const fromMs = olderThan === undefined ? undefined : Date.now() - msOf("olderThan", olderThan);
    const rule: Complete<KeepRule> = { keepLast: keepLast ?? 1, fromMs };
    const options: Complete<PruneThreadOptions> = { dryRun, revision: undefined };
    const saver = await context.saver();
    const total = { looked: 0, threads: 0, checkpoints: 0, bytes: 0, failed: 0 };
    const way = wayOf(selection, "prune", ["thread", "tag", "all"]);
    const threads = selectedThreads(saver, selection, { way, cursor, skipArchived: true });
    const walked = await eachThread(context, threads, cursor, async ({ threadId, damaged }) => {
      total.looked += 1;
      try {
        if (damaged !== undefined) throw damaged;
        const { checkpoints, kept, bytes } = await pruneThread(
          saver.tier,
          saver.coder,
          threadId,
          rule,
          options,
        );
        if (checkpoints === 0) return undefined;
        total.threads += 1;
        total.checkpoints += checkpoints;
        total.bytes += bytes;
        return { thread: threadId, checkpoints, kept, bytes };
      } catch (error) {
        if (isOutage(error)) throw error;
        total.failed += 1;
        const why = messageOf(error);
        return { thread: threadId, checkpoints: 0, kept: 0, bytes: 0, error: why };
      }
    });
    return { dryRun, ...total, ...walked, items: [...walked.items] };
  },
  *render({ dryRun, complete, cursor, items, looked, failed, ...total }) {
    const pruned = items.filter(({ error }) => error === undefined);
    if (pruned.length > 0) {
      const rows = pruned.map(({ thread, checkpoints, kept, bytes }) => [
        thread,
        String(checkpoints),
        String(kept),
        bytesText(bytes),
      ]);
      yield* columns([["THREAD", dryRun ? "TO REMOVE" : "REMOVED", "KEPT", "FREED"], ...rows], [1, 2, 3]);
      if (total.threads > pruned.length) yield `… and ${total.threads - pruned.length} more`;
      yield "";
    }
    for (const { thread, error } of items)
      if (error !== undefined) yield `NOT PRUNED ${shown(thread)}: ${shown(error)}`;
    const of = `of ${counted(looked, "thread")} looked at`;
    if (total.checkpoints === 0) yield `Nothing to prune ${of}.`;
    else if (dryRun) yield `Would prune ${totalText(total)} ${of}. Nothing was removed.`;
    else yield `Pruned ${totalText(total)} ${of}.`;
    if (failed > 0) yield `${counted(failed, "thread")} could not be pruned.`;
    if (!complete && cursor !== undefined) yield `Interrupted. Go on with --cursor ${cursor}`;
  },
  found: ({ failed }) => failed > 0,
});
