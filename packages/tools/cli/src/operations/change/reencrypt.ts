import type { ReencryptOptions } from "@stratigraph/core";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { fields, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import type { Complete } from "./complete.ts";
import { counted } from "./holdings.ts";

/** How many threads are worked on between two looks at the signal. */
const batch = 10;
/** How many failures are listed at most. */
const mostFailed = 100;

/** Encrypts stored data with the active key. */
export const reencrypt = operation({
  name: "reencrypt",
  group: "storage",
  effect: "write",
  summary:
    "Encrypt with the active key all data that another key encrypts, or none. Safe while agents write, and safe to repeat.",
  args: ["thread"],
  examples: ["stratigraph reencrypt", "stratigraph reencrypt ada bob"],
  input: z.object({
    thread: texts("Ids of threads, taken literally. Default: all, and all items of stores and workspaces."),
    cursor: fields.cursor,
  }),
  output: z.object({
    complete: z.boolean().describe("Whether everything was processed. If not, continue with the cursor."),
    threads: z.number().describe("How many threads were processed."),
    checkpoints: z.number().describe("Checkpoints that were encrypted anew, not counting their values."),
    writes: z.number().describe("Batches of pending writes that were encrypted anew."),
    values: z.number().describe("Values that were encrypted anew."),
    storeItems: z
      .number()
      .describe("Items of stores and workspaces, and entries of logs, that were encrypted anew."),
    dropped: z.number().describe("Values removed because no checkpoint named them any more."),
    unlisted: z.number().describe("Values that no checkpoint names, and that stay under their key."),
    failures: z
      .number()
      .describe("How many threads and items failed. They can be read and written as before."),
    items: z
      .array(z.object({ thread: z.string().optional(), error: z.string() }))
      .describe(`The first ${mostFailed} that failed. Of an item, the error says which.`),
    cursor: fields.cursor,
  }),
  async run({ thread, cursor: from }, context) {
    const saver = await context.saver();
    const total = {
      ...{ threads: 0, checkpoints: 0, writes: 0, values: 0, storeItems: 0 },
      ...{ dropped: 0, unlisted: 0, failures: 0 },
    };
    const items: { thread?: string; error: string }[] = [];
    let cursor = from;
    for (;;) {
      const threadIds = thread.length === 0 ? undefined : thread;
      const options: Complete<ReencryptOptions> = { threadIds, limit: batch, cursor };
      const report = await saver.reencrypt(options);
      total.threads += report.threads;
      total.checkpoints += report.records;
      total.writes += report.writes;
      total.values += report.blobs;
      total.storeItems += report.items;
      total.dropped += report.dropped;
      total.unlisted += report.unlisted;
      total.failures += report.failures;
      for (const { threadId, error } of report.failed)
        if (items.length < mostFailed)
          items.push({ ...(threadId !== undefined && { thread: threadId }), error: error.message });
      cursor = report.cursor;
      context.progress({ done: total.threads, unit: "threads" });
      if (cursor === undefined) return { complete: true, ...total, items };
      if (context.signal.aborted) return { complete: false, ...total, items, cursor };
    }
  },
  *render({ complete, threads, dropped, unlisted, failures, items, cursor, ...total }) {
    const done = [
      counted(total.checkpoints, "checkpoint"),
      counted(total.writes, "pending write"),
      counted(total.values, "value"),
      counted(total.storeItems, "item"),
    ];
    yield `Went through ${counted(threads, "thread")}. Encrypted anew: ${done.join(", ")}.`;
    if (dropped > 0) yield `Removed ${counted(dropped, "value")} that no checkpoint named any more.`;
    if (unlisted > 0) yield `${counted(unlisted, "value")} that no checkpoint names stay under their keys.`;
    for (const { thread, error } of items)
      yield `FAILED ${[thread, error].flatMap((text) => (text === undefined ? [] : shown(text))).join(": ")}`;
    if (failures > items.length) yield `… and ${failures - items.length} more failed.`;
    if (!complete && cursor !== undefined) yield `Interrupted. Go on with --cursor ${cursor}`;
    else if (failures === 0) yield "stratigraph keys tells whether anything is left under other keys.";
  },
  found: ({ failures }) => failures > 0,
});
